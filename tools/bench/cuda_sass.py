#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_sass.py FILE [FILE] [--json FILE]: what the machine code of CUDA kernels spends beside its tensor instructions.

FILE is a plugin, or an object of nvcc's, for one architecture; of two, the second is compared with the first. It needs
cuobjdump and nvdisasm (of CUDA, or the packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm), and no GPU.

A kernel's main loop is the longest loop that holds tensor instructions (HMMA, HGMMA). Of it are counted, as the code
stands and not as often as it runs: instructions, tensor instructions, divisions (I2F, with which one of integers
begins, and calls), and accesses to local memory. A kernel that has no such loop is left out. One line for each kernel
function: its variants' median of instructions per tensor instruction, and their sums of the rest."""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys

FUNCTION = re.compile(r"\s+Function : (\S+)")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,6})\*/\s+(.*?);")
BRANCH = re.compile(r"\bBRA\b.*?(0x[0-9a-f]+)")
TENSOR = ("HMMA", "HGMMA", "IMMA", "QGMMA")


def operation(instruction):
    return re.sub(r"^@\S+\s+", "", instruction).split()[0].split(".")[0]


def functions(file):
    """Name and [(address, instruction)] of each function."""
    with subprocess.Popen(["cuobjdump", "-sass", str(file)], stdout=subprocess.PIPE, text=True) as process:
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
                    "divisions": loop["I2F"] + loop["CALL"],
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


def rows_of(kernels):
    groups = collections.defaultdict(list)
    for one in kernels:
        groups[one["kernel"]].append(one)
    return {
        name: (
            len(group),
            statistics.median(one["loop"] / one["tensor"] for one in group),
            sum(one["divisions"] for one in group),
            sum(one["local"] for one in group),
        )
        for name, group in sorted(groups.items())
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, nargs="+")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if len(options.file) > 2:
        parser.error("expected one file or two")
    found = [counted(file) for file in options.file]
    tables = [rows_of(kernels) for kernels in found]
    print("| kernel | variants | instructions per tensor instruction | divisions | local memory |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in sorted(set().union(*tables)):
        cells = [table.get(name) for table in tables]
        columns = [" to ".join("-" if cell is None else f"{cell[place]:.4g}" for cell in cells) for place in range(4)]
        print(f"| {name} | {' | '.join(columns)} |")
    if options.json:
        options.json.write_text(json.dumps(dict(zip(map(str, options.file), found)), indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
