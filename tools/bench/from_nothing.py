#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""from_nothing.py [--jobs N] [--rounds N] [--target T] [--dearest N] [CHECKOUT ...]: seconds to compile the plugin.

The plugin is that of the OpenMP kernels, unless --target names something else. Each checkout of the project (this one,
if none is named) is configured as a release, without a compiler cache and without CUDA, in a folder made for it, and
built there by ninja with N jobs (2). Several checkouts take turns, each once per round: a ratio of builds hours apart
would compare the phases of a shared machine. Printed are seconds of ninja by the clock and of processors, then the
files that took longest.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

from machine import commit_of, processor_name, processor_seconds

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built(checkout, target, jobs):
    """(seconds by the clock, seconds of processors, [(seconds, object)], the dearest first)."""
    with tempfile.TemporaryDirectory(prefix="attest-from-nothing-") as folder:
        languages = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=" for language in ("C", "CXX")]
        no_cuda = "-DCMAKE_CUDA_COMPILER=NOTFOUND"
        release = "-DCMAKE_BUILD_TYPE=Release"
        configure = ["cmake", "-S", str(checkout), "-B", folder, "-G", "Ninja", release, no_cuda, *languages]
        processor_seconds(configure, checkout)
        processors, clock, _ = processor_seconds(["ninja", "-C", folder, f"-j{jobs}", target], checkout)
        objects = []
        for line in (pathlib.Path(folder) / ".ninja_log").read_text().splitlines()[1:]:
            begin, end, _, output, _ = line.split("\t")
            if output.endswith((".o", ".gch")):
                objects.append(((int(end) - int(begin)) / 1000, output))
    return clock, processors, sorted(objects, reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUT", nargs="*", type=pathlib.Path, default=[ROOT])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--target", default="attest_openmp")
    parser.add_argument("--dearest", type=int, default=10)
    options = parser.parse_args()
    if options.jobs < 1 or options.rounds < 1 or options.dearest < 0:
        parser.error("--jobs and --rounds are at least 1, --dearest is at least 0")
    for checkout in options.checkouts:
        if not (checkout / "CMakeLists.txt").exists():
            parser.error(f"{checkout} is no checkout of the project: it has no CMakeLists.txt")
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {processor_name()}, {options.jobs} jobs\n")
    print("| commit | s by the clock | s of processors | files |\n| --- | ---: | ---: | ---: |", flush=True)
    names = [commit_of(checkout, otherwise=str(checkout)) for checkout in options.checkouts]
    clocks, objects = [[] for _ in options.checkouts], {}
    for _ in range(options.rounds):
        for index, checkout in enumerate(options.checkouts):
            clock, processors, objects[index] = built(checkout.resolve(), options.target, options.jobs)
            clocks[index].append(clock)
            print(f"| {names[index]} | {clock:.0f} | {processors:.0f} | {len(objects[index])} |", flush=True)
    medians = [statistics.median(seconds) for seconds in clocks]
    for name, median in zip(names[1:], medians[1:], strict=True):
        print(f"\n{name} takes {median / medians[0]:.2f} of the time of {names[0]}.")
    for index, name in enumerate(names):
        if options.dearest:
            print(f"\nThe files of {name} that took longest:\n")
        for seconds, file in objects[index][: options.dearest]:
            print(f"{seconds:8.1f} s  {file.replace('CMakeFiles/', '')}")


if __name__ == "__main__":
    main()
