#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unseen.py [--only GLOB] [--strength N] [--markdown FILE]: judges kernels whose authors had read neither faults nor
tests: tools/bench/unseen has their NumPy functions, each wrong in a way that its author chose, or correct in an unusual
one, with a sentence that says how. Prints verdict and first statement of each, and counts; --markdown writes them
beside that sentence. A rejection is compared with the PASS of a kernel of the same equation, for what the diagnosis
takes.

Exit status: 0; 1 when a correct kernel was rejected. Whether a statement is true of a mistake a person decides. Run it
with a Python that has attest."""

import argparse
import fnmatch
import importlib.util
import pathlib
import re
import statistics
import sys
import time
import warnings

import attest
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "unseen"


def kernels():
    """(name, equation, function, kind, mistake, profile, options) of every kernel."""
    for path in sorted(HERE.rglob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, *rest in module.KERNELS:
            yield f"{path.relative_to(HERE).with_suffix('')}.{name}", *rest


def judged(equation, function, profile, options, strength):
    """The report; optional outputs that the function does not return are declared as the report asks."""
    while True:
        report = attest.check(equation, function, profile=profile, strength=strength, **options)
        left_out = re.search(r"declares\s+conventions=\{'(\w+)': False\}", report.table)
        if not left_out or left_out[1] in options.get("conventions", {}):
            return report
        options = {**options, "conventions": {**options.get("conventions", {}), left_out[1]: False}}


def statement(report):
    """What the diagnosis says first: a name, what the weights show, or the condition and what the values show."""
    text = report.diagnosis

    def entry(label):
        found = re.search(rf"\n  {label} +(.*?)(?=\n  \S|\Z)", text, re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    name, weights = entry("looks like"), entry("weights")
    when = report.rows[0]["regimes"]["fails_when"]
    if name and not name.startswith("no known fault"):
        return name
    if weights and not weights.startswith(("no simple", "with ones")):
        return f"weights: {weights}"
    known = ([f"fails where {when}"] if when else []) + report.rows[0]["diagnosis"]["values"]
    where = report.rows[0]["diagnosis"]["where"]
    if re.search(r"\d of \d", where.partition("(")[2]):  # some rows or columns alone
        known.append(where)
    if report.first_error.startswith("law "):
        known.append(report.first_error)
    return "; ".join(known) or f"no name; {where or report.first_error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB")
    parser.add_argument("--strength", type=int, default=1)
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows, accused, passed, named = [], 0, 0, 0
    wrong = 0
    took = {}  # seconds of the verdicts that reject, and of those that do not, by equation
    for name, equation, function, kind, mistake, profile, how in kernels():
        if not fnmatch.fnmatch(name, options.only):
            continue
        begun = time.perf_counter()
        report = judged(equation, function, profile, how, options.strength)
        seconds = time.perf_counter() - begun
        said = "" if report.passed else statement(report)
        took.setdefault((equation, profile), ([], []))[report.passed].append(seconds)
        wrong += kind == "wrong"
        passed += kind == "wrong" and report.passed
        accused += kind == "correct" and not report.passed
        named += kind == "wrong" and not report.passed and not said.startswith("no name")
        rows.append((name, profile, kind, report.verdict, mistake, said))
        print(f"{report.verdict:<8}{kind:<8}{name} ({seconds:.1f} s): {said}", flush=True)
    print(
        f"{len(rows)} kernels: {wrong - passed} of {wrong} wrong ones rejected, {named} with a statement; "
        f"{len(rows) - wrong - accused} of {len(rows) - wrong} correct ones pass"
    )
    more = [max(slow) - statistics.median(passes) for slow, passes in took.values() if slow and passes]
    if more:
        print(
            f"what a rejection takes longer than a PASS of the same equation and profile: at most {max(more):.1f} s, "
            f"{len(more)} pairs"
        )
    if options.markdown:
        table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
        options.markdown.write_text(
            "| kernel | profile | kind | verdict | what its author did | what the report says first |\n"
            f"| --- | --- | --- | --- | --- | --- |\n{table}\n"
        )
    return 1 if accused else 0


if __name__ == "__main__":
    sys.exit(main())
