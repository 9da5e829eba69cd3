# SPDX-License-Identifier: MIT
"""performer-pytorch: linear attention on features that are given, and attention by random features."""

import contextlib

from performer_pytorch.performer_pytorch import FastAttention as Fast
from performer_pytorch.performer_pytorch import causal_linear_attention_noncuda as causal
from performer_pytorch.performer_pytorch import linear_attention as everything

from attest._torch import for_every_head
from attest.adapters import adapter

PROFILES = ("f64", "f32", "bf16", "f16")
OVERFLOW = (
    "The denominator is stored as binary16 and overflows for features around 100 (D_inv in linear_attention, "
    "performer_pytorch.py)."
)
SUM_OVERFLOWS = (
    "The running sum of keys times values is binary16 and overflows for features around 100 "
    "(causal_linear_attention_noncuda)."
)
STABILISER = (
    "1e-4 is added to every exponential after the largest exponent of all keys was subtracted (softmax_kernel, "
    "performer_pytorch.py), so that the weights depend on that key; in causal order a later key changes earlier rows. "
    "There causal_linear_attention_noncuda adds 1e-6 to the sums of keys, too."
)


@adapter(
    "linear.attention",
    library="performer-pytorch",
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    conventions={"eps": 0.0, "zero_denominator": "nan"},
    gradients=True,
    explains={"f16": OVERFLOW},
)
def linear_attention(phi_q, phi_k, v):
    """linear_attention in performer_pytorch.py: 1 / (phi_q . z) without eps, so that a denominator of 0 gives 0 times
    infinity."""
    return everything(phi_q, *for_every_head(phi_q.shape[1], phi_k, v))


@adapter(
    "linear.causal",
    library="performer-pytorch",
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    conventions={"eps": 0.0, "zero_denominator": "nan", "S": False, "Z": False},
    explains={"f16": SUM_OVERFLOWS},
)
def causal_linear_attention_noncuda(phi_q, phi_k, v, *, chunk=64):
    """causal_linear_attention_noncuda in performer_pytorch.py, whose chunk_size is the number of chunks. Its eps (1e-6
    by default) is added to every feature of Z and not to the denominator, which this equation has no parameter for: it
    is set to 0."""
    return causal(phi_q, *for_every_head(phi_q.shape[1], phi_k, v), chunk_size=chunk, eps=0.0)


@adapter(
    "lowrank.performer_attention",
    library="performer-pytorch",
    like="torch",
    layout="nd",
    profiles=("f64", "f32"),
    conventions={"stabiliser": 0.0},
    explains={"f64": STABILISER, "f32": STABILISER},
)
def fast_attention(q, k, v, w, *, causal=False):
    """FastAttention with given directions, as a model calls it."""
    with contextlib.redirect_stdout(None):  # it says that it has no CUDA
        layer = Fast(q.shape[1], nb_features=len(w), causal=causal)
    layer.projection_matrix = w
    return layer(q[None, None], k[None, None], v[None, None])[0, 0]
