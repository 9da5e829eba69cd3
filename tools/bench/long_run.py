#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""long_run.py [--minutes M] [--command PATH] [--json FILE]: whether a process that judges for hours grows. Two run side
by side: this one, which calls attest.check() again and again with another seed and in turn another NumPy kernel, right
or wrong; and the command, which calls all cases and regimes of an OpenMP kernel again and again (`--repeat`), with the
process that its kernel runs in. Memory (resident), descriptors and threads are read every ten seconds. Ends with status
1 where any of them has grown from the second quarter of the time to the last: the largest memory by more than 2 % and
4 MiB, or the smallest count beyond the largest. Run it with the Python that has attest installed."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import attest
import numpy as np

EVERY = 10  # seconds between two readings


def softmax(x, *, mask=None):
    x = x if mask is None else np.where(mask, x, -np.inf)
    with np.errstate(all="ignore"):
        p = np.exp(x - x.max(-1, keepdims=True))
        return np.nan_to_num(p / p.sum(-1, keepdims=True))


def softmax_of_base_2(x, *, mask=None):
    return softmax(x * x.dtype.type(0.6931471805599453), mask=mask)


KERNELS = [softmax, softmax_of_base_2]


def reading(process):
    """Resident bytes, descriptors and threads of a process; nothing where it has ended."""
    folder = pathlib.Path("/proc") / str(process)
    try:
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return {
            "memory": int(fields["VmRSS"].split()[0]) << 10,
            "descriptors": len(os.listdir(folder / "fd")),
            "threads": int(fields["Threads"]),
        }
    except (OSError, KeyError):
        return None


def children_of(process):
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(entry.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(entry.parent.name))
        except (OSError, ValueError):
            pass
    return found


def watch(subjects, end, series):
    """Reads all processes until the end; subjects() gives them by name."""
    while time.monotonic() < end:
        for name, process in subjects().items():
            if found := reading(process):
                series.setdefault(name, []).append(found)
        time.sleep(EVERY)


def grown(values, key):
    """What has grown from the second quarter to the last, in words; nothing where nothing has."""
    numbers = [value[key] for value in values]
    quarter = len(numbers) // 4
    before, after = numbers[quarter : 2 * quarter], numbers[-quarter:]
    if key == "memory":
        larger = max(after) > 1.02 * max(before) + (4 << 20)
    else:  # some last for a call only; what is left behind is there in every reading
        larger = min(after) > max(before)
    return f"GROWN: up to {max(before)}, then up to {max(after)}" if larger else ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--command", default="attest", help="the attest command")
    arguments.add_argument("--json", help="write all readings to this file")
    options = arguments.parse_args()
    end = time.monotonic() + 60 * options.minutes
    words = [options.command, "check", "openmp", "--only", "linear.causal", "--strength", "1", "--repeat", "1000000"]
    command = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    series = {}

    def subjects():
        workers = {f"its kernels' process {i}": child for i, child in enumerate(children_of(command.pid))}
        return {"attest.check() in Python": os.getpid(), "attest check": command.pid, **workers}

    watcher = threading.Thread(target=watch, args=(subjects, end, series))
    watcher.start()
    checks = cases = 0
    verdicts = {}
    while time.monotonic() < end:
        kernel = KERNELS[checks % len(KERNELS)]
        report = attest.check(
            "attention.softmax", kernel, seed=checks + 1, conventions={"empty_row": "zero", "lse": False}, strength=1
        )
        verdicts.setdefault(kernel.__name__, set()).add(report.verdict)
        checks += 1
        cases += report.cases["judged"]
    watcher.join()
    running = command.poll() is None
    command.send_signal(signal.SIGINT)
    text = command.communicate(timeout=60)[0].decode()
    print(f"{options.minutes:g} minutes: {checks} checks of {cases} cases in Python, verdicts {verdicts}")
    print("attest check:", text.strip().splitlines()[-1] if text.strip() else "nothing printed")
    bad = not running or verdicts != {"softmax": {"PASS"}, "softmax_of_base_2": {"FAIL"}}
    for name, values in series.items():
        for key in ("memory", "descriptors", "threads"):
            numbers = [value[key] for value in values]
            unit, shown = ("MiB", 1 << 20) if key == "memory" else ("", 1)
            larger = grown(values, key) if len(values) >= 8 else ""
            bad |= bool(larger)
            print(
                f"{name:<28} {key:<12} first {numbers[0] / shown:.1f}, largest {max(numbers) / shown:.1f}, "
                f"last {numbers[-1] / shown:.1f} {unit} {larger}".rstrip()
            )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(series))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
