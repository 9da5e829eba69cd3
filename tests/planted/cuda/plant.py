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
    unnamed   why it is none of the bank's faults: a sentence. The kernel must fail all the same, and be no fault as a whole

The file is patched in a copy. Of the emulated plugin's sources those that include it, and that the equation's kernels are linked from, are
compiled again and linked with the other objects of the plugin, which passes as a whole: that is what `check_cuda_emulated` sees."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = pathlib.Path(os.environ.get("ATTEST_PROJECT_DIR", HERE.parents[2]))
BUILD = pathlib.Path(os.environ.get("ATTEST_BUILD_DIR", PROJECT / "build" / "ci"))
EMULATION = shlex.split(os.environ.get("ATTEST_CUDA_EMULATION", f"{BUILD / 'optimized/cuda/emulation/libattest_cuda_emulation.a'} -lboost_context"))
CLI = os.environ.get("ATTEST_CLI", str(BUILD / "tools" / "attest-cli"))
CUDA = PROJECT / "optimized" / "cuda"
TARGET = "attest_cuda_emulated.dir"

EXPECTED = ("named", "report", "unnamed")
DEFAULTS = {"equation": "linear.causal", "reading": "value", "layout": "bhnd", "profile": "f32"}
FIELDS = {"title", "file", "old", "new", "form", *DEFAULTS, *EXPECTED}

# What each report says in its sentence.
KINDS = {
    "race": r"with no barrier between them",
    "in_flight": r"to which the async copy that .* is under way|product .*under way|not been waited for|not named where it is waited for",
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


def patched(mutant):
    source = (CUDA / mutant["file"]).read_text()
    count = source.count(mutant["old"])
    if count == 0:
        raise PlantingError(f"the text to be patched is no longer in {mutant['file']}:\n{mutant['old']}")
    if count > 1:
        raise PlantingError(f"the text to be patched is {count} times in {mutant['file']}:\n{mutant['old']}")
    return source.replace(mutant["old"], mutant["new"])


def includes(path, file):
    """Whether a source is that file of optimized/cuda or includes it, directly or not."""
    if path == CUDA / file:
        return True
    own = re.findall(r'#include "(attest/cuda/[^"]+)"', path.read_text())
    return any(includes(CUDA / "include" / header, file) for header in own)


def commands():
    """How each source of the plugin is compiled: its path, the command and the folder in which it runs, and the object."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        command = shlex.split(entry["command"])
        output = pathlib.Path(entry["directory"]) / command[command.index("-o") + 1]
        if TARGET in output.parts:
            yield pathlib.Path(entry["file"]), command, entry["directory"], output


def symbols(objects, option):
    done = subprocess.run(["nm", "--print-file-name", "--format=posix", option, *map(str, objects)], capture_output=True, text=True, check=True)
    found = {output: set() for output in objects}
    for line in done.stdout.splitlines():
        path, symbol = line.split(": ", 1)
        found[pathlib.Path(path)].add(symbol.split()[0])
    return found


def linked_with(first, objects):
    """The objects that define what `first` calls, and so on."""
    missing = symbols(objects, "--undefined-only")
    defined = symbols(objects, "--defined-only")
    reached, waiting = {first}, [first]
    while waiting:
        needs = missing[waiting.pop()]
        for output in objects:
            if output not in reached and needs & defined[output]:
                reached.add(output)
                waiting.append(output)
    return reached


def compiled(mutant, folder):
    """The plugin with the mistake in it."""
    copy = folder / "cuda" / mutant["file"]
    copy.parent.mkdir(parents=True)
    copy.write_text(patched(mutant))
    sources = list(commands())
    equation = CUDA / (mutant["equation"].replace(".", "/") + ".cu")
    kernel = linked_with(next(output for source, *_, output in sources if source == equation), [output for *_, output in sources])
    objects, flags = [], []
    for source, command, directory, output in sources:
        flags = [command[0], *(flag for flag in command if flag.startswith("-f"))]
        if output in kernel and includes(source, mutant["file"]):
            output = folder / f"{source.name}.o"
            command[command.index("-o") + 1] = str(output)
            command[command.index("-c") + 1] = str(copy if source == CUDA / mutant["file"] else source)
            command.insert(1, f"-I{folder / 'cuda' / 'include'}")
            command += ["-O0", "-w"]  # which compiles most quickly; a mistake may leave something unused
            run(command, directory)
            objects.insert(0, str(output))  # of what several objects define the first counts
        else:
            objects.append(str(output))
    plugin = folder / "planted.so"
    run([*flags, "-shared", "-o", str(plugin), *objects, *EMULATION], folder)
    return plugin


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise PlantingError(f"does not compile:\n{done.stderr.strip()}")


def judged(plugin, folder, *options):
    report = folder / "report.json"
    done = subprocess.run([CLI, "check", str(plugin), "--json", str(report), *options], capture_output=True, text=True,
                          env=os.environ | {"ATTEST_PROJECT_DIR": str(PROJECT)})
    if not report.exists():
        raise PlantingError(f"attest check wrote no report:\n{done.stdout}{done.stderr}")
    return done.returncode, json.loads(report.read_text())["rows"]


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


def planted(mutant, folder):
    """Plants a mutant and judges it: the row of the kernel in the report."""
    _, rows = judged(compiled(mutant, folder), folder, "--only", f"{mutant['equation']}.{mutant['form']}", "--profile", mutant["profile"])
    kernel = {key: mutant[key] for key in ("equation", "form", "reading", "layout")}
    tf32 = mutant["profile"] == "tf32"
    rows = [row for row in rows if kernel.items() <= row.items() and ("profile == 'tf32'" in row["capabilities"]) == tf32]
    if len(rows) != 1:
        raise PlantingError(f"{len(rows)} kernels are {kernel}")
    return rows[0]


def main():
    names = sys.argv[1:] or sorted(path.stem for path in (HERE / "mutants").glob("*.toml"))
    print("| planted | found by | named as | seconds |\n| --- | --- | --- | ---: |", flush=True)
    failed = False
    for name in names:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="attest-planted-") as folder:
            try:
                mutant = mutant_of((HERE / "mutants" / f"{name}.toml").read_text(), name)
                found, named, wrong = outcome(mutant, planted(mutant, pathlib.Path(folder)))
            except (PlantingError, OSError, tomllib.TOMLDecodeError) as error:
                found, named, wrong = "", "", str(error)
        failed |= bool(wrong)
        print(f"| {name} | {found} | {named} | {time.monotonic() - start:.1f} |{'  <- ' + wrong if wrong else ''}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
