# SPDX-License-Identifier: MIT
"""Flax: attention and normalisation of its two APIs, linen and nnx."""

import jax.numpy as jnp
from flax import linen, nnx

from attest.adapters import adapter

PROFILES = ("f64", "f32", "bf16", "f16")
SOFTMAX_F32 = (
    "It hands over to jax.nn.dot_product_attention, whose softmax is carried out in float32 for float64 too "
    "(jax/_src/nn/functions.py)."
)
FAST_VARIANCE = (
    "use_fast_variance, the default, takes the mean of the squares minus the square of the mean (_compute_stats in "
    "flax/linen/normalization.py): little is left of it where the mean is large. Rows around 10000 that differ by 1 "
    "give -684 in place of -1.93 in float32."
)


def _visible(causal, mask, tokens):
    """The library's own causal mask (key j <= query i) beside the given one; None where everything is visible."""
    own = linen.make_causal_mask(jnp.ones((1, tokens)), dtype=bool) if causal else None
    return linen.combine_masks(mask, own, dtype=bool)


NO_16_BITS = {
    "bf16": "jax.nn.dot_product_attention, which it calls, raises compiled for a CPU where n = s = d = 1: Algorithm "
    "not "
    "supported by the ElementalIrEmitter: ALG_DOT_BF16_BF16_F32.",
    "f16": "jax.nn.dot_product_attention, which it calls, raises compiled for a CPU: The precision 'F16_F16_F32' is "
    "not "
    "supported by dot_general.",
}


@adapter(
    "attention.scaled_dot_product",
    library="flax",
    like="jax",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"empty_row": "mean"},
    capabilities="not causal or n == s",
    gradients=True,
)
def linen_dot_product_attention(q, k, v, *, mask=None, bias=None, causal=False):
    """flax.linen.dot_product_attention. In flax/linen/attention.py, dot_product_attention_weights: the scale is
    1/sqrt(d), and what is hidden has the lowest finite logit, so that a query that sees nothing gets the mean of all
    values. Heads are not shared."""
    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    return linen.dot_product_attention(q, k, v, bias=bias, mask=_visible(causal, mask, q.shape[1]))


@adapter(
    "attention.scaled_dot_product",
    library="flax",
    like="jax",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"empty_row": "mean"},
    capabilities="m == d; not causal or n == s",
    gradients=True,
    explains={"f64": SOFTMAX_F32, **NO_16_BITS},
)
def nnx_dot_product_attention(q, k, v, *, mask=None, bias=None, causal=False):
    """flax.nnx.dot_product_attention, which hands over to jax.nn.dot_product_attention where no weights are asked for
    (flax/nnx/nn/attention.py), and so has its conventions."""
    return nnx.dot_product_attention(q, k, v, bias=bias, mask=mask, is_causal=causal)


@adapter(
    "attention.multi_head",
    library="flax",
    like="jax",
    profiles=PROFILES,
    capabilities="m == d; not causal or n == s",
    gradients=True,
)
def linen_MultiHeadDotProductAttention(x_q, x_k, x_v, w_q, w_k, w_v, w_o, *, causal=False):
    """flax.linen.MultiHeadDotProductAttention without biases; values are as wide as keys (head_dim in __call__). Masks
    are left out: a query that sees nothing gets the mean of all values there, and 0 in this equation."""
    heads, _, d = w_q.shape
    layer = linen.MultiHeadDotProductAttention(
        num_heads=heads, qkv_features=heads * d, out_features=w_o.shape[2], use_bias=False
    )
    weights = {name: {"kernel": jnp.moveaxis(w, 0, 1)} for name, w in (("query", w_q), ("key", w_k), ("value", w_v))}
    mask = _visible(causal, None, len(x_q))
    return layer.apply({"params": weights | {"out": {"kernel": w_o}}}, x_q[None], x_k[None], x_v[None], mask=mask)[0]


@adapter(
    "attention.layer_norm",
    library="flax",
    like="jax",
    profiles=PROFILES,
    gradients=True,
    explains={"f64": FAST_VARIANCE, "f32": FAST_VARIANCE},
)
def linen_LayerNorm(x, *, gamma=None, beta=None, eps=1e-5):
    """flax.linen.LayerNorm as it comes: use_fast_variance, the mean of the squares minus the square of the mean."""
    return _norm(x, gamma, beta, epsilon=eps)


@adapter("attention.layer_norm", library="flax", like="jax", profiles=PROFILES, gradients=True)
def linen_LayerNorm_two_pass(x, *, gamma=None, beta=None, eps=1e-5):
    """flax.linen.LayerNorm with use_fast_variance=False."""
    return _norm(x, gamma, beta, epsilon=eps, use_fast_variance=False)


def _norm(x, gamma, beta, **settings):
    layer = linen.LayerNorm(use_scale=gamma is not None, use_bias=beta is not None, **settings)
    weights = {name: w for name, w in (("scale", gamma), ("bias", beta)) if w is not None}
    return layer.apply({"params": weights}, x)
