# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 2
"""System calls and allocations that fail, one at a time: the command ends by itself, says what failed, leaves whole
files, and never reports success with anything missing.

ATTEST_FAILING_CALLS is the most calls of one function that are made to fail in one command; 0: all of them."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import failing
import support

MOST = int(os.environ.get("ATTEST_FAILING_CALLS", "5"))
# No failures: what the call did not do is done by the next one.
SURVIVED = {function: (errno.EINTR, failing.SHORT) for function in ("read", "write", "send", "recv")}
# What a report says of a kernel whose process or file the system took away.
TOLD = re.compile(r"cannot (open|read) |cannot get the size|closed its connection|ended the process")


def chosen(count, most):
    """Which of `count` calls fail: all, or some that lie evenly, the first and the last among them."""
    if most == 0 or count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / max(most - 1, 1)) for i in range(most)})


def is_whole(name, data):
    """Whether this is a whole report of a kernel that does not pass."""
    try:
        if name.endswith(".json"):
            return json.loads(data)["status"] != "PASS"
        return name.endswith(".html") and data.rstrip().endswith(b"</html>")
    except ValueError:
        return False


def complaints(command, good, good_files, end, files, function, is_survived):
    """What is wrong with the end of a command in which a call failed."""
    if end.status is None:
        yield "it did not end"
        return
    if end.status < 0:
        yield f"it died of signal {-end.status}"
    elif end.status > 3:
        yield f"its exit status is {end.status}"
    if end.status == 0 and end.out != good.out:
        yield "it succeeds with another output"
    if end.status > 0 and not end.err.strip() and end.out in ("", good.out):
        yield "it does not say what failed"
    # The bytes are right all the same, until the machine loses power: nothing but the status tells.
    if function == "fsync" and end.status == 0:
        yield "it ignores that a file may not be on the disk"
    if is_survived and end.status != 0:
        yield "it does not go on"
    if "Verdict: PASS" in end.out and end.out != good.out:
        yield "it reports PASS with something missing"
    # A file that cannot be read may be the kernel's, and a connection that is lost is: the report says so.
    text = " ".join(end.out.split())  # lines are wrapped
    if "Verdict: FAIL" in text and not TOLD.search(text):
        yield "a right kernel fails, and nothing says what was refused"
    for name, data in files.items():
        if failing.TEMPORARY.search(name):
            yield f"{name} is left behind"
        elif name.startswith("cache/"):
            # After a crash more batches are judged, and kept.
            if data != good_files.get(name, data) or not data.startswith(b"attest cache 2\n"):
                yield f"{name} is not whole"
        elif name.startswith("journal/"):
            # It holds seconds; and where it was cut is where the next run begins.
            if name in good_files and not good_files[name].startswith(data.split(b"\n")[0]):
                yield f"{name} is not whole"
        elif data != good_files[name] and not (name in command.old and data == b"old"):
            if end.status == 0 or not is_whole(name, data):
                yield f"{name} is neither old nor new"
    if end.status == 0:
        for name, data in good_files.items():
            if not name.startswith(("cache/", "journal/")) and files.get(name) != data:
                yield f"it succeeds, and {name} is missing or old"


@unittest.skipIf(failing.sanitized(), "the runtime of the sanitizer must be the first library")
class FailingCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shim = failing.compile_shim()
        cls.check = ("check", support.compile_plugin("learned.c"), "--max-cases", 6, "--laws", 1, "--strength", 1)

    @staticmethod
    def lasting(files):
        """Those that each run writes with the same bytes: a journal holds seconds."""
        return {name: data for name, data in files.items() if not name.startswith("journal/")}

    def each_call(self, name, command, worker=False):
        folder = command.fresh(name)
        good = command.run(folder)
        self.assertEqual(good.status, 0, good)
        good_files = failing.contents(folder)
        folder = command.fresh(name)
        counted = command.run(folder, self.shim, worker=worker)
        self.assertEqual((counted.status, counted.out), (0, good.out))
        self.assertEqual(self.lasting(failing.contents(folder)), self.lasting(good_files))
        sites = [
            (function, number, how)
            for function, error in failing.FUNCTIONS.items()
            for how in (error, *SURVIVED.get(function, ()))
            for number in chosen(counted.calls[function], MOST)
        ]

        def one(site):
            function, number, how = site
            folder = command.fresh(name)
            end = command.run(folder, self.shim, function, number, how, worker)
            survived = how in SURVIVED.get(function, ())
            said = list(complaints(command, good, good_files, end, failing.contents(folder), function, survived))
            shutil.rmtree(folder.parent)
            return site, end, said

        begin = time.monotonic()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ends = list(pool.map(one, sites))
        calls = [
            f"{function} {len(chosen(count, MOST))} of {count}" for function, count in counted.calls.items() if count
        ]
        statuses = [str(end.status) for _, end, _ in ends]
        print(
            f"{name}: {len(ends)} runs, in {sum(end.injected > 0 for _, end, _ in ends)} a call failed; exit statuses",
            ", ".join(f"{status} ({statuses.count(status)})" for status in sorted(set(statuses))) + ";",
            f"{time.monotonic() - begin:.1f} s; calls that failed, the others are left out: {', '.join(calls)}",
            file=sys.stderr,
        )
        for (function, number, how), end, said in ends:
            with self.subTest(command=name, function=function, call=number, how=how):
                self.assertEqual(said, [], end)

    def test_golden_regenerate(self):
        files = [f"golden/positional/learned.{suffix}" for suffix in ("safetensors", "manifest.toml")]
        arguments = ("golden", "regenerate", "--only", failing.EQUATION, "--into", "golden")
        self.each_call("regenerate", failing.Command(*arguments, old=files))

    def test_golden_regenerate_with_a_journal(self):
        arguments = ("golden", "regenerate", "--only", failing.EQUATION, "--into", "golden", "--journal", "journal")
        self.each_call("journal", failing.Command(*arguments))

    def test_golden_verify(self):
        self.each_call("verify", failing.Command("golden", "verify", "--only", failing.EQUATION))

    def test_check(self):
        files = ["report.json", "report.html"]
        self.each_call("check", failing.Command(*self.check, "--json", files[0], "--html", files[1], old=files))

    def test_check_with_a_cache(self):
        self.each_call("cache", failing.Command(*self.check, "--json", "report.json", cache=True))

    def test_process_of_the_kernel(self):
        self.each_call("worker", failing.Command(*self.check, "--json", "report.json"), worker=True)

    def test_emit_and_judge(self):
        emit = failing.Command("emit", failing.EQUATION, "--to", "cases")
        self.each_call("emit", emit)
        folder = emit.fresh("emitted")
        self.assertEqual(emit.run(folder).status, 0)
        failing.answer(folder / "cases")
        self.each_call("judge", failing.Command("judge", "cases", "--json", "report.json", before=folder))


class FullOutput(unittest.TestCase):
    """Standard output on a full disk."""

    def test_is_no_success(self):
        for arguments in (
            ("list",),
            ("show", failing.EQUATION),
            ("golden", "verify", "--only", failing.EQUATION),
            ("show", "--profile", "all"),
        ):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = subprocess.run([support.CLI, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    unittest.main()
