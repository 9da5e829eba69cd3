# SPDX-License-Identifier: MIT
"""What a record says of the commit and the machine that it was measured on."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def processor_name():
    cpus = pathlib.Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpus.read_text()) if cpus.exists() else None
    return model[1] if model else platform.machine()


def commit_of(checkout=ROOT, otherwise="unknown"):
    """The short hash, with `-dirty` where files differ from it; `otherwise` outside git."""
    found = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(found, capture_output=True, text=True).stdout.strip() or otherwise


def heading():
    """The date, the commit, the processor and the number of processors."""
    return f"{datetime.date.today()}, commit {commit_of()}, {processor_name()}, {os.cpu_count()} processors"
