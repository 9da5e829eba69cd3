#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""engine.py [--build DIR] [--record FILE]: measures the cost of the reference, in one run.

Processor seconds to compile all references and all faults (each unit as the build compiles it, one after the other,
without a compiler cache); milliseconds of one query at a real size (attest_bench_rows); seconds of
`attest mutants --seeds 40` and `attest check openmp`. The build folder (build/release) must be up to date:
cmake --build build/release --target attest-cli attest_openmp attest_bench_rows
"""

import argparse
import json
import os
import pathlib
import shlex
import sys

from machine import heading, processor_seconds

ROOT = pathlib.Path(__file__).resolve().parents[2]


def compiled(build, folder):
    """Processor seconds of all generated units of that folder, the number of units, and the slowest."""
    total, slowest, units = 0.0, (0.0, ""), 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.parent != build / "generated" / folder:
            continue
        command = shlex.split(entry["command"])
        command[command.index("-o") + 1] = os.devnull
        seconds, _, _ = processor_seconds(command, entry["directory"])
        total, units, slowest = total + seconds, units + 1, max(slowest, (seconds, source.name))
    if not units:
        where = build / "compile_commands.json"
        sys.exit(f"no unit of generated/{folder} is in {where}; configure with -DATTEST_JOIN_UNITS=OFF")
    return total, units, slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--record", type=pathlib.Path, help="write the table to this file as well")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "compile_commands.json").exists():
        sys.exit(f"{build} is no build folder; see --help")
    lines = []

    def line(text):
        print(text, flush=True)
        lines.append(text)

    line(f"{heading()}\n")
    line("| what | figure |\n| --- | ---: |")
    for folder, what in (("reference", "all references"), ("faults", "all faults")):
        total, units, (slowest, name) = compiled(build, folder)
        line(f"| compiling {what}, {units} units (slowest {name}: {slowest:.1f} s) | {total:.1f} s of a processor |")
    _, _, rows = processor_seconds([build / "tools" / "bench" / "attest_bench_rows", "--json"], ROOT)
    for row in map(json.loads, rows.splitlines()):
        query = f"one query of {row['keys']} keys, d = m = {row['width']}: {row['subject']}"
        line(f"| {query} | {row['milliseconds']:.2f} ms |")
    for arguments in (["mutants", "--seeds", "40"], ["check", "openmp"]):
        seconds, wall, _ = processor_seconds([build / "tools" / "attest-cli", *arguments], ROOT)
        line(f"| attest {' '.join(arguments)} | {wall:.1f} s ({seconds:.1f} s of a processor) |")
    if options.record:
        options.record.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
