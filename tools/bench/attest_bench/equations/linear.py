# SPDX-License-Identifier: MIT
"""Causal linear attention: both passes over a sequence, and one step of its recurrence."""

import importlib

from ..case import SIZES, Case, Tensor
from ..errors import NotTimed
from ..interface import CPU, CUDA
from ..peers import imported, passes, peer, tensors

CHUNK = 64  # the default of the equation's page; a kernel may use its own
FEATURE = 1 / 64  # features lie between 0 and this, so that denominators of 65536 tokens are numbers of binary16


class Causal(Case):
    equation, reading = "linear.causal", "value"
    parameters = {"chunk": CHUNK, "eps": 0.0, "zero_denominator": "zero", "features": "given"}

    def inputs(self):
        return {"phi_q": self.rows(0, FEATURE), "phi_k": self.rows(0, FEATURE), "v": self.rows()}

    def outputs(self):
        return {"o": self.rows()}

    def flops(self):
        """Form recurrent: per token and head S += k v^T and q^T S, 2 c m each, Z += k and q . Z, 3 c, and m divisions.
        Chunked forms do more and get no credit for it."""
        c = m = self.width
        return self.batch * self.heads * self.tokens * (4 * c * m + 3 * c + m)

    @staticmethod
    def truth(xp, x, rows):
        """The last rows of the answer, in as much memory as they need times the tokens."""
        weights, total = Causal.weights(xp, x, rows)
        return {"o": xp.einsum("bhij,bhjm->bhim", weights, x["v"]) / total}

    @staticmethod
    def weights(xp, x, rows):
        weights = xp.tril(
            xp.einsum("bhic,bhjc->bhij", x["phi_q"][:, :, -rows:], x["phi_k"]), x["phi_k"].shape[2] - rows
        )
        return weights, weights.sum(-1)[..., None]


class CausalGradient(Causal):
    reading = "gradient"

    def inputs(self):
        zero = {"low": 0, "high": 0}
        return {
            **super().inputs(),
            "cotangent.o": self.rows(),
            "cotangent.S": self.states(self.width, self.width, **zero),
            "cotangent.Z": self.states(self.width, **zero),
        }

    def outputs(self):
        return {f"gradient.{name}": self.rows() for name in ("phi_q", "phi_k", "v")}

    def flops(self):
        """Per token and head, with g the cotangent over the denominator: S, sum of k v^T, and its mirror R, sum of q
        g^T over later tokens, are updated, dq = S g, dk = R v, dv = R^T k: five times 2 c m. Terms of c or m alone are
        left out."""
        return self.batch * self.heads * self.tokens * 10 * self.width * self.width

    @staticmethod
    def truth(xp, x, rows):
        weights, total = Causal.weights(xp, x, rows)
        share, g = weights / total, x["cotangent.o"][:, :, -rows:]
        o = xp.einsum("bhij,bhjm->bhim", share, x["v"])
        slope = (xp.einsum("bhim,bhjm->bhij", g, x["v"]) - (g * o).sum(-1)[..., None]) / total
        slope = xp.tril(slope, x["phi_k"].shape[2] - rows)
        found = {
            "phi_q": xp.einsum("bhij,bhjc->bhic", slope, x["phi_k"]),
            "phi_k": xp.einsum("bhij,bhic->bhjc", slope, x["phi_q"][:, :, -rows:]),
            "v": xp.einsum("bhij,bhim->bhjm", share, g),
        }
        return {f"gradient.{name}": value[:, :, -rows:] for name, value in found.items()}


class CausalStep(Case):
    equation, reading = "linear.causal_step", "value"
    lengths, batches = None, {CPU: [16], CUDA: [64, 256]}
    parameters = {"eps": 0.0, "zero_denominator": "zero", "features": "given"}

    def sizes(self):
        return {"c": self.width, "m": self.width}

    def title(self):
        size = f"{self.batch} x {self.heads} states in {self.state}, {self.widths} = {self.width}"
        return f"{self.equation} {self.reading} {self.dtype}, {size}"

    def row(self, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, self.width), self.dtype, low, high)

    def inputs(self):
        return {
            "phi_q": self.row(0, FEATURE),
            "phi_k": self.row(0, FEATURE),
            "v": self.row(),
            "S": self.states(self.width, self.width),
            "Z": self.states(self.width, low=1, high=2),
        }

    def outputs(self):
        return {"o": self.row(), "S": self.states(self.width, self.width), "Z": self.states(self.width)}

    def flops(self):
        """As one token of form recurrent."""
        c = m = self.width
        return self.batch * self.heads * (4 * c * m + 3 * c + m)

    @staticmethod
    def truth(xp, x, rows):
        S, Z = x["S"] + x["phi_k"][..., None] * x["v"][..., None, :], x["Z"] + x["phi_k"]
        return {"o": xp.einsum("bhc,bhcm->bhm", x["phi_q"], S) / (x["phi_q"] * Z).sum(-1)[..., None], "S": S, "Z": Z}


