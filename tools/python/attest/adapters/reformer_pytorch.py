# SPDX-License-Identifier: MIT
"""Reformer: its attention with shared queries and keys, given what makes it plain attention; its hash with given
directions; its reversible blocks, and its network in chunks."""

import math
import unittest.mock

import torch
from reformer_pytorch import reformer_pytorch as reformer
from reformer_pytorch.reversible import ReversibleSequence

from attest._torch import for_every_head
from attest.adapters import adapter

ALL = ("f64", "f32", "bf16", "f16")


def _shared(q, k, v):
    """Queries and keys as one sequence [q | k], the mask that hides the queries from each other, and values. The
    library divides a key by its length and takes 1/sqrt of the width for the scale. So a key is made a unit vector by
    another column, in which queries have 0, and the queries undo its factor, a power of two, and the scale."""
    k, v = (x.flatten(0, 1) for x in for_every_head(q.shape[1], k, v))
    q = q.flatten(0, 1)
    n, d = q.shape[1:]
    length = 2.0 ** math.ceil(math.log2(float(k.norm(dim=-1).max()) + 1e-30))
    k = k / length
    k = torch.cat([k, (1 - (k * k).sum(-1, keepdim=True)).clamp(min=0).sqrt()], -1)
    q = torch.nn.functional.pad(q * (length * math.sqrt((d + 1) / d)), (0, 1))
    return (
        torch.cat([q, k], 1),
        torch.nn.functional.pad(v, (0, d + 1 - v.shape[2], n, 0)),
        torch.zeros(len(q), n, n, dtype=torch.bool),
    )


@adapter(
    "attention.scaled_dot_product",
    library="reformer-pytorch",
    like="torch",
    layout="bhnd",
    profiles=("f64", "f32"),
    capabilities="m <= d",
)
def FullQKAttention(q, k, v):
    """reformer_pytorch.FullQKAttention."""
    qk, values, visible = _shared(q, k, v)
    o = reformer.FullQKAttention()(qk, values, query_len=q.shape[2], input_attn_mask=visible)[0]
    return o[..., : v.shape[3]].reshape(*q.shape[:3], -1)


@adapter(
    "attention.scaled_dot_product",
    library="reformer-pytorch",
    like="torch",
    layout="bhnd",
    profiles=("f64", "f32"),
    conventions={"deterministic": False},
    capabilities="m <= d; (n + s) % 2 == 0",
)
def LSHAttention(q, k, v):
    """reformer_pytorch.LSHAttention with two buckets, each of which looks back at the other, and one hash, which is
    random: so is the order in which keys are summed."""
    qk, values, visible = _shared(q, k, v)
    layer = reformer.LSHAttention(bucket_size=qk.shape[1] // 2, n_hashes=1).eval()
    o = layer(qk, values, query_len=q.shape[2], input_attn_mask=visible)[0]
    return o[..., : v.shape[3]].reshape(*q.shape[:3], -1)


class _Attend(torch.nn.Module):
    def __init__(self, *w):
        super().__init__()
        self.w = w

    def forward(self, u):
        return torch.nn.functional.scaled_dot_product_attention(*(u @ w for w in self.w))


class _Feed(torch.nn.Module):
    def __init__(self, *w):
        super().__init__()
        self.w = w

    def forward(self, u):
        return torch.relu(u @ self.w[0]) @ self.w[1]


@adapter("content.reversible_residual", library="reformer-pytorch", like="torch", layout="nd", profiles=ALL)
def reversible_sequence(s_1, s_2, w_q, w_k, w_v, w_1, w_2, *, direction="forward"):
    """ReversibleSequence, and the inverse that its gradient takes: backward_pass of each ReversibleBlock, the last
    first, after a forward pass."""
    layers = ReversibleSequence(list(zip(map(_Attend, w_q, w_k, w_v), map(_Feed, w_1, w_2))))
    x = torch.cat([s_1, s_2], 1)[None]
    y = layers(x)
    if direction == "inverse":
        for block in reversed(layers.blocks):
            x, _ = block.backward_pass(x, torch.zeros_like(x))
        y = x
    return y[0].detach().split(s_1.shape[1], 1)


@adapter(
    "content.chunked_feed_forward",
    library="reformer-pytorch",
    like="torch",
    layout="nd",
    profiles=ALL,
    capabilities="f % d == 0; activation == 'relu' or activation == 'identity'",
)
def chunked_feed_forward(x_2, y_1, w_1, w_2, b_1=None, b_2=None, *, activation="relu", chunks=2):
    """Chunk around FeedForward, as a ReversibleBlock adds it to its second stream. torch.chunk makes other parts than
    the equation, which nobody sees."""
    d, f = w_1.shape
    between = {"relu": torch.nn.ReLU, "identity": torch.nn.Identity}[activation]
    layer = reformer.Chunk(chunks, reformer.FeedForward(d, f // d, activation=between), along_dim=-2).to(x_2.dtype)
    weights = {
        "fn.w1.weight": w_1.T,
        "fn.w1.bias": w_1.new_zeros(f) if b_1 is None else b_1,
        "fn.w2.weight": w_2.T,
        "fn.w2.bias": w_2.new_zeros(d) if b_2 is None else b_2,
    }
    return x_2 + torch.func.functional_call(layer, weights, (y_1[None],))[0]


@adapter("content.lsh_hash", library="reformer-pytorch", like="torch", layout="nd", profiles=ALL)
def hash_vectors(x, r):
    """LSHAttention.hash_vectors with one hash; the directions that it draws are the given ones."""
    layer = reformer.LSHAttention(n_hashes=1).eval()
    with unittest.mock.patch.object(torch, "randn", lambda *_, **__: r[None, :, None]):
        return layer.hash_vectors(2 * r.shape[1], x[None])[0].to(x.dtype)
