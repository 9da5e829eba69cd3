#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shipped_shapes.py [--only PART] [--strength N] [--device NAME]: verdicts on PyTorch's scaled_dot_product_attention as
kernels are shipped, bfloat16 at fixed shapes, right and with one mistake planted each. Ends with status 1 where a
verdict is not what it should be. Run it with a Python that has attest and torch."""

import argparse
import sys
import time

import attest
import torch
from torch.nn.functional import scaled_dot_product_attention

SHAPES = {
    "d = m = 128, n % 128 == 0": dict(capabilities="d == 128; m == 128; n % 128 == 0; n == s"),
    "d = m = 64": dict(capabilities="d == 64; m == 64; n == s"),
    "d = 576, m = 512, n = 1": dict(capabilities="d == 576; m == 512; n == 1", params={"causal": False}),
    "n = s = 4096, 8 heads, d = m = 64": dict(
        capabilities="n == 4096; s == 4096; d == 64; m == 64; heads == 8; batch <= 2"
    ),
}


def dense(mistake=""):
    def kernel(q, k, v, mask=None, causal=False):
        if mistake == "last key lost" and k.shape[2] > 1:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=bool) if mask is None else mask.clone()
            mask[..., -1] = False
        if mask is not None and causal:
            mask, causal = mask.tril(), False
        if mistake == "mask of entry 0 for all" and mask is not None:
            mask = mask[:1].expand(*mask.shape)
        o = scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=k.shape[1] != q.shape[1])
        if mask is not None:  # a query that sees nothing
            o = torch.where(mask.any(-1, keepdim=True), o, torch.zeros_like(o))
        if mistake == "head 5 as head 0" and q.shape[1] > 5:
            o = torch.cat([o[:, :5], o[:, :1], o[:, 6:]], 1)
        return o

    return kernel


def paged(mistake=""):
    def kernel(q, k, v, pages, lengths, causal=False):
        rows = []
        for b, length in enumerate(lengths["s"].tolist()):
            used = -(-length // k.shape[1])
            table = pages["s"][b, :used]
            if mistake == "page table off by one":
                table = torch.cat([table[1:], table[-1:]])
            keys, values = (x[table].flatten(0, 1)[:length].transpose(0, 1)[None] for x in (k, v))
            seen = torch.ones(q.shape[1], length, dtype=bool).tril(length - q.shape[1]) if causal else None
            one = q[b : b + 1].transpose(1, 2)
            gqa = keys.shape[1] != one.shape[1]
            rows.append(scaled_dot_product_attention(one, keys, values, seen, enable_gqa=gqa).transpose(1, 2))
        return torch.cat(rows)

    return kernel


MISTAKES = {dense: ["last key lost", "mask of entry 0 for all", "head 5 as head 0"], paged: ["page table off by one"]}


def judged(shape, make, mistake, strength, device):
    options = dict(SHAPES[shape], layout="bhnd")
    if make is paged:
        # sequences have lengths of their own: n is no longer s
        options["layout"] = "pkv"
        options["capabilities"] = options["capabilities"].replace("n == s", "n <= s") + "; page == 64"
        if "n == 4096" in options["capabilities"]:
            options["capabilities"] = options["capabilities"].replace("n == 4096", "n in {1, 16}")
    begun = time.perf_counter()
    report = attest.check(
        "attention.scaled_dot_product",
        make(mistake),
        profile="bf16",
        like="torch",
        device=device,
        conventions={"empty_row": "zero"},
        strength=strength,
        **options,
    )
    seconds = time.perf_counter() - begun
    right = report.verdict.startswith("PASS" if not mistake else "FAIL")
    layout = "pages" if make is paged else "dense"
    print(
        f"{shape:<34} {layout} {mistake or 'right':<24} {report.verdict:<12.12} {seconds:6.1f} s, "
        f"{report.kernel_seconds / seconds:4.0%} in the kernel{'' if right else '   NOT AS IT SHOULD BE'}",
        flush=True,
    )
    if not right:
        print(report, flush=True)
    return right


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="part of a shape's name or a mistake's")
    arguments.add_argument("--strength", type=int, default=2)
    arguments.add_argument("--device", help="as in cuda (default: the CPU)")
    given = arguments.parse_args()
    torch.set_default_device(given.device)
    all_right = True
    for shape in SHAPES:
        for make, mistakes in MISTAKES.items():
            for mistake in ["", *mistakes]:
                if given.only in f"{shape}, {make.__name__}, {mistake or 'right'}":
                    all_right &= judged(shape, make, mistake, given.strength, given.device)
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
