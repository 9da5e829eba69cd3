# SPDX-License-Identifier: MIT
"""rotary-embedding-torch."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

from attest.adapters import adapter


@adapter(
    "positional.rotary",
    library="rotary-embedding-torch",
    like="torch",
    layout="nd",
    profiles=("f64", "f32", "bf16", "f16"),
    conventions={"pairing": "interleaved"},
    capabilities="d > 2",
    gradients=("f64", "f32"),
    explains={
        "f64": "frequencies and angles are float32, whatever is rotated: RotaryEmbedding.__init__, "
        "freqs = 1. / (theta ** (torch.arange(..).float() / dim))"
    },
)
def rotary_embedding(x, positions, *, base=10000.0):
    """RotaryEmbedding and apply_rotary_emb. A width of 2 divides by zero: theta *= theta_rescale_factor ** (dim / (dim
    - 2))."""
    table = RotaryEmbedding(x.shape[-1], theta=base)
    return apply_rotary_emb(table(positions.to(torch.float32)), x)
