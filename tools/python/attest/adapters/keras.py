# SPDX-License-Identifier: MIT
"""Keras with its NumPy backend, unless KERAS_BACKEND says otherwise."""

import os

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras

from attest.adapters import adapter

PROFILES = ("f64", "f32", "bf16", "f16")
FLOAT32 = (
    "Binary64 becomes binary32: backend.result_type('float64', 'float64') is 'float32' for every backend but "
    "TensorFlow's (keras/src/backend/common/dtypes.py, the table before _lattice_result_type)."
)
HALF_PRODUCTS = (
    "q . k is stored as binary16 before it is scaled: _dot_product_attention_xla in keras/src/backend/numpy/nn.py "
    "casts to float32 after np.einsum. With q = k = 200 (d = 8) and scale 1e-4 the result is NaN. The JAX backend "
    "is right."
)
FAST_VARIANCE = (
    "The variance is the mean of the squares minus the square of the mean, and nothing keeps it from being negative "
    "(moments in keras/src/backend/numpy/nn.py), so that its root is NaN. Rows around 10000 that differ by 1 give "
    "NaN in float32; 10000, 10001, 10002 give -316, 0, 316. The JAX backend uses jnp.var."
)
HALF_SOFTMAX = (
    "Every step is rounded to 16 bits, x - max too: softmax in keras/src/backend/numpy/nn.py computes in the dtype "
    "that it gets."
)


def _array(x):
    return np.array(keras.ops.convert_to_numpy(x))


@adapter(
    "attention.scaled_dot_product",
    library="keras",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"empty_row": "mean"},
    capabilities="not causal or n == s",
    explains={"f64": FLOAT32, "f16": HALF_PRODUCTS},
)
def dot_product_attention(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """keras.ops.dot_product_attention. In keras/src/backend/numpy/nn.py, _apply_masks: the causal mask is a lower
    triangle, and what is hidden has a large negative logit. Heads are not shared there."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    return _array(
        keras.ops.dot_product_attention(
            q, k, v, bias=bias, mask=mask, scale=scale, is_causal=causal, flash_attention=False
        )
    )


@adapter(
    "attention.multi_head",
    library="keras",
    profiles=PROFILES,
    capabilities="not causal or n == s",
    explains={"f64": FLOAT32},
)
def MultiHeadAttention(x_q, x_k, x_v, w_q, w_k, w_v, w_o, *, causal=False):
    """keras.layers.MultiHeadAttention without biases. Masks are left out: a query that sees nothing gets 0 in this
    equation only. Its causal mask is a lower triangle (_compute_causal_mask in
    keras/src/layers/attention/multi_head_attention.py)."""
    h, _, d = w_q.shape
    _, m, e = w_o.shape
    layer = keras.layers.MultiHeadAttention(
        h, d, value_dim=m, output_shape=e, use_bias=False, dtype=x_q.dtype.name, flash_attention=False
    )
    layer.build(x_q[None].shape, x_v[None].shape, x_k[None].shape)
    layer.set_weights([np.moveaxis(w, 0, 1) for w in (w_q, w_k, w_v)] + [w_o])
    return _array(layer(x_q[None], x_v[None], x_k[None], use_causal_mask=causal))[0]


@adapter("attention.layer_norm", library="keras", profiles=PROFILES, explains={"f64": FLOAT32, "f32": FAST_VARIANCE})
def LayerNormalization(x, *, gamma=None, beta=None, eps=1e-5):
    """keras.layers.LayerNormalization."""
    layer = keras.layers.LayerNormalization(
        epsilon=eps, scale=gamma is not None, center=beta is not None, dtype=x.dtype.name
    )
    layer.build(x.shape)
    layer.set_weights([w for w in (gamma, beta) if w is not None])
    return _array(layer(x))


@adapter(
    "attention.softmax",
    library="keras",
    profiles=PROFILES,
    conventions={"lse": False},
    explains={"bf16": HALF_SOFTMAX, "f16": HALF_SOFTMAX},
)
def softmax(x):
    """keras.ops.softmax."""
    return _array(keras.ops.softmax(x))


@adapter("attention.softmax", library="keras", profiles=("f64", "f32"))
def logsumexp(x):
    """keras.ops.softmax and keras.ops.logsumexp, which gives float64 for bfloat16: it is scipy's
    (keras/src/backend/numpy/math.py)."""
    return _array(keras.ops.softmax(x)), _array(keras.ops.logsumexp(x, axis=-1))
