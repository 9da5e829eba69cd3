# SPDX-License-Identifier: MIT
"""Routing attention, and with one cluster that holds everything softmax attention."""

import torch
from routing_transformer.routing_transformer import KmeansAttention as Layer

from attest._torch import for_every_head
from attest.adapters import adapter

MEAN = (
    "Results are shorter by a factor 1 / (1 + 1e-5): KmeansAttention.forward divides the sum over the clusters that "
    "chose a query by their number plus eps = 1e-5 (scatter_mean in routing_transformer.py). Values of 1 give "
    "0.99999."
)


@adapter(
    "attention.scaled_dot_product",
    library="routing-transformer",
    like="torch",
    layout="bhnd",
    profiles=("f64", "f32"),
    capabilities="m == d",
    explains={"f64": MEAN, "f32": MEAN},
)
def KmeansAttention(q, k, v):
    """routing_transformer.KmeansAttention with given means. Its scale is 1/sqrt(d); its masks are for whole tokens, not
    for pairs; causal order brings a learned key that every query sees (num_mem_kv in __init__)."""
    (_, heads, n, d), s = q.shape, k.shape[2]
    k, v = for_every_head(heads, k, v)
    layer = Layer(1, n, heads, d, context_window_size=s, receives_context=True).eval()
    layer.kmeans.means.copy_(torch.ones(heads, 1, d))
    layer.kmeans.initted.fill_(True)
    return layer(q, k, v)[0]


@adapter(
    "content.routing_attention",
    library="routing-transformer",
    like="torch",
    layout="nd",
    profiles=("f64", "f32"),
    conventions={"assign": "balanced", "normalise": "unit", "empty_row": "zero", "causal": False},
    capabilities="k and m == d",
    explains={"f64": MEAN, "f32": MEAN},
)
def routed_attention(q, v, mu, k=None, *, width=0):
    """KmeansAttention with given means, which takes as many keys as queries."""
    n, d = q.shape
    clusters = len(mu)
    window = width or -(-n // clusters)
    layer = Layer(clusters, window, 1, d, context_window_size=window, receives_context=True).eval().to(q.dtype)
    layer.kmeans.means.copy_(mu[None])
    layer.kmeans.initted.fill_(True)
    return layer(q[None, None], k[None, None], v[None, None])[0][0, 0]
