# SPDX-License-Identifier: MIT
"""Our own kernels of several MPI ranks pass on 1, 2, 3 and 5; a stranger's passes too."""

import tempfile
import unittest

from ranks import LINEAR, MEMORY, SEGMENTS, SOFTMAX, check, stranger


EQUATIONS = [LINEAR, SOFTMAX, LINEAR + "_backward", SOFTMAX + "_backward", *MEMORY, SEGMENTS]


class OwnKernels(unittest.TestCase):
    def test_pass_on_any_number_of_ranks(self):
        for ranks in (1, 2, 3, 5):
            with self.subTest(ranks=ranks):
                status, text, report = check("mpi", "--ranks", str(ranks))
                self.assertEqual(status, 0, text)
                self.assertEqual(
                    {(row["equation"], row["dtype"]) for row in report["rows"]},
                    {(equation, dtype) for equation in EQUATIONS for dtype in ("f32", "f64")},
                )
                for row in report["rows"]:
                    self.assertIn(f"ranks = {ranks}", row["reach"]["never_varied"])
                    self.assertEqual("ranks = 1" in row["restricted"], ranks == 1)


class WithoutMpi(unittest.TestCase):
    def test_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            status, text, _ = check(stranger(), env={"PATH": empty})
        self.assertEqual(status, 2, text)
        self.assertIn("there is no 'mpiexec' in PATH", text)


if __name__ == "__main__":
    unittest.main()
