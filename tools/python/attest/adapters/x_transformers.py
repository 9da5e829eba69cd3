# SPDX-License-Identifier: MIT
"""x-transformers: Attend, ALiBi, rotary embeddings."""

import torch
from x_transformers.attend import Attend
from x_transformers.x_transformers import AlibiPositionalBias, RotaryEmbedding, apply_rotary_pos_emb

from attest.adapters import adapter

ALL = ("f64", "f32", "bf16", "f16")
WIDE = ("f64", "f32")


FLOAT32 = "softmax in float32 (attend.py:262)"
CAUSAL_AND_MASK = (
    "a query that sees nothing gets 0 where the mask alone hides everything, and the mean of all values where mask and "
    "causal order do it together: row_is_entirely_masked is of the mask alone (attend.py:601)"
)
GROUPS = (
    "query head h reads key head h % groups, where others read h // (heads / groups): k and v are repeated 'b kvh n "
    "d -> b (r kvh) n d' (attend.py:532)"
)
ATTENTION = dict(
    library="x-transformers", like="torch", profiles=ALL, conventions={"empty_row": "zero", "hidden_nan": False}
)


def _attend(q, k, v, mask, bias, flash, **options):
    return Attend(flash=flash, **options)(q, k, v, mask=mask, attn_bias=bias)


@adapter(
    "attention.scaled_dot_product",
    **ATTENTION,
    layout="nd",
    gradients=WIDE,
    explains={
        "f64": FLOAT32,
        "f32": CAUSAL_AND_MASK,
        "bf16": CAUSAL_AND_MASK,
        "f16": "q . k is stored as binary16 before it is scaled, and overflows (attend.py:556); " + CAUSAL_AND_MASK,
    },
)
def attend(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """Attend: the causal order is triu(j - i + 1), aligned at the bottom right (create_causal_mask)."""
    mask, bias = (None if x is None else x[None, None] for x in (mask, bias))
    return _attend(q[None, None], k[None, None], v[None, None], mask, bias, False, scale=scale, causal=causal)[0][0, 0]


@adapter("attention.scaled_dot_product", **ATTENTION, layout="nd", gradients=WIDE)
def attend_flash(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """Attend with flash=True: PyTorch's scaled_dot_product_attention, masks and causal order prepared by flash_attn."""
    mask, bias = (None if x is None else x[None, None] for x in (mask, bias))
    return _attend(q[None, None], k[None, None], v[None, None], mask, bias, True, scale=scale, causal=causal)[0][0, 0]


@adapter("attention.scaled_dot_product", **ATTENTION, layout="bhnd", explains=dict.fromkeys(ALL, GROUPS))
def attend_flash_grouped(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """The same on batches of heads that share keys and values in groups."""
    return _attend(q, k, v, mask, bias, True, scale=scale, causal=causal)[0]


@adapter(
    "attention.softmax_one",
    library="x-transformers",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"hidden_nan": False},
    gradients=WIDE,
    explains={"f64": FLOAT32},
)
def attend_zero_kv(x, mask=None):
    """Attend with add_zero_kv=True over keys and values that are the identity: the weights themselves."""
    identity = torch.eye(x.shape[1], dtype=x.dtype)[None, None]
    return Attend(scale=1.0, add_zero_kv=True)(
        x[None, None], identity, identity, mask=None if mask is None else mask[None, None]
    )[0][0, 0]


@adapter(
    "positional.alibi",
    library="x-transformers",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"query_offset": 0},
    capabilities="symmetric or n <= s",
    gradients=WIDE,
    explains={
        "f64": FLOAT32,
        **dict.fromkeys(
            ("bf16", "f16"),
            "logits and weights are stored in 16 bits on the way (attend.py, Attend.forward); the law recency sees "
            "it in small weights",
        ),
    },
)
def alibi(q, k, v, slopes=None, *, scale=None, symmetric=False):
    """AlibiPositionalBias as the bias of Attend; without a causal order it is symmetric."""
    heads, n, s = q.shape[0], q.shape[1], k.shape[1]
    bias = AlibiPositionalBias(heads, slopes=None if slopes is None else slopes.tolist())(n, s).to(q.dtype)
    return Attend(scale=scale, causal=not symmetric)(q[None], k[None], v[None], attn_bias=bias)[0][0]


@adapter(
    "positional.rotary",
    library="x-transformers",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"pairing": "interleaved"},
    capabilities="d > 2",
    gradients=WIDE,
    explains={
        "f64": "frequencies and angles are float32, whatever is rotated: RotaryEmbedding.__init__, "
        "inv_freq = 1. / (base ** (arange(0, dim, 2).float() / dim))"
    },
)
def rotary_embedding(x, positions, *, base=10000.0):
    """RotaryEmbedding and apply_rotary_pos_emb. A width of 2 divides by zero: base *= base_rescale_factor ** (dim /
    (dim - 2))."""
    freqs, scale = RotaryEmbedding(x.shape[-1], base=base)(positions)
    return apply_rotary_pos_emb(x[None], freqs, scale)[0]
