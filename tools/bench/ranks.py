#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ranks.py measure [--command PATH] [--rounds N] [--json FILE] [WORK...]: how well two MPI ranks share a job.
ranks.py simulate [--json FILE] JOURNAL...: how long a job would take on 1 to 4,096 ranks, from the journal of one.

`measure` runs each work (regenerate, mutants) on 1 rank and on 2, each with one thread, in turn, in every round. The
efficiency is t1 / (2 t2), its median over rounds.

`simulate` reads how long each item took, and hands the items out as the command does: the longest first, each to the
rank that is free. What MPI itself takes, and the start of the processes, are not in it. Efficiency: the seconds of all
items / (ranks x the time of the job). Where the longest item takes all of that time, more ranks gain nothing."""

import argparse
import heapq
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKS = {
    "regenerate": ["golden", "regenerate", "--into", "FOLDER"],
    "mutants": ["mutants", "--seeds", "40", "--strength", "1", "--only", "linear.*"],
}
RANKS = [2**power for power in range(13)]


def seconds_of(command, ranks, words):
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    environment.pop("ATTEST_CACHE", None)
    with tempfile.TemporaryDirectory() as folder:
        line = ["mpiexec", "-n", str(ranks), command, *(folder if word == "FOLDER" else word for word in words)]
        begin = time.monotonic()
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{' '.join(line)} ended with status {done.returncode}: {done.stderr.strip()}")
    return seconds


def measure(options):
    rows = []
    for work in options.work or WORKS:
        words, times = WORKS[work], {1: [], 2: []}
        for number in range(options.rounds):
            for ranks in (1, 2) if number % 2 == 0 else (2, 1):
                times[ranks].append(seconds_of(options.command, ranks, words))
        one, two = statistics.median(times[1]), statistics.median(times[2])
        efficiency = statistics.median(t1 / (2 * t2) for t1, t2 in zip(times[1], times[2]))
        rows.append({"work": work, "words": words, "seconds": times, "efficiency": efficiency})
        print(f"{work:<12} 1 rank {one:7.1f} s, 2 ranks {two:7.1f} s, efficiency {efficiency:.0%}", flush=True)
    return rows


def items_of(journal):
    """Seconds by item: what `tools/jobs` keeps."""
    items = {}
    for file in sorted(pathlib.Path(journal).glob("*.journal")):
        data = file.read_bytes()
        at = data.index(b"\n") + 1
        while record := re.compile(rb"(\w+)(?: ([\d.]+))? (\d+) (\d+) [0-9a-f]{64}\n").match(data, at):
            kind, seconds, key, result = record.groups()
            begin = record.end()
            if kind == b"done":
                items[data[begin : begin + int(key)].decode()] = float(seconds)
            at = begin + int(key) + int(result) + 1
    if not items:
        sys.exit(f"{journal} has no journal with finished items")
    return items


def time_on(ranks, seconds):
    """When the last rank has done its items, each taken by the first rank that is free, in this order."""
    free = [0.0] * ranks
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def simulate(options):
    items = {}
    for journal in options.journal:
        items |= {f"{pathlib.Path(journal).name} {key}": seconds for key, seconds in items_of(journal).items()}
    order = sorted(items.values(), reverse=True)
    total = sum(order)
    longest = sorted(items, key=items.get, reverse=True)[:5]
    print(
        f"{len(items)} items, {total:.0f} s; the longest: {', '.join(f'{key} {items[key]:.1f} s' for key in longest)}"
    )
    rows = []
    for ranks in RANKS:
        took = time_on(ranks, order)
        rows.append({"ranks": ranks, "seconds": took, "efficiency": total / (ranks * took)})
        rules = ", the longest item alone" if took <= order[0] * (1 + 1e-9) else ""
        print(f"{ranks:>5} ranks {took:9.1f} s, efficiency {total / (ranks * took):6.1%}{rules}")
    return {"items": items, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the numbers to this file as well")
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--command", default=str(ROOT / "build/release/tools/attest-cli"))
    measuring.add_argument("--rounds", type=int, default=5)
    measuring.add_argument("work", nargs="*", choices=[[], *WORKS])
    measuring.set_defaults(run=measure)
    simulating = commands.add_parser("simulate")
    simulating.add_argument("journal", nargs="+")
    simulating.set_defaults(run=simulate)
    options = parser.parse_args()
    numbers = options.run(options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
