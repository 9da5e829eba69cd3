# SPDX-License-Identifier: MIT
"""compressive-transformer-pytorch: the attention layer over two memories, and what it makes of the memories."""

import torch
from compressive_transformer_pytorch.compressive_transformer_pytorch import ConvCompress
from compressive_transformer_pytorch.compressive_transformer_pytorch import SelfAttention as Layer
from compressive_transformer_pytorch.compressive_transformer_pytorch import queue_fifo

from attest.adapters import adapter

LIBRARY = "compressive-transformer-pytorch"
ALL = ("f64", "f32", "bf16", "f16")
PADDING = (
    "Old rows that the rate does not divide are padded by as many zeros as are left over, e mod rate, in place of "
    "those that are missing (old_mem_padding in SelfAttention.forward): of 4 rows at rate 3 there are then 5, and the "
    "convolution drops the last two. Only where e mod rate is half the rate is that right."
)


def _convolution(w, bias):
    """Weights of a Conv1d: output, input, tap."""
    return {"conv.weight": w.permute(2, 1, 0), "conv.bias": bias}


@adapter(
    "memory.compressive_attention",
    library=LIBRARY,
    like="torch",
    layout="nd",
    profiles=ALL,
    capabilities="d == f and m == f; not u and not v",
    gradients=("f64", "f32"),
)
def self_attention(h, memory, compressed, w_q, w_k, w_v, distances, *, score="plain"):
    """SelfAttention with one head, without its output projection. Its relative scores have a row for each place of the
    joined order, the farthest first, and no biases that queries share."""
    f, places = h.shape[1], len(compressed) + len(memory) + len(h)
    layer = Layer(f, len(h), len(memory), len(compressed), heads=1).to(h.dtype)
    weights = {
        "to_q.weight": w_q.T,
        "to_kv.weight": torch.cat([w_k, w_v], 1).T,
        "to_out.weight": torch.eye(f, dtype=h.dtype),
        "to_out.bias": h.new_zeros(f),
    }
    given = {"memories": (memory.detach()[None], compressed.detach()[None]), "calc_memory": False}
    if score == "relative":
        given["pos_emb"] = distances[:places].flip(0)[None]
    return torch.func.functional_call(layer, weights, (h[None],), given)[0][0]


@adapter(
    "memory.compress",
    library=LIBRARY,
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"kind": "conv", "remainder": "error"},
    gradients=("f64", "f32"),
)
def conv_compress(x, w, b, usage, *, rate=2):
    """ConvCompress, which has no usage."""
    layer = ConvCompress(x.shape[1], rate).to(x.dtype)
    return torch.func.functional_call(layer, _convolution(w, b), (x[None],))[0]


@adapter(
    "memory.compressive_update",
    library=LIBRARY,
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"kind": "conv", "remainder": "pad_oldest_zero"},
    capabilities="p == a and q == b; p > 0; q > 0",
    explains=dict.fromkeys(ALL, PADDING),
)
def memories(h, memory, compressed, w, bias, *, rate=2):
    """The memories that SelfAttention returns; both keep their length."""
    n, d = h.shape
    layer = Layer(d, n, len(memory), len(compressed), cmem_ratio=rate, heads=1).eval().to(h.dtype)
    weights = {f"compress_mem_fn.{name}": x for name, x in _convolution(w, bias).items()}
    given = memory[None], compressed[None]
    _, after, _ = torch.func.functional_call(layer, weights, (h[None],), {"memories": given})
    old, _ = queue_fifo(given[0], h[None], length=len(memory), dim=1)
    return after.mem[0], after.compressed_mem[0], old[0]


class _CompressedTo(torch.nn.Module):
    """Compresses to what it was made with."""

    def __init__(self, compressed):
        super().__init__()
        self.compressed = compressed

    def forward(self, _):
        return self.compressed[None]


@adapter(
    "objective.compressive_attention_reconstruction",
    library=LIBRARY,
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"norm": "mean_squared"},
    capabilities="d == f and m == f; l > 0; n > 0; k > 0",
    gradients=("f64", "f32"),
)
def aux_loss(h, old, compressed, w_q, w_k, w_v):
    """The loss that SelfAttention returns when it trains, with one head and a full memory. Its old memories are all
    that the memory holds, also those that stay in it."""
    f = h.shape[1]
    layer = Layer(f, len(h), len(old), len(compressed), cmem_ratio=1, heads=1).to(h.dtype)
    layer.compress_mem_fn = _CompressedTo(compressed)
    weights = {"to_q.weight": w_q.T, "to_kv.weight": torch.cat([w_k, w_v], 1).T.clone()}
    memories = old[None], h.new_zeros(1, 0, f)
    return torch.func.functional_call(layer, weights, (h[None],), {"memories": memories})[2]
