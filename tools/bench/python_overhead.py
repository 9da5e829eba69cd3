#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python_overhead.py [--rounds N] [--json FILE]: what attest.check costs beside the kernel itself, for NumPy kernels.

Of each kernel: the time of the whole check, the time inside the kernel, and the rest. The goal: the whole is at most
1.5 times the kernel's own time plus one second per equation. The kernels are judged as they are and with a pause of 20
ms per call, a kernel whose own time dominates. Every round judges every kernel once, in turn, in a process that has the
judge loaded; medians over rounds."""

import argparse
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "self" / "python"))

import attest  # noqa: E402
import kernels  # noqa: E402
import numpy as np  # noqa: E402


def layer_norm(x, gamma=None, beta=None, eps=1e-5):
    centred = x - x.mean(1, keepdims=True, dtype="f8").astype(x.dtype)
    y = centred / np.sqrt((centred**2).mean(1, keepdims=True) + x.dtype.type(eps))
    return y * (1 if gamma is None else gamma) + (0 if beta is None else beta)


def softmax(x, mask=None):
    logits = x if mask is None else np.where(mask, x, x.dtype.type(-np.inf))
    weights = np.exp(logits - np.maximum(logits.max(-1, keepdims=True), np.finfo(x.dtype).min))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total > 0, total, 1)


def paused(kernel, seconds):
    def slow(q, k, v, mask=None, bias=None, scale=None, causal=False):
        time.sleep(seconds)
        return kernel(q, k, v, mask, bias, scale, causal)

    return slow


JUDGED = [
    ("attention.scaled_dot_product", kernels.attention, {"conventions": kernels.ZERO}),
    ("attention.scaled_dot_product, 20 ms a call", paused(kernels.attention, 0.02), {"conventions": kernels.ZERO}),
    ("attention.softmax", softmax, {"conventions": {**kernels.ZERO, "lse": False}}),
    ("attention.layer_norm", layer_norm, {}),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    seconds = {name: [] for name, _, _ in JUDGED}
    verdicts = {}
    for _ in range(options.rounds):
        for name, kernel, how in JUDGED:
            start = time.perf_counter()
            report = attest.check(name.split(",")[0], kernel, **how)
            seconds[name].append((time.perf_counter() - start, report.kernel_seconds))
            verdicts[name] = report.verdict
    rows = []
    print(f"{'kernel':<46} {'check, s':>9} {'kernel, s':>9} {'rest, s':>8}  goal")
    for name, pairs in seconds.items():
        whole, own = statistics.median(w for w, _ in pairs), statistics.median(k for _, k in pairs)
        rest = statistics.median(w - k for w, k in pairs)
        met = statistics.median(w - 1.5 * k for w, k in pairs) <= 1
        rows.append(
            {
                "kernel": name,
                "verdict": verdicts[name],
                "check_seconds": whole,
                "kernel_seconds": own,
                "rest_seconds": rest,
                "met": met,
            }
        )
        print(f"{name:<46} {whole:>9.2f} {own:>9.2f} {rest:>8.2f}  {'met' if met else 'missed'} ({verdicts[name]})")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
