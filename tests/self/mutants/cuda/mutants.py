#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py [NAME...]: judges mutants of the CUDA kernels, by default all, by `attest check`, which must reject them.

A mutant is NAME.toml beside this file:

    title     the defect, in words
    file      the file of optimized/cuda that is changed
    old, new  the replaced text, which must occur exactly once, and its replacement
    form      of the kernel that is judged; and where they differ from these defaults
    equation, reading, layout, profile     "linear.causal", "value", "bhnd", "f32"

and the expected outcome, one of

    named     the fault of the spec's bank that `attest check` must name first
    report    the report of the emulation, a kind of optimized/cuda/emulation/README.md; or "crash"
    unnamed   why it is none of the bank's faults: a sentence. The kernel must fail, and not equal a fault as a whole

One plugin, attest_cuda_mutants, holds all mutants: schemata.py makes it from the sources of the emulated plugin, and
plugin.cpp reads the chosen names from ATTEST_CUDA_MUTANTS. Without names its kernels are the unchanged ones."""

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
PLUGIN = os.environ.get("ATTEST_CUDA_MUTANTS_PLUGIN", str(BUILD / "tests/self/plugins/libattest_cuda_mutants.so"))
CLI = os.environ.get("ATTEST_CLI", str(BUILD / "tools" / "attest-cli"))
CUDA = PROJECT / "optimized" / "cuda"

EXPECTED = ("named", "report", "unnamed")
DEFAULTS = {"equation": "linear.causal", "reading": "value", "layout": "bhnd", "profile": "f32"}
FIELDS = {"title", "file", "old", "new", "form", *DEFAULTS, *EXPECTED}

# A part of the message of each kind of report.
KINDS = {
    "race": r"with no barrier between them",
    "in_flight": r"to which the async copy that .* is in flight|product .*in flight|not been waited for"
    r"|not named where it is waited for",
    "diverged": r"to be converged, which have gone different ways",
    "unfenced": r"no fence_proxies after it|since the last warpgroup_fence",
    "unwritten": r"reads shared memory at byte \d+, which no thread has written",
    "out_of_bounds": r"shared elements? .* (of an array|in a row of)",
    "barrier_divergence": r"threads never reach|waits at this barrier while",
    "shared_memory": r"takes dynamic shared memory|bytes of shared memory, static and dynamic",
}


class MutantError(Exception):
    """A mutant that cannot be made; the message says why."""


class TextError(MutantError):
    """The text that a mutant replaces is not in its file, or not once."""


def mutant_of(text, name):
    mutant = DEFAULTS | tomllib.loads(text)
    if wrong := (mutant.keys() - FIELDS) | (FIELDS - set(EXPECTED) - mutant.keys()):
        raise MutantError(f"{name}: unknown or missing: {', '.join(sorted(wrong))}")
    if len(mutant.keys() & set(EXPECTED)) != 1:
        raise MutantError(f"{name}: one of {', '.join(EXPECTED)} must give the expected outcome")
    if mutant.get("report", "crash") not in {*KINDS, "crash"}:
        raise MutantError(f"{name}: no report is called '{mutant['report']}'; there are {', '.join(KINDS)} and crash")
    return mutant


def all_mutants():
    """All of them, by name."""
    return {path.stem: mutant_of(path.read_text(), path.stem) for path in sorted(HERE.glob("*.toml"))}


def place(source, mutant):
    """Where the mutant's old text begins and ends in a source, wherever the formatter breaks its lines."""
    characters = (re.escape(character) for character in mutant["old"] if not character.isspace())
    places = [match.span() for match in re.finditer(r"\s*".join(characters), source)]
    if not places:
        raise TextError(f"the text to be patched is no longer in {mutant['file']}:\n{mutant['old']}")
    if len(places) > 1:
        raise TextError(f"the text to be patched is {len(places)} times in {mutant['file']}:\n{mutant['old']}")
    return places[0]


def patched(mutant):
    source = (CUDA / mutant["file"]).read_text()
    begin, end = place(source, mutant)
    return source[:begin] + mutant["new"].strip() + source[end:]


def build():
    """Builds the plugin when this is run by hand; a test names the plugin of its build."""
    if "ATTEST_CUDA_MUTANTS_PLUGIN" in os.environ:
        return
    done = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", "attest_cuda_mutants"], capture_output=True, text=True
    )
    if done.returncode:
        raise MutantError(f"does not compile:\n{done.stdout}{done.stderr}")


def judged(names=()):
    """The rows of a report on these mutants, in this order; without names on the unchanged kernels of all mutants."""
    choice = {"ATTEST_CUDA_MUTANTS": ",".join(names)} if names else {}
    strength = "1" if names else "0"  # a mutant that golden cases do not show may need a batch of heads
    others = {key: value for key, value in os.environ.items() if key != "ATTEST_CUDA_MUTANTS"}
    with tempfile.TemporaryDirectory(prefix="attest-mutants-") as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            [CLI, "check", PLUGIN, "--strength", strength, "--json", str(report)],
            capture_output=True,
            text=True,
            env=others | choice | {"ATTEST_PROJECT_DIR": str(PROJECT)},
        )
        if not report.exists():
            raise MutantError(f"attest check wrote no report:\n{done.stdout}{done.stderr}")
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
    names = sys.argv[1:] or sorted(all_mutants())
    print("| mutant | found by | named as | seconds |\n| --- | --- | --- | ---: |", flush=True)
    failed = False
    for name in names:
        start = time.monotonic()
        try:
            mutant = mutant_of((HERE / f"{name}.toml").read_text(), name)
            patched(mutant)
            build()
            found, named, wrong = outcome(mutant, *judged([name]))
        except (MutantError, OSError, tomllib.TOMLDecodeError) as error:
            found, named, wrong = "", "", str(error)
        failed |= bool(wrong)
        print(
            f"| {name} | {found} | {named} | {time.monotonic() - start:.1f} |{'  <- ' + wrong if wrong else ''}",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
