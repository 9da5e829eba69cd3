# SPDX-License-Identifier: MIT
"""memorizing-transformers-pytorch. Its KNNAttention has one softmax over retrieved and local keys and no gate between
them, which memory.knn_attention does not have; this is the attention of its other layers."""

import torch
from memorizing_transformers_pytorch.memorizing_transformers_pytorch import Attention

from attest._torch import Given
from attest.adapters import adapter


@adapter(
    "attention.scaled_dot_product",
    library="memorizing-transformers-pytorch",
    like="torch",
    layout="nd",
    profiles=("f64", "f32", "bf16", "f16"),
    capabilities="causal; d == m",
    gradients=("f64", "f32"),
)
def attention(q, k, v, *, causal=True):
    """Attention, projections taken out; keys before the queries are its xl_memory. Always causal, scale fixed."""
    n, d = q.shape
    past = k.shape[0] - n
    module = Attention(dim=d, heads=1, dim_head=d).eval()
    module.to_q, module.to_kv, module.to_out = (
        Given(q[None]),
        Given(torch.cat((k[past:], v[past:]), -1)[None]),
        torch.nn.Identity(),
    )
    memory = torch.stack((k[:past], v[:past]), -2)[None] if past else None
    return module(q[None], xl_memory=memory)[0][0]
