# SPDX-License-Identifier: MIT
"""Equinox: attention, layer norm and rotary positions."""

import equinox
import jax
import jax.numpy as jnp

from attest.adapters import adapter

PROFILES = ("f64", "f32", "bf16", "f16")
SHARED_TABLE = (
    "The tables of all modules are cached by width and dtype, without theta (cache_key = (embedding_size, "
    "self.dtype) in RotaryPositionalEmbedding.__call__, equinox/nn/_embedding.py): the theta of the first module of "
    "a width serves every later one. RotaryPositionalEmbedding(8, theta=1e4) and then (8, theta=2) give the same. "
    "It has no negative positions."
)


@adapter("attention.multi_head", library="equinox", like="jax", profiles=PROFILES, gradients=True)
def MultiheadAttention(x_q, x_k, x_v, w_q, w_k, w_v, w_o):
    """equinox.nn.MultiheadAttention without biases. Masks are left out: a query that sees nothing gets the mean of all
    values (equinox/nn/_attention.py, dot_product_attention_weights), and 0 in this equation."""
    h, f, d = w_q.shape
    _, m, e = w_o.shape
    layer = equinox.nn.MultiheadAttention(
        h, f, output_size=e, qk_size=d, vo_size=m, dtype=x_q.dtype, key=jax.random.key(0)
    )
    columns = [jnp.moveaxis(w, 2, 1).reshape(-1, f) for w in (w_q, w_k, w_v)]
    layer = equinox.tree_at(
        lambda a: [a.query_proj.weight, a.key_proj.weight, a.value_proj.weight, a.output_proj.weight],
        layer,
        [*columns, w_o.reshape(-1, e).T],
    )
    return layer(x_q, x_k, x_v)


@adapter(
    "attention.scaled_dot_product",
    library="equinox",
    like="jax",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"empty_row": "mean"},
    gradients=True,
)
def dot_product_attention(q, k, v, *, mask=None):
    """The function inside equinox.nn.MultiheadAttention: scale 1/sqrt(d), the lowest finite logit where the mask
    hides."""
    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    attend = equinox.nn._attention.dot_product_attention
    if mask is None:
        return jax.vmap(jax.vmap(attend, 1, 1))(q, k, v)
    return jax.vmap(jax.vmap(attend, (1, 1, 1, 0), 1))(q, k, v, mask)


@adapter("attention.layer_norm", library="equinox", like="jax", profiles=PROFILES, gradients=True)
def LayerNorm(x, *, gamma=None, beta=None, eps=1e-5):
    """equinox.nn.LayerNorm, row by row."""
    layer = equinox.nn.LayerNorm(x.shape[1], eps=eps, use_weight=gamma is not None, use_bias=beta is not None)
    given = [(name, w) for name, w in (("weight", gamma), ("bias", beta)) if w is not None]
    if given:
        layer = equinox.tree_at(lambda a: [getattr(a, name) for name, _ in given], layer, [w for _, w in given])
    return jax.vmap(layer)(x)


@adapter(
    "positional.rotary",
    library="equinox",
    like="jax",
    profiles=PROFILES,
    conventions={"pairing": "half"},
    gradients=True,
    jit=False,
    explains=dict.fromkeys(PROFILES, SHARED_TABLE),
)
def RotaryPositionalEmbedding(x, positions, *, base=10000.0):
    """equinox.nn.RotaryPositionalEmbedding, whose rows have the positions 0, 1, 2 ..: each token is put at its place in
    a sequence."""
    if positions.min() < 0:
        raise NotImplementedError("positions start at 0")
    rotate = equinox.nn.RotaryPositionalEmbedding(x.shape[1], theta=base, dtype=x.dtype)
    return jnp.stack(
        [rotate(jnp.zeros((p + 1, x.shape[1]), x.dtype).at[p].set(row))[p] for row, p in zip(x, map(int, positions))]
    )
