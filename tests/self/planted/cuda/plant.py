#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plant.py [NAME...]: plants mistakes in the CUDA kernels and sees `attest check` find them; without names all of them.

A mutant is mutants/NAME.toml:

    title     what the mistake is
    file      of optimized/cuda
    old, new  the text to be replaced, which must be there exactly once, and the mistake
    form      of the kernel that is judged, and where they are others than these
    equation, reading, layout, profile     "linear.causal", "value", "bhnd", "f32"

and what must come of it, one of

    named     the fault of the spec's bank that `attest check` must name first
    report    what the emulation must report, a kind of optimized/cuda/emulation/README.md; or "crash"
    unnamed   why it is none of the bank's faults: a sentence. The kernel must fail all the same, and be no fault as a
              whole

All mistakes are in one plugin, attest_cuda_planted, which is made of the emulated one's sources (schemata.py,
plugin.cpp); ATTEST_CUDA_MISTAKES chooses. With none chosen it gives what the emulated plugin gives, which passes:
`check_cuda_emulated` sees that."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = pathlib.Path(os.environ.get("ATTEST_PROJECT_DIR", HERE.parents[3]))
BUILD = pathlib.Path(os.environ.get("ATTEST_BUILD_DIR", PROJECT / "build" / "ci"))
PLUGIN = os.environ.get("ATTEST_CUDA_PLANTED", str(BUILD / "tests/self/plugins/libattest_cuda_planted.so"))
CLI = os.environ.get("ATTEST_CLI", str(BUILD / "tools" / "attest-cli"))
CUDA = PROJECT / "optimized" / "cuda"

EXPECTED = ("named", "report", "unnamed")
DEFAULTS = {"equation": "linear.causal", "reading": "value", "layout": "bhnd", "profile": "f32"}
FIELDS = {"title", "file", "old", "new", "form", *DEFAULTS, *EXPECTED}

# What each report says in its sentence.
KINDS = {
    "race": r"with no barrier between them",
    "in_flight": r"to which the async copy that .* is under way|product .*under way|not been waited for|not named "
    r"where it is waited for",
    "unfenced": r"no fence_proxies after it|since the last warpgroup_fence",
    "unwritten": r"reads shared memory at byte \d+, which nobody has written",
    "out_of_bounds": r"shared elements? .* (of an array|in a row of)",
    "barrier_divergence": r"threads never reach|waits at this barrier while",
    "shared_memory": r"takes dynamic shared memory|bytes of shared memory, static and dynamic",
}


class PlantingError(Exception):
    """A mutant that cannot be planted: the sentence says why."""


def mutant_of(text, name):
    mutant = DEFAULTS | tomllib.loads(text)
    if wrong := (mutant.keys() - FIELDS) | (FIELDS - set(EXPECTED) - mutant.keys()):
        raise PlantingError(f"{name}: unknown or missing: {', '.join(sorted(wrong))}")
    if len(mutant.keys() & set(EXPECTED)) != 1:
        raise PlantingError(f"{name}: one of {', '.join(EXPECTED)} says what must come of it")
    if mutant.get("report", "crash") not in {*KINDS, "crash"}:
        raise PlantingError(f"{name}: no report is called '{mutant['report']}'; there are {', '.join(KINDS)} and crash")
    return mutant


def mutants():
    """All of them, by name."""
    return {path.stem: mutant_of(path.read_text(), path.stem) for path in sorted((HERE / "mutants").glob("*.toml"))}


def place(source, mutant):
    """Where the mutant's old text begins and ends in a source, wherever the formatter breaks its lines."""
    characters = (re.escape(character) for character in mutant["old"] if not character.isspace())
    places = [match.span() for match in re.finditer(r"\s*".join(characters), source)]
    if not places:
        raise PlantingError(f"the text to be patched is no longer in {mutant['file']}:\n{mutant['old']}")
    if len(places) > 1:
        raise PlantingError(f"the text to be patched is {len(places)} times in {mutant['file']}:\n{mutant['old']}")
    return places[0]


def patched(mutant):
    source = (CUDA / mutant["file"]).read_text()
    begin, end = place(source, mutant)
    return source[:begin] + mutant["new"].strip() + source[end:]


def build():
    """By hand: the plugin as mutants and kernels are now. A test has it from the build."""
    if "ATTEST_CUDA_PLANTED" in os.environ:
        return
    done = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", "attest_cuda_planted"], capture_output=True, text=True
    )
    if done.returncode:
        raise PlantingError(f"does not compile:\n{done.stdout}{done.stderr}")


def judged(names=()):
    """The kernels that have these mistakes, as rows of a report in this order; without names all that mutants are
    planted in, as they are."""
    choice = {"ATTEST_CUDA_MISTAKES": ",".join(names)} if names else {}
    others = {key: value for key, value in os.environ.items() if key != "ATTEST_CUDA_MISTAKES"}
    with tempfile.TemporaryDirectory(prefix="attest-planted-") as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            [CLI, "check", PLUGIN, "--json", str(report)],
            capture_output=True,
            text=True,
            env=others | choice | {"ATTEST_PROJECT_DIR": str(PROJECT)},
        )
        if not report.exists():
            raise PlantingError(f"attest check wrote no report:\n{done.stdout}{done.stderr}")
        return json.loads(report.read_text())["rows"]


def found_by(row):
    """The tiers that found something, and what the emulation reported, in the words of FIELDS."""
    messages = [failure["message"] for failure in row["failures"]]
    reports = [kind for kind, sentence in KINDS.items() if any(re.search(sentence, message) for message in messages)]
    if row["status"] == "CRASH":
        reports.append("crash")
    return sorted({failure["tier"] for failure in row["failures"]}), reports


def first_failure(row):
    return row["failures"][0]["message"] if row["failures"] else row["status"]


def outcome(mutant, row):
    """Found by, named as, and what is wrong with that (empty: nothing)."""
    tiers, reports = found_by(row)
    names = [name["fault"] if name["whole"] else f"like {name['fault']}" for name in row["diagnosis"]["names"]]
    named = names[0] if names else ""
    if row["status"] == "PASS":
        wrong = "not found: the kernel passes"
    elif row["status"] == "INVALID":
        wrong = f"not judged: {first_failure(row)}"
    elif "named" in mutant and named.removeprefix("like ") != mutant["named"]:
        wrong = f"named as {names}, not as {mutant['named']}"
    elif "report" in mutant and mutant["report"] not in reports:
        wrong = f"the report of a {mutant['report']} is missing: {first_failure(row)}"
    elif "report" not in mutant and reports:
        wrong = f"it ends in a report before a value is judged: {reports}"
    elif "unnamed" in mutant and named and not named.startswith("like "):
        wrong = f"named as {names}, although it says: {mutant['unnamed']}"
    else:
        wrong = ""
    return ", ".join(reports or tiers), named, wrong


def main():
    names = sys.argv[1:] or sorted(mutants())
    print("| planted | found by | named as | seconds |\n| --- | --- | --- | ---: |", flush=True)
    failed = False
    for name in names:
        start = time.monotonic()
        try:
            mutant = mutant_of((HERE / "mutants" / f"{name}.toml").read_text(), name)
            patched(mutant)
            build()
            found, named, wrong = outcome(mutant, *judged([name]))
        except (PlantingError, OSError, tomllib.TOMLDecodeError) as error:
            found, named, wrong = "", "", str(error)
        failed |= bool(wrong)
        print(
            f"| {name} | {found} | {named} | {time.monotonic() - start:.1f} |{'  <- ' + wrong if wrong else ''}",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
