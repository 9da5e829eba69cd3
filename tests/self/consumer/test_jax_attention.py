# SPDX-License-Identifier: MIT
import attest, jax


# Where a mask and a bias of -inf hide everything together, jax averages over the masked keys alone, which no convention
# is: there is no bias here. It compiles for every shape: conditions one by one, not every two.
@attest.conformance(
    "attention.scaled_dot_product",
    like="jax",
    layout="bnhd",
    conventions={"empty_row": "mean"},
    capabilities="m == d; not causal or n == s",
    strength=1,
)
def jax_attention():
    return lambda q, k, v, scale, causal, mask=None: jax.nn.dot_product_attention(
        q, k, v, None, mask, scale=scale, is_causal=causal
    )
