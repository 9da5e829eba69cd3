#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_registers.py LOG [--record]: what ptxas says of every kernel of optimized/cuda, for sm_80 and sm_90a.

LOG is the output of a build of the plugin in which ptxas speaks:

    cmake --preset ci -DCMAKE_CUDA_FLAGS=-Xptxas=-v && cmake --build --preset ci --target attest_cuda > LOG

Registers and stack of a thread, bytes it spills, and the shared memory that the kernel declares; what a launch adds to
that (DynamicShared) is not among it. Needs nvcc, no GPU. A table in Markdown goes to standard output; --record writes
it, and the same as JSON, beside the other records."""

import argparse
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

SOURCE = re.compile(r"Building CUDA object \S*/__/(?P<file>\S+)\.o$")
ENTRY = re.compile(r"Compiling entry function '(?P<name>\w+)' for '(?P<architecture>sm_\w+)'")
PROPERTIES = re.compile(r"Function properties for (?P<name>\w+)")
FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, "
    r"(?P<spill_stores>\d+) bytes spill stores, (?P<spill_loads>\d+) bytes spill loads"
)
USED = re.compile(r"Used (?P<registers>\d+) registers")
SHARED = re.compile(r"(?P<shared>\d+) bytes smem")


def parsed(log):
    """The kernels of a log: what is said of a source comes behind its name."""
    kernels, current, own, file = [], None, False, "?"
    for line in log.splitlines():
        if found := SOURCE.search(line):
            file = found["file"]
        elif found := ENTRY.search(line):
            current = {"file": file, "kernel": found["name"], "architecture": found["architecture"], "shared": 0}
            kernels.append(current)
        elif found := PROPERTIES.search(line):
            own = (
                current is not None and found["name"] == current["kernel"]
            )  # a function that is called has properties too
        elif (found := FRAME.search(line)) and own:
            current.update((key, int(value)) for key, value in found.groupdict().items())
        elif (found := USED.search(line)) and current:
            current["registers"] = int(found["registers"])
            if shared := SHARED.search(line):
                current["shared"] = int(shared["shared"])
    for kernel in kernels:
        if missing := {"registers", "stack", "spill_stores", "spill_loads"} - kernel.keys():
            raise ValueError(f"ptxas says nothing of {', '.join(sorted(missing))} of {kernel['kernel']}")
    return kernels


def short(names):
    """Mangled names as a reader writes them: no namespaces, no arguments."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [
        re.sub(
            r"\([^()]*\)$",
            "",
            re.sub(r"\w+::", "", re.sub(r"\(anonymous namespace\)::", "", line.removeprefix("void "))),
        )
        for line in text.splitlines()
    ]


def markdown(record):
    lines = [
        f"# Registers and spills of the CUDA kernels, {record['date']}",
        "",
        f"{record['nvcc']}. Made by `tools/bench/cuda_registers.py`. "
        "Shared memory: what the kernel declares, without what the launch adds. Bytes, except registers.",
        "",
        "| file | kernel | architecture | registers | shared memory | stack | spill stores | spill loads |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kernel in record["kernels"]:
        lines.append(
            "| "
            + " | ".join(
                str(kernel[key])
                for key in (
                    "file",
                    "kernel",
                    "architecture",
                    "registers",
                    "shared",
                    "stack",
                    "spill_stores",
                    "spill_loads",
                )
            )
            + " |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument(
        "--record", action="store_true", help="write tools/bench/records/DATE-cuda-registers.md and .json"
    )
    options = parser.parse_args()
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        sys.exit("there is no nvcc on this machine, neither on PATH nor in /usr/local/cuda/bin")
    try:
        kernels = parsed(options.log.read_text())
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    if not kernels:
        sys.exit(f"{options.log}: ptxas says nothing there; build with -DCMAKE_CUDA_FLAGS=-Xptxas=-v, from scratch")
    for kernel, name in zip(kernels, short([kernel["kernel"] for kernel in kernels]), strict=True):
        kernel["kernel"] = name
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    record = {
        "date": datetime.date.today().isoformat(),
        "nvcc": "nvcc " + re.search(r"release [^,]+, V([\d.]+)", version)[1],
        "kernels": sorted(kernels, key=lambda kernel: (kernel["file"], kernel["kernel"], kernel["architecture"])),
    }
    print(markdown(record), end="")
    if options.record:
        stem = ROOT / "tools" / "bench" / "records" / f"{record['date']}-cuda-registers"
        stem.with_suffix(".md").write_text(markdown(record))
        stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
