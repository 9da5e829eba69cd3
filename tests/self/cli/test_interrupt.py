# SPDX-License-Identifier: MIT
"""Ctrl-C, as a terminal sends it to the command and all that it started: the report so far, or an end at once."""

import json
import os
import signal
import subprocess
import time
import unittest

import support

ENDLESS = ["openmp", "--only", "linear.causal", "--strength", "1", "--repeat", "1000000"]


class Interrupted(unittest.TestCase):
    def start(self, *words):
        child = subprocess.Popen(
            [support.CLI, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(child.kill)
        end = time.monotonic() + 60
        while not support.workers_of(child.pid):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        time.sleep(1)  # in the middle of its calls
        return child

    def interrupt(self, child):
        os.killpg(child.pid, signal.SIGINT)

    def test_check_reports_what_was_found(self):
        report = support.fresh_folder("interrupt") / "report.json"
        child = self.start("check", *ENDLESS, "--json", report)
        self.interrupt(child)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertIn("attest: interrupted", err)
        self.assertIn("Verdict: INVALID", out)
        found = json.loads(report.read_text())
        self.assertEqual(found["status"], "INVALID")
        for row in found["rows"]:
            self.assertEqual((row["ended_by"], row["status"]), ("interrupt", "INVALID"))
            self.assertGreater(row["not_run"], 0)
            self.assertEqual({failure["status"] for failure in row["failures"]}, {"INVALID"})  # no kernel crashed
        self.assertGreater(sum(row["cases"]["passed"] for row in found["rows"]), 0)

    def test_diagnose_reports_what_was_found(self):
        child = self.start("diagnose", *ENDLESS)
        self.interrupt(child)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertIn("interrupted; ", out)

    def test_a_second_one_ends_it_at_once(self):
        report = support.fresh_folder("interrupt") / "report.json"
        child = self.start("check", "openmp", "--json", report)
        self.interrupt(child)
        time.sleep(0.01)
        self.interrupt(child)
        child.communicate(timeout=10)
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertFalse(report.exists())

    def test_with_a_journal_the_first_one_does(self):
        journal = support.fresh_folder("interrupt") / "journal"
        child = self.start("check", *ENDLESS, "--journal", journal)
        self.interrupt(child)
        child.communicate(timeout=10)
        self.assertEqual(child.returncode, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
