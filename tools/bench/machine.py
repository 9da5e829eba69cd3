# SPDX-License-Identifier: MIT
"""What programs that measure share: seconds of a command, and what a record says of the commit and the machine."""

import datetime
import os
import pathlib
import platform
import re
import resource
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def processor_seconds(command, cwd=None, statuses=(0,), **variables):
    """(seconds of processors, seconds by the clock, output) of a command that uses no compiler cache,
    with these variables in its environment. Exits with its message where it ends with another status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    environment = os.environ | {"CCACHE_DISABLE": "1"} | variables
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    if done.returncode not in statuses:
        sys.exit(f"{shlex.join(map(str, command))} ended with status {done.returncode}:\n{done.stderr or done.stdout}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start, done.stdout


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
