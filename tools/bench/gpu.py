#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu.py [--attest PATH] [--into DIR] [--seconds N] [STEP...]: what a GPU is to show of the CUDA kernels.

It needs Python, the driver and a portable folder (tools/portable), in which it lies too: PATH is the command there, or
another one with the programs of the steps beside it. Each step ends in under N seconds (540): what is left then is
interrupted, and says what it had found. What a step printed is in DIR/STEP.txt, its report in DIR/STEP.json;
DIR/gpu.json has device, commands, exit statuses and seconds. A step whose program is not on the machine counts as
`absent`.

Steps, all of them in this order unless some are named:
  launch      three golden cases per kernel: whether each loads, launches and is right there
  products    matrix products of the tensor cores, bit by bit beside the emulation's model of their sums
  attention_sizes, linear_sizes
              softmax and linear attention at every length and width around their tiles
  golden      all golden cases and laws
  regimes     every pair of conditions; another call with the same DIR goes on where this one was interrupted
  real        the sizes at which kernels are shipped
  memcheck, racecheck, synccheck, initcheck
              compute-sanitizer over those of `launch`
  bench       times, beside those of PyTorch, cuDNN, FlashAttention and flash-linear-attention, where they are installed

Exit status: 0; 1 where a step failed or was interrupted; 2 wrong usage."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def checked(*words):
    return lambda attest, into, step: [attest, "check", "cuda", *words, "--json", str(into / f"{step}.json")]


def regimes(attest, into, step):
    journal = into / "journal"
    kept = ["--resume" if journal.is_dir() and any(journal.iterdir()) else "--journal", str(journal)]
    return checked(*kept)(attest, into, step)


def program(*words):
    """A program beside the command, with the libraries of its folder."""

    def command(attest, into, step):
        folder = pathlib.Path(attest).resolve().parent
        if (folder / "attest.tar.gz").is_file():  # a portable folder: its first call unpacks it
            subprocess.run([attest, "--version"], check=True, capture_output=True)
            folder = max(folder.glob("unpacked-*"), key=lambda one: one.stat().st_mtime) / "bin"
        plugins = pathlib.Path(os.environ.get("ATTEST_PLUGIN_DIR", folder.parent))
        plugin = next(plugins.rglob("libattest_cuda.so"), plugins / "libattest_cuda.so")
        libraries = ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), str(plugin.parent)]))
        environment = [f"LD_LIBRARY_PATH={libraries}", f"ATTEST_CUDA_PLUGIN={plugin}"]
        return ["env", *environment, str(folder / words[0]), *words[1:]]

    return command


def sanitized(attest, into, step):
    return [
        *("compute-sanitizer", "--tool", step, "--target-processes", "all", "--error-exitcode", "9"),
        *("--print-limit", "40", attest, "check", "cuda", "--strength", "0", "--laws", "0", "--max-cases", "3"),
        *("--time-limit", "300", "--json", str(into / f"{step}.json")),
    ]


STEPS = {
    "launch": checked("--strength", "0", "--laws", "0", "--max-cases", "3"),
    "products": program("tensor_core_sums"),
    "attention_sizes": program("attention_sizes", "--gtest_brief=1"),
    "linear_sizes": program("linear_sizes", "--gtest_brief=1"),
    "golden": checked("--strength", "0"),
    "regimes": regimes,
    "real": checked("--sizes", "real", "--strength", "0", "--laws", "0"),
    **dict.fromkeys(("memcheck", "racecheck", "synccheck", "initcheck"), sanitized),
    "bench": lambda attest, into, step: [attest, "bench", "cuda", "--json", str(into / f"{step}.json")],
}


def said_by(line, **options):
    try:
        return subprocess.run(line, capture_output=True, text=True, timeout=60, **options).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: {error}"


def device():
    fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit"
    return said_by(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"])


def run(step, command, into, seconds):
    """Runs a step; what it says goes to its file and, its last lines, to standard output."""
    begin = time.monotonic()
    log = into / f"{step}.txt"
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        try:
            status, ended = process.wait(seconds), "finished"
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                status, ended = process.wait(30), "interrupted"
            except subprocess.TimeoutExpired:
                process.kill()
                status, ended = process.wait(), "killed"
    lines = log.read_text(errors="replace").splitlines()
    for line in lines[-12:]:
        print(f"  {line[:200]}")
    return {"command": command, "status": status, "ended": ended, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attest", default=str(HERE / "attest"), help="the command (beside this file)")
    parser.add_argument("--into", type=pathlib.Path, default=pathlib.Path("gpu"), help="folder of the records")
    parser.add_argument("--seconds", type=float, default=540, help="of a step")
    parser.add_argument("step", nargs="*", choices=[[], *STEPS], metavar="STEP")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    # ATTEST_COMMIT: of what runs there, where the folder has no history.
    commit = os.environ.get("ATTEST_COMMIT") or said_by(["git", "rev-parse", "HEAD"], cwd=HERE)
    record = {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "device": device(),
        "processors": os.cpu_count(),
        "steps": {},
    }
    print(record["device"])
    for step in options.step or STEPS:
        command = STEPS[step](options.attest, options.into, step)
        print(f"{step}: {' '.join(command)}", flush=True)
        if not shutil.which(next(word for word in command if word != "env" and "=" not in word)):
            record["steps"][step] = {"ended": "absent", "command": command}
        else:
            record["steps"][step] = run(step, command, options.into, options.seconds)
        found = record["steps"][step]
        print(f"{step}: {found['ended']}, status {found.get('status')}, {found.get('seconds', 0)} s", flush=True)
        new = options.into / "gpu.json.new"
        new.write_text(json.dumps(record, indent=1) + "\n")
        new.rename(options.into / "gpu.json")
    done = record["steps"].values()
    return 0 if all(x["ended"] == "absent" or (x["ended"] == "finished" and x["status"] == 0) for x in done) else 1


if __name__ == "__main__":
    sys.exit(main())
