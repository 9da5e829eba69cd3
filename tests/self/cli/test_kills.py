# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 1
"""SIGKILL before each call that changes files, and at moments drawn by a seed: every file is the old one or the new
one, no process of a kernel stays, and the next run gives the right bytes.

ATTEST_KILLS is how many moments are drawn for each command."""

import os
import random
import sys
import time
import unittest

import failing
import support

KILLS = int(os.environ.get("ATTEST_KILLS", "20"))
CHANGES = ("open_to_write", "write", "fsync", "close", "rename", "mkdir")


class Kills(unittest.TestCase):
    def survives(self, name, command):
        folder = command.fresh(name)
        begin = time.monotonic()
        good = command.run(folder)
        took = time.monotonic() - begin
        self.assertEqual(good.status, 0, good)
        good_files = failing.contents(folder)

        def is_whole_after(kill, *where):
            folder = command.fresh(name)
            with self.subTest(name, where=where):
                kill(folder)
                for file, data in failing.contents(folder).items():
                    if not failing.TEMPORARY.search(file):
                        allowed = [good_files.get(file), *([b"old"] if file in command.old else [])]
                        self.assertIn(data, allowed, f"{file} is neither old nor new")
                again = command.run(folder)
                self.assertEqual((again.status, again.out), (0, good.out), again)
                files = {file: data for file, data in failing.contents(folder).items() if file in good_files}
                self.assertEqual(files, good_files)

        if not failing.sanitized():
            shim = failing.compile_shim()
            calls = command.run(command.fresh(name), shim).calls
            most = [(function, number) for function in CHANGES for number in range(1, calls[function] + 1)]
            sites = most if KILLS > 20 else [site for site in most if site[1] <= 3 or site[1] == calls[site[0]]]
            for function, number in sites:
                is_whole_after(
                    lambda folder: command.run(folder, shim, function, number, failing.KILL), function, number
                )
            print(f"{name}: killed before {len(sites)} of {len(most)} calls that change files", file=sys.stderr)

        ended = 0
        pick = random.Random(1)
        for index in range(KILLS):
            moment = pick.uniform(0, took)

            def kill(folder):
                nonlocal ended
                with command.start(folder) as process:
                    time.sleep(moment)
                    ended += process.poll() is not None
                    process.kill()
                    process.communicate()
                end = time.monotonic() + 10
                while (left := support.workers_of(process.pid)) and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertEqual(left, [], "a process of the kernel lives on")

            is_whole_after(kill, "moment", index)
        print(f"{name}: killed at {KILLS - ended} of {KILLS} moments, else it had ended", file=sys.stderr)

    def test_golden_regenerate(self):
        files = [f"golden/positional/learned.{suffix}" for suffix in ("safetensors", "manifest.toml")]
        arguments = ("golden", "regenerate", "--only", failing.EQUATION, "--into", "golden")
        self.survives("regenerate", failing.Command(*arguments, old=files))

    def test_check_with_a_cache(self):
        check = ("check", support.compile_plugin("learned.c"), "--max-cases", 6, "--laws", 1, "--strength", 1)
        command = failing.Command(*check, "--json", "report.json", old=["report.json"], cache=True)
        self.survives("cache", command)


if __name__ == "__main__":
    unittest.main()
