# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 3
"""Each fault of a stranger's kernel of several MPI ranks is rejected for what it is."""

import time
import unittest

import support
from ranks import LINEAR, SOFTMAX, check, stranger


class Strangers(unittest.TestCase):
    def test_correct_one_passes(self):
        status, text, _ = check(stranger())
        self.assertEqual(status, 0, text)

    def test_faults_are_rejected_and_the_report_says_whether_they_come_of_dividing(self):
        divided, everywhere = "only where tokens are divided over ranks", "also where one rank has all tokens"
        for fault, equation, where in (
            ("STATE_NOT_PASSED", LINEAR, divided),
            ("STATE_PASSED_TWICE", LINEAR, divided),
            ("OWN_PART_COUNTED_TWICE", LINEAR, everywhere),
            ("REMAINDER_LOST", LINEAR, divided),
            ("CAUSAL_OFFSET_FORGOTTEN", SOFTMAX, divided),
            ("MERGED_WITHOUT_RESCALING", SOFTMAX, divided),
        ):
            with self.subTest(fault):
                plugin = stranger(fault)
                status, text, report = check(plugin, "--only", equation, "--max-cases", "30")
                self.assertEqual(status, 1, text)
                (row,) = report["rows"]
                self.assertIn(where, row["diagnosis"]["where"], text)
                other = SOFTMAX if equation == LINEAR else LINEAR
                status, text, _ = check(plugin, "--only", other, "--strength", "0", "--laws", "0", "--max-cases", "4")
                self.assertEqual(status, 0, text)

    def test_tokens_are_divided_in_every_way(self):
        for way in ("EQUAL", "UNEQUAL", "EMPTY"):
            with self.subTest(way):
                status, text, report = check(stranger(f"DECLINES_{way}"), "--only", LINEAR, "--strength", "0")
                self.assertEqual(status, 1, text)
                (row,) = report["rows"]
                refused = [failure for failure in row["failures"] if failure["tier"] == "refusal"]
                self.assertEqual(refused, row["failures"])
                self.assertGreater(len(refused), row["cases"]["judged"] // 20)
                self.assertLess(len(refused), row["cases"]["judged"])
        # Two pieces a rank are for those who say so.
        status, text, _ = check(stranger("DECLINES_ZIGZAG"), "--only", LINEAR, "--strength", "0")
        self.assertEqual(status, 0, text)
        zigzag = stranger("DECLINES_ZIGZAG", 'RANKS="ranks >= 1; zigzag == true"')
        status, text, report = check(zigzag, "--only", LINEAR, "--strength", "0")
        self.assertEqual(status, 1, text)
        self.assertIn("refusal", {failure["tier"] for failure in report["rows"][0]["failures"]})

    def test_what_has_no_tokens_is_due_on_every_rank(self):
        status, text, report = check(stranger("STATE_ON_THE_LAST_RANK_ALONE"), "--only", LINEAR, "--strength", "0")
        self.assertEqual(status, 1, text)
        self.assertIn("output 'S' is not the same on rank 1 as on rank 0", support.messages_of(report)[0])

    def test_rank_that_dies_is_named(self):
        status, text, report = check(stranger("DIES_ON_RANK_1"), "--only", LINEAR)
        self.assertEqual(status, 3, text)
        self.assertEqual(
            support.messages_of(report)[0], "rank 1: the kernel died of SIGABRT (Aborted): abort() was called"
        )

    def test_rank_that_hangs_ends_the_call_and_leaves_nothing_behind(self):
        folder = support.fresh_folder()
        began = time.monotonic()
        status, text, report = check(
            stranger("HANGS_ON_RANK_1"), "--only", LINEAR, "--time-limit", "1", env={"TMPDIR": str(folder)}
        )
        self.assertEqual(status, 3, text)
        self.assertRegex(support.messages_of(report)[0], "^rank [012]: the kernel did not return within ")
        self.assertLess(time.monotonic() - began, 120)
        self.assertEqual(list(folder.iterdir()), [])

    def test_number_of_ranks_that_a_kernel_does_not_run_on_is_invalid(self):
        status, text, _ = check(stranger('RANKS="ranks in {1, 2}"'), "--ranks", "3")
        self.assertEqual(status, 3, text)
        self.assertIn("it says 'ranks in {1, 2}", text)
        self.assertIn("and there are 3 ranks", text)


if __name__ == "__main__":
    unittest.main()
