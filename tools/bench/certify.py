#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""certify.py [--binary PATH] [--rounds N] [--json FILE]: certified values per second of the reference for causal
attention, and how it compares with Arb by hand, plain double, Boost's mpfr and mpmath, in one run.

Build the binary first: cmake --build build/release --target attest_bench_certify
Every round runs the binary and the mpmath loop once, in turn; ratios are medians over rounds of ratios within a round.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

BITS, WIDTH = 128, 16
ROOT = pathlib.Path(__file__).resolve().parents[2]


def mpmath_loop(n):
    """The same operations as the form `dense`, in mpmath; returns output values per second."""
    import mpmath
    from mpmath import mp, mpf

    mp.prec = BITS
    source = random.Random(7)
    q, k, v = ([[mpf(source.randrange(-128, 129)) / 64 for _ in range(WIDTH)] for _ in range(n)] for _ in range(3))
    columns = list(zip(*v))
    start = time.perf_counter()
    scale = 1 / mpmath.sqrt(WIDTH)
    for i in range(n):
        e = [mpmath.exp(scale * mpmath.fdot(q[i], k[j])) for j in range(i + 1)]
        z = mpmath.fsum(e)
        a = [x / z for x in e]
        for column in columns:
            mpmath.fdot(a, column[: i + 1])
    return n * WIDTH / (time.perf_counter() - start)


def run_binary(path):
    done = subprocess.run([path, "--json", "--repetitions", "5"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path} ended with status {done.returncode}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/tools/bench/attest_bench_certify"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the table to this file as well")
    options = parser.parse_args()
    if not pathlib.Path(options.binary).exists():
        sys.exit(
            f"{options.binary} does not exist; build it with\n"
            "  cmake --preset release && cmake --build build/release --target attest_bench_certify"
        )
    try:
        import mpmath

        version = mpmath.__version__
    except ImportError:
        version = None

    rates, ratios = {}, {}
    for _ in range(max(1, options.rounds)):
        for row in run_binary(options.binary):
            key = row["n"], row["subject"]
            rates.setdefault(key, []).append(row["values_per_second"])
            ratios.setdefault(key, []).append(row["reference_is_faster_by"])
        if version:
            for n in sorted({n for n, _ in rates}):
                rate = mpmath_loop(n)
                rates.setdefault((n, "mpmath"), []).append(rate)
                ratios.setdefault((n, "mpmath"), []).append(rates[n, "reference over balls"][-1] / rate)

    print(f"Causal attention, form dense, d = m = {WIDTH}, {BITS} bits; medians of {max(1, options.rounds)} rounds.")
    print("Ratio: how many times faster the reference over balls is.\n")
    print(f"{'n':>5}  {'':<26} {'values/s':>14} {'ratio':>12}")
    table = []
    for n, subject in sorted(rates, key=lambda key: key[0]):
        rate, ratio = statistics.median(rates[n, subject]), statistics.median(ratios[n, subject])
        table.append({"n": n, "subject": subject, "values_per_second": rate, "reference_is_faster_by": ratio})
        print(f"{n:>5}  {subject:<26} {rate:>14.4g} {ratio:>12.3g}")
    print(f"\nmpmath {version}" if version else "\nmpmath is not installed (pip install mpmath): its row is left out")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
