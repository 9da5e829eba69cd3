#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kept.py [--build DIR] [--record FILE] [CHECK ARGUMENTS]: seconds of `attest check` with an empty folder of true
values, and of the same check again. The arguments are those of `attest check` (openmp). The build folder
(build/release) must be up to date; nothing else should run."""

import argparse
import pathlib
import tempfile

from machine import heading, processor_seconds

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--record", type=pathlib.Path, help="write the table to this file as well")
    options, arguments = parser.parse_known_args()
    arguments = arguments or ["openmp"]
    command = [str(options.build.resolve() / "tools" / "attest-cli"), "check", *arguments]
    with tempfile.TemporaryDirectory(prefix="attest-kept-") as name:
        folder = pathlib.Path(name)
        # 1: some kernel is wrong, which takes its time, too
        first, again = (processor_seconds(command, statuses=(0, 1), ATTEST_CACHE=name) for _ in range(2))
        files = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    lines = [
        f"{heading()}: attest check {' '.join(arguments)}",
        "",
        "| run | seconds | of processors |",
        "| --- | ---: | ---: |",
        f"| nothing kept | {first[1]:.0f} | {first[0]:.0f} |",
        f"| again | {again[1]:.0f} | {again[0]:.0f} |",
        "",
        f"{len(files)} files of {sum(files) / 2**20:.0f} MiB; the same report: {first[2] == again[2]}",
        "",
        *first[2].splitlines()[-8:],
    ]
    print("\n".join(lines))
    if options.record:
        options.record.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
