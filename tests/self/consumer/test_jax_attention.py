# SPDX-License-Identifier: MIT
import attest, jax


@attest.conformance(
    "attention.scaled_dot_product",
    like="jax",
    layout="bnhd",
    conventions={"empty_row": "mean"},
    capabilities="m == d; not causal or n == s",
)
def jax_attention():
    return lambda q, k, v, scale, causal, mask=None, bias=None: jax.nn.dot_product_attention(
        q, k, v, bias, mask, scale=scale, is_causal=causal
    )
