#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_sass.py FILE... [--before FILE...] [--json FILE]: what the machine code of CUDA kernels spends beside its tensor
instructions.

A FILE is a plugin, or an object of nvcc's, for one architecture. It needs cuobjdump and nvdisasm (of CUDA, or the
packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm), and no GPU.

A kernel's main loop is the longest loop that holds tensor instructions (HMMA, HGMMA). Of it are counted, as the code
stands and not as often as it runs: instructions, tensor instructions, divisions (FCHK, with which one of floats begins,
and I2F.RP, with which one of integers does), calls (of a division of 64-bit integers, too), and accesses to local
memory. A kernel that has no such loop is left out. One line for each kernel function: its variants' median of
instructions per tensor instruction, and their sums of the rest.

With --kept FILE ends with status 1 where a number is larger than in FILE, or a kernel is not in it; with 77, and
without a comparison, where FILE was made by another nvcc or there is no cuobjdump. --keep FILE writes it."""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

FUNCTION = re.compile(r"\s+Function : (\S+)")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,6})\*/\s+(.*?);")
BRANCH = re.compile(r"\bBRA\b.*?(0x[0-9a-f]+)")
TENSOR = ("HMMA", "HGMMA", "IMMA", "QGMMA")


# The packages' programs are not where a shell looks for them; cuobjdump calls nvdisasm.
PACKAGED = [str(folder) for path in sys.path for folder in pathlib.Path(path or ".").glob("nvidia/*/bin")]
PATHS = os.pathsep.join([os.environ.get("PATH", os.defpath), *PACKAGED])


def operation(instruction):
    name, *suffixes = re.sub(r"^@\S+\s+", "", instruction).split()[0].split(".")
    return "DIVIDE" if name == "FCHK" or (name == "I2F" and "RP" in suffixes) else name


def functions(file):
    """Name and [(address, instruction)] of each function."""
    command = [shutil.which("cuobjdump", path=PATHS), "-sass", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PATH": PATHS}) as process:
        name, code = None, []
        for line in process.stdout:
            if found := FUNCTION.match(line):
                if name:
                    yield name, code
                name, code = found[1], []
            elif found := INSTRUCTION.match(line):
                code.append((int(found[1], 16), found[2]))
        if name:
            yield name, code
    if process.returncode:
        sys.exit(f"cuda_sass: cuobjdump ended with status {process.returncode} on {file}")


def main_loop(code):
    """The operations of the longest loop with tensor instructions; none where there is no such loop."""
    best = []
    addresses = [address for address, _ in code]
    operations = [operation(instruction) for _, instruction in code]
    places = {address: place for place, address in enumerate(addresses)}
    tensor_before = [0]
    for one in operations:
        tensor_before.append(tensor_before[-1] + (one in TENSOR))
    for last, (address, instruction) in enumerate(code):
        found = BRANCH.search(instruction)
        if not found or int(found[1], 16) > address:
            continue
        first = places.get(int(found[1], 16))
        if first is None or tensor_before[last + 1] == tensor_before[first] or last + 1 - first <= len(best):
            continue
        best = operations[first : last + 1]
    return best


def counted(file):
    kernels = []
    for name, code in functions(file):
        loop = collections.Counter(main_loop(code))
        if loop:
            tensor = sum(loop[one] for one in TENSOR)
            kernels.append(
                {
                    "kernel": name,
                    "instructions": len(code),
                    "loop": sum(loop.values()),
                    "tensor": tensor,
                    "divisions": loop["DIVIDE"],
                    "calls": loop["CALL"],
                    "local": loop["LDL"] + loop["STL"],
                }
            )
    names = subprocess.run(
        ["c++filt"], input="\n".join(one["kernel"] for one in kernels), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for one, full in zip(kernels, names):
        full = full.replace("(anonymous namespace)::", "").replace("attest::cuda::", "").removeprefix("void ")
        one["kernel"] = full.split("(")[0] if "<" not in full else full[: full.index("<")]
        one["variant"] = full.split("(")[0]
    return kernels


MEASURES = ("variants", "instructions per tensor instruction", "divisions", "calls", "local memory")


def rows_of(files):
    """The measures of each kernel function."""
    groups = collections.defaultdict(list)
    for file in files:
        for one in counted(file):
            groups[one["kernel"]].append(one)
    return {
        name: (
            len(group),
            round(statistics.median(one["loop"] / one["tensor"] for one in group), 2),
            sum(one["divisions"] for one in group),
            sum(one["calls"] for one in group),
            sum(one["local"] for one in group),
        )
        for name, group in sorted(groups.items())
    }


def grown(rows, kept):
    """A sentence for each number that is larger than it was."""
    for name, row in rows.items():
        if name not in kept:
            yield f"{name} is not among the kept kernels"
            continue
        for measure, now, before in list(zip(MEASURES, row, kept[name]))[1:]:
            if now > before:
                yield f"{name}: {measure} {before:g} to {now:g}"
    for name in kept:
        if name not in rows:
            yield f"{name} has no loop with tensor instructions any more, or is not there"


def compiler():
    """The release of nvcc."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", text)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, nargs="+")
    parser.add_argument("--before", type=pathlib.Path, nargs="+", help="what FILE is compared with")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--kept", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    if not all(shutil.which(program, path=PATHS) for program in ("cuobjdump", "nvdisasm")):
        print("cuda_sass: no cuobjdump, or no nvdisasm, on this machine", file=sys.stderr)
        return 77
    tables = [rows_of(files) for files in (options.before, options.file) if files]
    print(f"| kernel | {' | '.join(MEASURES)} |")
    print("| --- |" + " ---: |" * len(MEASURES))
    for name in sorted(set().union(*tables)):
        cells = [table.get(name) for table in tables]
        columns = [
            " to ".join("-" if cell is None else f"{cell[place]:.4g}" for cell in cells)
            for place in range(len(MEASURES))
        ]
        print(f"| {name} | {' | '.join(columns)} |")
    rows = tables[-1]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=0) + "\n")
    if options.keep:
        options.keep.write_text(json.dumps({"nvcc": compiler(), "kernels": rows}, indent=1) + "\n")
    if not options.kept:
        return 0
    kept = json.loads(options.kept.read_text())
    if kept["nvcc"] != compiler():
        print(f"\n{options.kept.name} was made by nvcc {kept['nvcc']}, and this is {compiler()}: nothing is compared")
        return 77
    worse = list(grown(rows, kept["kernels"]))
    print("", *worse, sep="\n")
    if worse:
        print(f"If that has a reason, --keep {options.kept.name} writes what is now.")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
