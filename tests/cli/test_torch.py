# SPDX-License-Identifier: MIT
"""torch.nn.functional.scaled_dot_product_attention, judged through files. PyTorch is gigabytes and not in CI: where it is
not installed the tests are shown as skipped."""
import unittest

import support
import test_jax

try:
    import ml_dtypes
    import numpy as np
    import torch
    MISSING = None
except ImportError as error:
    MISSING = f"needs numpy, ml_dtypes and torch: {error}"

# What torch does: rows that see nothing are zero; the causal order is aligned at the top left.
CAPABILITIES = "empty_row == 'zero'; not causal or n == s"


def tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16).astype(np.int32).astype(np.uint16).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def attend(case, inputs):
    """One case; torch wants batch, head, token, width, and takes a mask or a bias as one argument."""
    q, k, v = (tensor(inputs[name])[None, None] for name in "qkv")
    mask = None if inputs.get("mask") is None else torch.from_numpy(inputs["mask"])
    bias = None if inputs.get("bias") is None else tensor(inputs["bias"])
    causal = case["parameters"]["causal"]
    if causal and (mask is not None or bias is not None):  # torch refuses both
        triangle = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
        mask, causal = triangle if mask is None else mask & triangle, False
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    with torch.no_grad():
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=case["parameters"]["scale"])
    o = o[0, 0].contiguous()
    return o.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if o.dtype == torch.bfloat16 else o.numpy()


@unittest.skipIf(MISSING, MISSING)
class Torch(test_jax.Judged):
    def passes(self, profile):
        folder = self.emitted(profile, CAPABILITIES)
        test_jax.run_program(folder, attend)
        self.judged(folder, 0)
        return folder

    def test_float32_passes(self):
        self.passes("f32")

    def test_float64_passes(self):
        self.passes("f64")

    def test_bfloat16_passes_its_profile_and_fails_that_of_float32(self):
        self.judged(self.passes("bf16"), 1, "--profile", "f32")


if __name__ == "__main__":
    unittest.main()