def flash_linear_attention(name):
    @peer(Causal, CausalGradient, name=f"fla {name}")
    def prepare(memory, case, inputs):
        imported("torch", "torch")
        kernel = getattr(imported("fla.ops.linear_attn", "flash-linear-attention"), f"{name}_linear_attn")
        return passes(
            memory, case, inputs, lambda q, k, v: kernel(q, k, v, scale=1.0, normalize=True)[0], transposed=True
        )


for kernel_name in ("chunk", "fused_chunk", "fused_recurrent"):
    flash_linear_attention(kernel_name)


@peer(CausalStep, name="fla fused_recurrent")
def flash_linear_attention_step(memory, case, inputs):
    imported("torch", "torch")
    kernel = imported("fla.ops.linear_attn", "flash-linear-attention").fused_recurrent_linear_attn
    q, k, v = (x[:, None] for x in tensors(memory, inputs, case.leaves))  # one token
    S, Z = tensors(memory, inputs, ("S", "Z"))
    return lambda: kernel(
        q, k, v, scale=1.0, normalize=True, initial_state=(S, Z[:, None]), output_final_state=True
    ), lambda found: {"o": found[0][:, 0], "S": found[1][0], "Z": found[1][1][:, 0]}


@peer(Causal, CausalGradient, name="fast-transformers")
def fast_transformers(memory, case, inputs):
    imported("torch", "torch")
    product = imported("fast_transformers.causal_product", "pytorch-fast-transformers").causal_dot_product
    if case.dtype != "f32":
        raise NotTimed("outside", "float32 only")
    return passes(
        memory,
        case,
        inputs,
        lambda q, k, v: product(q, k, v) / (q * k.cumsum(2)).sum(-1, keepdim=True),
        transposed=False,
    )


def chunked(q, k, v):
    """Masked products in chunks, states between them in float32, all chunks at once."""
    torch = importlib.import_module("torch")
    tokens = q.shape[2]
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    total = (q * k.to(wide).cumsum(2)).sum(-1, keepdim=True)
    q, k, v = (torch.nn.functional.pad(x, (0, 0, 0, -tokens % CHUNK)).unflatten(2, (-1, CHUNK)) for x in (q, k, v))
    own = torch.einsum("bhtcd,bhtcm->bhtdm", k, v).to(wide)
    before = (own.cumsum(2) - own).to(q.dtype)
    o = torch.einsum("bhtid,bhtjd->bhtij", q, k).tril() @ v + q @ before
    return (o.flatten(2, 3)[:, :, :tokens] / total).to(v.dtype)


@peer(Causal, CausalGradient, name="PyTorch chunked")
def pytorch_chunked(memory, case, inputs):
    return passes(memory, case, inputs, chunked, transposed=False)


@peer(Causal, CausalGradient, name="torch.compile chunked", option="compile")
def compiled_chunked(memory, case, inputs):
    return passes(memory, case, inputs, imported("torch", "torch").compile(chunked, dynamic=False), transposed=False)


@peer(Causal, CausalGradient, name="PyTorch quadratic")
def pytorch_quadratic(memory, case, inputs):
    torch = imported("torch", "torch")
    size = case.batch * case.heads * case.tokens**2 * SIZES[case.dtype]
    if size > 1 << 32:
        raise NotTimed("outside", f"its weights are {size / 2**30:.0f} GiB")

    def quadratic(q, k, v):
        weights = torch.tril(q @ k.transpose(2, 3))
        return weights @ v / weights.sum(-1, keepdim=True)

    return passes(memory, case, inputs, quadratic, transposed=False)


def step(q, k, v, S, Z):
    S, Z = S + k[..., None].to(S.dtype) * v[..., None, :], Z + k
    return (q.to(S.dtype)[..., None, :] @ S)[..., 0, :] / (q * Z).sum(-1, keepdim=True), S, Z


@peer(CausalStep, name="PyTorch")
def pytorch_step(memory, case, inputs):
    x = tensors(memory, inputs, case.inputs())
    return lambda: step(*x), lambda found: dict(zip(case.outputs(), found))


@peer(CausalStep, name="torch.compile", option="compile")
def compiled_step(memory, case, inputs):
    compiled = imported("torch", "torch").compile(step, dynamic=False)
    x = tensors(memory, inputs, case.inputs())
    return lambda: compiled(*x), lambda found: dict(zip(case.outputs(), found))
