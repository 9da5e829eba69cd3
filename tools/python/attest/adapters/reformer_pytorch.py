# SPDX-License-Identifier: MIT
"""Reformer's attention with shared queries and keys, given what makes it plain attention."""

import math

import torch
from reformer_pytorch import reformer_pytorch as reformer

from attest._torch import for_every_head
from attest.adapters import adapter


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
