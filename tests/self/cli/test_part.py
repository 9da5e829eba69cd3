# SPDX-License-Identifier: MIT
"""Parts of a sweep: together they are the whole, and each has something of every equation."""

import collections
import os
import subprocess
import unittest

import support

SWEEP = support.PROJECT / "tests" / "self" / "sweep.sh"


def kernels(*part):
    """The kernels that a check of few cases judged, and the first line that it printed."""
    status, text, report = support.report_of(
        "check", "openmp", "--only", "attention.s*", "--laws", "0", "--strength", "0", "--max-cases", "3", *part
    )
    assert status in (0, 3), text  # three cases prove too little of some
    return [
        (row["equation"], row["form"], row["reading"], row["dtype"], row["layout"]) for row in report["rows"]
    ], text.splitlines()[0]


class Part(unittest.TestCase):
    def test_parts_of_a_check_are_the_whole_and_each_has_every_equation_reading_and_dtype(self):
        def alike(kernel):
            return (kernel[0], kernel[2], kernel[3])

        whole, _ = kernels()
        counts = collections.Counter(map(alike, whole))
        for parts in (2, 5):
            taken = [kernels("--part", f"{k}/{parts}")[0] for k in range(1, parts + 1)]
            self.assertEqual(set(whole), set().union(*taken))
            for part in taken:
                self.assertEqual(set(map(alike, part)), set(counts))
            # Each kernel is in one part; where there are fewer kernels than parts, each part has one.
            self.assertEqual(
                collections.Counter(alike(kernel) for part in taken for kernel in part),
                {key: max(count, parts) for key, count in counts.items()},
            )
        self.assertTrue(any(count < 5 for count in counts.values()) and any(count > 2 for count in counts.values()))

    def test_what_is_left_out_is_counted(self):
        _, first = kernels("--part", "1/2")
        self.assertRegex(
            first, r"^Part 1 of 2: \d+ of \d+ kernels, some of each equation, reading and dtype; \d+ are left out$"
        )
        _, taken, whole, left = (
            int(word) for word in "".join(c if c.isdigit() else " " for c in first.replace("of 2", "")).split()
        )
        self.assertEqual(taken + left, whole)
        self.assertGreater(left, 0)

    def test_parts_of_the_mutation_score_are_precisions(self):
        judged = []
        for k in (1, 2, 3):
            status, text, report = support.report_of(
                "mutants", "--only", "attention.softmax.base2", "--seeds", "0", "--part", f"{k}/3"
            )
            self.assertIn(f"Part {k} of 3: ", text)
            judged.append({mutant["profile"] for mutant in report["mutants"]})
        self.assertEqual(set().union(*judged), {"f32", "f64", "bf16", "f16"})
        self.assertTrue(all(judged) and sum(map(len, judged)) == 4)

    def test_a_sweep_takes_its_part_from_the_environment(self):
        for part, words in (("", "echo"), ("2/3", "echo --part 2/3")):
            done = subprocess.run(
                [SWEEP, "echo", "echo"],
                env={**os.environ, "ATTEST_PART": part},
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(done.stdout.strip(), words)

    def test_what_is_no_part_is_wrong_usage(self):
        for text in ("3", "0/3", "4/3", "1/0", "a/b", "1/2/3"):
            for command in (("check", "openmp"), ("mutants",)):
                status, out, errors = support.run(*command, "--part", text)
                self.assertEqual((status, out), (2, ""), text)
                self.assertIn("must be K/N", errors)


if __name__ == "__main__":
    unittest.main()
