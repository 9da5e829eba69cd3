# SPDX-License-Identifier: MIT
"""Softmax attention, of all keys and causal, forward and backward."""

import math

from ..case import SIZES, Case
from ..errors import NotTimed
from ..interface import CPU, CUDA
from ..peers import imported, passes, peer


class Attention(Case):
    equation, reading, causal = "attention.scaled_dot_product", "value", False
    lengths = {CPU: [1024, 256], CUDA: [16384, 4096, 1024]}
    widths, leaves = "d = m", ("q", "k", "v")

    @property
    def parameters(self):
        plain = {"softcap": 0.0, "window_left": -1, "window_right": -1, "empty_row": "zero", "block": 64}
        return {"scale": self.width**-0.5, "causal": int(self.causal), **plain}

    @property
    def detail(self):
        return ", causal" if self.causal else ""

    def sizes(self):
        return {"n": self.tokens, "s": self.tokens, "d": self.width, "m": self.width}

    def inputs(self):
        return {name: self.rows() for name in self.leaves}

    def outputs(self):
        return {"o": self.rows()}

    def flops(self):
        """Two products of d or m for every query and key; in causal attention for those that see each other, about
        half. Exponentials and divisions get no credit."""
        pairs = self.tokens * (self.tokens + 1) // 2 if self.causal else self.tokens**2
        return self.batch * self.heads * pairs * 4 * self.width

    def weights(self, xp, x, first, count):
        """Of `count` queries."""
        logits = xp.einsum("bhid,bhjd->bhij", x["q"][:, :, first : first + count], x["k"]) * self.width**-0.5
        if self.causal:
            logits = xp.where(xp.tril(xp.ones_like(logits), first) > 0, logits, -math.inf)
        weights = xp.exp(logits - xp.amax(logits, -1)[..., None])
        return weights / weights.sum(-1)[..., None]

    def truth(self, xp, x, rows):
        weights = self.weights(xp, x, x["q"].shape[2] - rows, rows)
        return {"o": xp.einsum("bhij,bhjm->bhim", weights, x["v"])}


class CausalAttention(Attention):
    causal = True


class AttentionGradient(Attention):
    reading = "gradient"

    def inputs(self):
        return {**super().inputs(), "cotangent.o": self.rows()}

    def outputs(self):
        return {f"gradient.{name}": self.rows() for name in self.leaves}

    def flops(self):
        """Five products: the weights again, those of grad_o with v, and one for each gradient."""
        return super().flops() // 2 * 5

    def truth(self, xp, x, rows):
        tokens, scale = x["q"].shape[2], self.width**-0.5

        def slopes(first, count):
            weights, g = self.weights(xp, x, first, count), x["cotangent.o"][:, :, first : first + count]
            by_weight = xp.einsum("bhim,bhjm->bhij", g, x["v"])
            return weights, weights * (by_weight - (weights * by_weight).sum(-1)[..., None]), g

        _, slope, _ = slopes(tokens - rows, rows)
        found = {"gradient.q": scale * xp.einsum("bhij,bhjd->bhid", slope, x["k"]), "gradient.k": 0, "gradient.v": 0}
        for first in range(tokens - rows if self.causal else 0, tokens, 1024):  # queries that see the last keys
            count = min(1024, tokens - first)
            weights, slope, g = slopes(first, count)
            found["gradient.k"] += scale * xp.einsum(
                "bhij,bhid->bhjd", slope[..., -rows:], x["q"][:, :, first : first + count]
            )
            found["gradient.v"] += xp.einsum("bhij,bhim->bhjm", weights[..., -rows:], g)
        return found


class CausalAttentionGradient(AttentionGradient):
    causal = True


ATTENTION = (Attention, CausalAttention, AttentionGradient, CausalAttentionGradient)


def scaled_dot_product(label, backend, device):
    @peer(*ATTENTION, name=f"PyTorch SDPA {label}", only=device)
    def prepare(memory, case, inputs):
        torch = imported("torch", "torch")
        chosen = imported("torch.nn.attention", "torch 2.3 or newer")
        if not hasattr(chosen.SDPBackend, backend):
            raise NotTimed("absent", f"torch {torch.__version__} has no {backend}")

        def forward(q, k, v):
            with chosen.sdpa_kernel([getattr(chosen.SDPBackend, backend)]):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case.causal)

        return passes(memory, case, inputs, forward, transposed=False)


for label, backend, device in (
    ("flash", "FLASH_ATTENTION", None),
    ("cuDNN", "CUDNN_ATTENTION", CUDA),
    ("efficient", "EFFICIENT_ATTENTION", CUDA),
    ("math", "MATH", None),
):
    scaled_dot_product(label, backend, device)


@peer(*ATTENTION, name="flash-attn", only=CUDA)
def flash_attention(memory, case, inputs):
    imported("torch", "torch")
    kernel = imported("flash_attn", "flash-attn").flash_attn_func
    if SIZES[case.dtype] != 2:
        raise NotTimed("outside", "16 bits only")
    return passes(memory, case, inputs, lambda q, k, v: kernel(q, k, v, causal=case.causal), transposed=True)


@peer(*ATTENTION, name="torch.compile flex (Triton)", option="compile", only=CUDA)
def flex_attention(memory, case, inputs):
    torch, flex = imported("torch", "torch"), imported("torch.nn.attention.flex_attention", "torch 2.5 or newer")
    compiled, mask = torch.compile(flex.flex_attention, dynamic=False), None
    if case.causal:
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, case.tokens, case.tokens, device="cuda")
    return passes(memory, case, inputs, lambda q, k, v: compiled(q, k, v, block_mask=mask), transposed=False)
