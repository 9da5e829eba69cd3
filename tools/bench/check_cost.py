#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_cost.py [--rounds N]: seconds that a verdict on softmax attention takes, as a user calls it: NumPy by every
pair of regimes and all laws, and at n = s = 4,096 (PyTorch in bfloat16 where it is installed, else NumPy in float32),
each with the share that the kernel itself took; at d = m = 128, where the kernel has one thread, also the processor
time of a judged row, all that attest does divided by the rows. Run it with the Python that has attest installed."""

import argparse
import resource
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


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def judged(title, kernel, rows_of=None, **options):
    """A verdict and its cost; with `rows_of`, the width of the output, the cost of a row as well."""
    begun, used = time.perf_counter(), processor_seconds()
    report = attest.check("attention.scaled_dot_product", kernel, layout="bhnd", **options)
    seconds, used = time.perf_counter() - begun, processor_seconds() - used
    calls = report.data["rows"][0]["regimes"]["judged"] + report.data["rows"][0]["real_sizes"]["judged"]
    share = report.kernel_seconds / seconds
    print(f"{title:<44} {report.verdict:<8} {seconds:6.1f} s, {share:4.0%} in the kernel, {calls} regimes", flush=True)
    if rows_of:
        rows = report.data["rows"][0]["elements"] / rows_of
        each = (used - report.kernel_seconds) / rows
        print(f"{'':<44} {1e3 * each:.0f} ms of a processor for each of {rows:.0f} rows", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=1)
    rounds = arguments.parse_args().rounds
    try:
        import torch

        kernel, profile, left_out = with_torch, dict(profile="bf16", like="torch"), {"mask": False, "bias": False}
        title, one_thread = "PyTorch, bf16", lambda: torch.set_num_threads(1)
    except ImportError:
        kernel, profile, left_out = with_numpy, dict(profile="f32"), {"bias": False}
        title, one_thread = "NumPy, f32", lambda: None  # its BLAS has one thread where OPENBLAS_NUM_THREADS=1

    def long(width, **options):
        fixed = f"n == 4096; s == 4096; d == {width}; m == {width}; heads == 8; groups == heads; batch == 1"
        judged(
            f"{title}, n = s = 4096, 8 heads, d = {width}",
            kernel,
            **profile,
            capabilities=fixed,
            conventions={"empty_row": "zero"},
            params=left_out,
            **options,
        )

    for _ in range(rounds):
        judged("NumPy, f32, every pair, all laws", with_numpy, profile="f32", conventions={"empty_row": "zero"})
        long(64)
    one_thread()
    for _ in range(rounds):
        long(128, rows_of=128)


if __name__ == "__main__":
    main()
