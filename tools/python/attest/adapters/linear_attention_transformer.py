# SPDX-License-Identifier: MIT
"""linear-attention-transformer: attention with exponential features."""

from linear_attention_transformer.linear_attention_transformer import causal_linear_attn as attend

from attest._torch import for_every_head
from attest.adapters import adapter

SOFTMAX = (
    "The values are right. Gradients of queries lose precision where features differ by many orders: "
    "q.softmax(dim=-1) in causal_linear_attn couples them, and a feature that is large in the query but nearly "
    "absent from the keys gets the rounding errors of the others."
)


@adapter(
    "attention.generalized",
    library="linear-attention-transformer",
    like="torch",
    layout="bhnd",
    profiles=("f64", "f32"),
    params={"sim": "feature_dot", "phi": "exp", "varphi": "exp", "causal": True},
    conventions={"zero_denominator": "nan"},
    capabilities="n == s; m == d",
    gradients=True,
    explains={"f64": SOFTMAX, "f32": SOFTMAX},
)
def causal_linear_attn(q, k, v):
    """causal_linear_attn with a bucket for each token: a softmax over the features of a query, e^q up to a factor that
    the normaliser removes, and e^k. Values are as wide as keys (bucket_fn). Its floor for denominators, eps, is set to
    0."""
    k, v = for_every_head(q.shape[1], k, v)
    return attend(q, k, v, bucket_size=1, eps=0.0)
