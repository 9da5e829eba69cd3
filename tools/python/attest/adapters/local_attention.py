# SPDX-License-Identifier: MIT
"""local-attention with windows that hold everything."""

from local_attention import LocalAttention

from attest._torch import for_every_head
from attest.adapters import adapter

PROFILES = ("f64", "f32", "bf16", "f16")
PADDED = (
    "Where n is odd, the token of zeros that autopad adds counts as a key: pad_to_multiple fills k up, and "
    "LocalAttention.forward (local_attention.py) hides it only where the caller gives a mask. q = k = 0, v = 1, n = "
    "3, windows of 2 give 0.75; with a mask that is true everywhere they give 1. Even n and causal order are right."
)


def _attend(q, k, v, scale, causal, window, around, bias=None, autopad=False):
    """A look backward, and forward unless causal, of `around` windows; no rotary positions."""
    k, v = for_every_head(q.shape[1], k, v)
    layer = LocalAttention(
        window,
        causal=causal,
        look_backward=around,
        look_forward=0 if causal else around,
        scale=scale,
        use_rotary_pos_emb=False,
        autopad=autopad,
    )
    return layer(q, k, v, attn_bias=None if bias is None else bias.flatten(0, 1))


@adapter(
    "attention.scaled_dot_product",
    library="local-attention",
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    capabilities="n == s",
    gradients=True,
)
def one_window(q, k, v, *, bias=None, scale=None, causal=False):
    """LocalAttention with one window for all tokens. Its masks are for whole keys, not for pairs, and are left out."""
    return _attend(q, k, v, scale, causal, q.shape[2], 0, bias)


@adapter(
    "attention.scaled_dot_product",
    library="local-attention",
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    capabilities="n == s; n % 2 == 0",
    gradients=True,
)
def two_windows(q, k, v, *, scale=None, causal=False):
    """LocalAttention with two windows that see each other."""
    return _attend(q, k, v, scale, causal, q.shape[2] // 2, 1)


@adapter(
    "attention.scaled_dot_product",
    library="local-attention",
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    capabilities="n == s",
    gradients=True,
    explains=dict.fromkeys(PROFILES, PADDED),
)
def autopad(q, k, v, *, scale=None, causal=False):
    """LocalAttention with two windows and autopad, which fills up the last one where n is odd."""
    return _attend(q, k, v, scale, causal, (q.shape[2] + 1) // 2, 1, autopad=True)
