#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ci_cost.py JUNIT [--ninja-log FILE] [--build-seconds S] [--slowest N]: prints the cost of a run of the tests.

From the file that `ctest --output-junit` wrote: the slowest tests, the groups of tests (the name up to the first "/"),
and which parts of the long sweeps were left out; from the log of ninja: the seconds that compiling what belongs to
equations took. `per equation` divides by the number of specs, which is the cost of one more where a group grows with
the equations. Seconds are added up over tests and compilations that ran beside each other.
"""

import argparse
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = re.compile(r"^Part \d+ of \d+: .* left out$", re.M)


def tests(path):
    """(name, seconds, status, output) of every test, the slowest first."""
    found = []
    for case in tree.parse(path).getroot().iter("testcase"):
        found.append(
            (case.get("name"), float(case.get("time", 0)), case.get("status"), case.findtext("system-out") or "")
        )
    return sorted(found, key=lambda test: (-test[1], test[0]))


def compiled(path, equations):
    """(seconds of everything in the log of ninja, seconds of objects that belong to an equation or join some)."""
    last = {}
    for line in pathlib.Path(path).read_text().splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        last[output] = (int(end) - int(start)) / 1000, command
    edges = {
        command: (seconds, output) for output, (seconds, command) in last.items()
    }  # one command may write several files
    names = {
        f"/{name}." for id in equations for name in (id, id.replace(".", "/"))
    }  # generated for it, and its own sources
    names |= {"/Unity/", "/joined/"}
    own = sum(seconds for seconds, output in edges.values() if any(name in f"/{output}" for name in names))
    return sum(seconds for seconds, _ in edges.values()), own


def line(seconds, text, per=None):
    return f"{seconds:10.1f} {'' if per is None else f'{seconds / per:14.2f}':>14}  {text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("junit")
    parser.add_argument("--ninja-log")
    parser.add_argument("--build-seconds", type=float, help="by the clock")
    parser.add_argument("--slowest", type=int, default=20)
    options = parser.parse_args()
    equations = [f"{path.parent.name}.{path.stem}" for path in (ROOT / "specs").glob("*/*.toml")]
    try:
        ran = tests(options.junit)
    except (OSError, tree.ParseError, ValueError) as error:
        sys.exit(f"{options.junit}: {error}")
    if not ran:
        return
    print(f"\nThe slowest of {len(ran)} tests\n{'seconds':>10} {'':14}  test")
    for name, seconds, status, _ in ran[: options.slowest]:
        print(line(seconds, name + {"run": "", "notrun": " (skipped)"}.get(status, f" ({status})")))
    groups = collections.Counter()
    for name, seconds, _, _ in ran:
        groups[name.split("/")[0]] += seconds
    print(f"\n{'seconds':>10} {'per equation':>14}  of {len(equations)} equations")
    for name, seconds in groups.most_common():
        print(line(seconds, name, len(equations)))
    print(line(sum(groups.values()), "all tests", len(equations)))
    if options.ninja_log:
        everything, own = compiled(options.ninja_log, equations)
        print(line(own, "compiling what belongs to equations", len(equations)))
        print(line(everything, "compiling", len(equations)))
    if options.build_seconds is not None:
        print(line(options.build_seconds, "building, by the clock"))
    left_out = [f"{name}: {found}" for name, _, _, output in sorted(ran) for found in LEFT_OUT.findall(output)]
    print("\n" + "\n".join(left_out or ["None of these tests left a part of itself out"]) + "\n")


if __name__ == "__main__":
    main()
