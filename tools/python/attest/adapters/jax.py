# SPDX-License-Identifier: MIT
"""JAX's own functions, as XLA runs them on the CPU."""

import jax

from attest.adapters import adapter

SOFTMAX_F32 = (
    '"Softmax and it is always carried out in fp32": padded_logits.astype(np.float32) in _dot_product_attention_core '
    "(jax/_src/nn/functions.py), for float64 too."
)
SOFTMAX_16 = (
    "Every step is rounded to 16 bits, x - max too: _softmax in jax/_src/nn/functions.py computes in the "
    "dtype that it gets."
)
FAST_VARIANCE = (
    "The variance is the mean of the squares minus the square of the mean (standardize in jax/_src/nn/functions.py, "
    "algorithm "
    '"fast", the default), clipped at 0, in the dtype of x: nothing is left of it where the mean is large.'
)
NO_16_BITS = {
    "bf16": "Compiled for a CPU, one product of bfloat16 in float32 raises where it has a single element: Algorithm "
    "not "
    "supported by the ElementalIrEmitter: ALG_DOT_BF16_BF16_F32 (n = s = d = 1). Other shapes, and the same "
    "uncompiled, pass.",
    "f16": "Compiled for a CPU, jax.nn.dot_product_attention raises: The precision 'F16_F16_F32' is not supported by "
    "dot_general. Uncompiled it passes.",
}
RSQRT_16 = (
    "Values pass. The derivative of 1 / sqrt(v + 1e-5) is -1.6e7 at v = 0, beyond binary16, and 0 times infinity is "
    "NaN: a row of one feature."
)


@adapter(
    "attention.scaled_dot_product",
    library="jax",
    like="jax",
    layout="bnhd",
    profiles=("f64", "f32", "bf16", "f16"),
    conventions={"empty_row": "mean"},
    capabilities="m == d; not causal or n == s",
    gradients=True,
    explains={"f64": SOFTMAX_F32, **NO_16_BITS},
)
def dot_product_attention(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """jax.nn.dot_product_attention, implementation 'xla'. In jax/_src/nn/functions.py: values are as wide as keys
    (_check_shape_and_dtype), the causal mask is a lower triangle (_get_causal_mask), and what is hidden has a large
    negative logit (_apply_masks), so that a query that sees nothing gets the mean of all values."""
    return jax.nn.dot_product_attention(
        q, k, v, bias=bias, mask=mask, scale=scale, is_causal=causal, implementation="xla"
    )


@adapter(
    "attention.softmax",
    library="jax",
    like="jax",
    profiles=("f64", "f32", "bf16", "f16"),
    conventions={"lse": False},
    explains={"bf16": SOFTMAX_16, "f16": SOFTMAX_16},
)
def softmax(x, *, mask=None):
    """jax.nn.softmax. What `where` hides is 0, also in a row where nothing is visible (_softmax in
    jax/_src/nn/functions.py)."""
    return jax.nn.softmax(x, where=mask)


@adapter("attention.softmax", library="jax", like="jax", profiles=("f64", "f32"), gradients=True)
def log_softmax(x, *, mask=None):
    """jax.nn.log_softmax, as exponentials, and jax.nn.logsumexp."""
    return jax.numpy.exp(jax.nn.log_softmax(x, where=mask)), jax.nn.logsumexp(x, axis=-1, where=mask)


@adapter(
    "attention.layer_norm",
    library="jax",
    like="jax",
    profiles=("f64", "f32", "bf16", "f16"),
    gradients=True,
    explains=dict.fromkeys(("f64", "f32", "bf16", "f16"), FAST_VARIANCE),
)
def standardize(x, *, eps=1e-5):
    """jax.nn.standardize with its default algorithm "fast"."""
    return jax.nn.standardize(x, epsilon=eps)


@adapter(
    "attention.layer_norm",
    library="jax",
    like="jax",
    profiles=("f64", "f32", "bf16", "f16"),
    gradients=True,
    explains={"f16": RSQRT_16},
)
def standardize_stable(x, *, eps=1e-5):
    """jax.nn.standardize with algorithm "stable", two passes."""
    return jax.nn.standardize(x, epsilon=eps, algorithm="stable")
