#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_cost.py [--rounds N]: seconds that a verdict on softmax attention takes, as a user calls it: NumPy by every
pair of regimes and all laws, and at n = s = 4,096 (PyTorch in bfloat16 where it is installed, else NumPy in float32),
each with the share that the kernel itself took. Run it with the Python that has attest installed."""

import argparse
import time

import attest
import numpy as np


def with_numpy(q, k, v, mask=None, bias=None, scale=None, causal=False):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    logits = q @ k.swapaxes(-1, -2) * q.dtype.type(scale)
    if bias is not None:
        logits = logits + bias
    hidden = np.zeros(logits.shape, bool) if mask is None else ~mask
    if causal:
        n, s = logits.shape[-2:]
        hidden = hidden | ~np.tri(n, s, s - n, dtype=bool)
    logits[hidden] = -np.inf
    largest = logits.max(-1, keepdims=True, initial=np.float32(-3e38))
    weights = np.exp(logits - largest, where=np.isfinite(logits), out=np.zeros_like(logits))
    total = weights.sum(-1, keepdims=True)
    return weights @ v / np.where(total == 0, 1, total)


def with_torch(q, k, v, causal=False):
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v, is_causal=causal)


def judged(title, kernel, **options):
    begun = time.perf_counter()
    report = attest.check("attention.scaled_dot_product", kernel, layout="bhnd", **options)
    seconds = time.perf_counter() - begun
    calls = report.data["rows"][0]["regimes"]["judged"] + report.data["rows"][0]["real_sizes"]["judged"]
    share = report.kernel_seconds / seconds
    print(f"{title:<44} {report.verdict:<8} {seconds:6.1f} s, {share:4.0%} in the kernel, {calls} regimes", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=1)
    rounds = arguments.parse_args().rounds
    try:
        import torch  # noqa: F401

        long = dict(
            kernel=with_torch, profile="bf16", like="torch", title="PyTorch, bf16, n = s = 4096, 8 heads, d = 64"
        )
    except ImportError:
        long = dict(kernel=with_numpy, profile="f32", title="NumPy, f32, n = s = 4096, 8 heads, d = 64")
    for _ in range(rounds):
        judged("NumPy, f32, every pair, all laws", with_numpy, profile="f32", conventions={"empty_row": "zero"})
        judged(
            **long,
            capabilities="n == 4096; s == 4096; d == 64; m == 64; heads == 8; groups == heads; batch == 1",
            conventions={"empty_row": "zero"},
            params={"mask": False, "bias": False} if long["profile"] == "bf16" else {"bias": False},
        )


if __name__ == "__main__":
    main()
