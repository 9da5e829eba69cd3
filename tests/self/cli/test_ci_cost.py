# SPDX-License-Identifier: MIT
"""tools/bench/ci_cost.py: the cost of a test run, from the record of ctest."""

import subprocess
import sys
import unittest

import support

PROGRAM = support.PROJECT / "tools" / "bench" / "ci_cost.py"
RECORD = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="all" tests="4">
<testcase name="check/a" classname="check/a" time="68.0" status="run"><system-out>
Part 2 of 3: 4 of 12 kernels; 8 are left out

Verdict: PASS</system-out></testcase>
<testcase name="b" classname="b" time="0.25" status="notrun"><skipped
  message="SKIP_RETURN_CODE=77"/><system-out></system-out></testcase>
<testcase name="check/c" classname="check/c" time="34.0" status="fail"><system-out>Part of it</system-out></testcase>
<testcase name="d" classname="d" time="0.125" status="run"/>
</testsuite>
"""
LOG = (
    "# ninja log v5\n"
    "0\t1000\t1\tx/linear.causal.cpp.o\taa\n"
    "0\t500\t1\tx/a.hpp\tbb\n"
    "0\t500\t1\tx/b.hpp\tbb\n"
    "0\t250\t1\tx/linear.causal.cpp.o\tcc\n"
    "0\t250\t1\tx/cuda/linear/causal.cu.o\tdd\n"
    "0\t125\t1\tx/reference.dir/Unity/unity_1_cxx.cxx.o\tee\n"
)


class Cost(unittest.TestCase):
    def of(self, *more, record=RECORD):
        folder = support.fresh_folder("cost")
        (folder / "tests.xml").write_text(record)
        (folder / "ninja_log").write_text(LOG)
        done = subprocess.run(
            [sys.executable, PROGRAM, folder / "tests.xml", "--ninja-log", folder / "ninja_log", *more],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def test_slowest_groups_and_what_was_left_out(self):
        status, text = self.of("--slowest", "3", "--build-seconds", "7")
        self.assertEqual(status, 0, text)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        start = lines.index("The slowest of 4 tests") + 2
        self.assertEqual(lines[start : start + 4], ["68.0 check/a", "34.0 check/c (fail)", "0.2 b (skipped)", ""])
        equations = len(list((support.PROJECT / "specs").glob("*/*.toml")))
        self.assertIn(f"102.0 {102 / equations:.2f} check", lines)
        self.assertIn(f"0.6 {0.625 / equations:.2f} compiling what belongs to equations", lines)
        self.assertIn(
            f"1.1 {1.125 / equations:.2f} compiling", lines
        )  # a command that writes two files, and the last of two compilations
        self.assertIn("check/a: Part 2 of 3: 4 of 12 kernels; 8 are left out", lines)

    def test_a_whole_run_says_so_and_no_record_is_an_error(self):
        self.assertIn(
            "None of these tests left a part of itself out", self.of(record=RECORD.replace("left out", "kept"))[1]
        )
        self.assertEqual(self.of(record="<testsuite></testsuite>"), (0, ""))
        status, text = self.of(record="<testsuite>")
        self.assertEqual(status, 1)
        self.assertNotIn("Traceback", text)


if __name__ == "__main__":
    unittest.main()
