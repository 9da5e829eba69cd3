# SPDX-License-Identifier: MIT
"""Coverage of all operations: each that has a spec is complete, and specs/coverage.md shows what is printed here."""

import json
import os
import pathlib
import unittest

import support

BUILD = pathlib.Path(os.environ["ATTEST_BUILD_DIR"])
SPECS = sorted(f"{path.parent.name}.{path.stem}" for path in (support.PROJECT / "specs").glob("*/*.toml"))


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = support.fresh_folder("coverage") / "coverage.json"
        reports = {
            backend: BUILD / f"check_{candidate}.json"
            for backend, candidate in (("openmp", "openmp"), ("cuda", "cuda_emulated"))
        }
        kernels = [word for backend, report in reports.items() for word in ("--kernels", f"{backend}={report}")]
        cls.status, cls.text, cls.errors = support.run("coverage", *kernels, "--json", path, timeout=1800)
        cls.operations = json.loads(path.read_text())["operations"]
        record = BUILD / "records" / "coverage.txt"  # what specs/coverage.md shows: tools/docs
        record.parent.mkdir(exist_ok=True)
        record.write_text(f"attest coverage\n{cls.text}")

    def test_exit_status_and_every_operation_has_a_row(self):
        self.assertEqual(self.status, 0, self.errors)
        self.assertEqual(len(self.operations), 100)
        for operation in self.operations:
            self.assertIn(f"\n{operation} ", self.text)

    def test_every_operation_with_a_spec_is_complete(self):
        for id in SPECS:
            row = self.operations[id]
            with self.subTest(id):
                self.assertEqual(row["status"], "complete", row["open"])
                self.assertEqual(row["declared"], [])  # the build has all unit tests
                self.assertEqual(row["openmp"], ["f32", "f64"])
                self.assertTrue(row["gradient"])
                self.assertGreater(row["golden"], 10)
        for id in self.operations.keys() - SPECS:
            self.assertEqual(self.operations[id]["status"], "planned")

    def test_at_most_one_in_twenty_laws_and_faults_is_left_out(self):
        for kind in ("laws", "faults"):
            stand, listed = map(
                sum, zip(*(row[kind] for row in self.operations.values() if row["status"] == "complete"))
            )
            self.assertGreaterEqual(20 * stand, 19 * listed, f"{stand} of {listed} {kind}")


class Reports(unittest.TestCase):
    def kernels(self, *reports):
        path = support.fresh_folder("coverage") / "coverage.json"
        status, _, errors = support.run("coverage", "--only", "linear.feature_map", *reports, "--json", path)
        self.assertEqual(status, 0, errors)
        return json.loads(path.read_text())["operations"]["linear.feature_map"]

    def test_a_report_stands_for_the_kernels_and_one_that_fails_does_not_count(self):
        report = support.fresh_folder("coverage") / "report.json"
        status, _, errors = support.run(
            "check", "openmp", "--only", "linear.feature_map", "--strength", "0", "--json", report
        )
        self.assertEqual(status, 0, errors)
        run, told = self.kernels(), self.kernels("--kernels", f"openmp={report}")
        self.assertEqual(told, run)
        rows = json.loads(report.read_text())
        next(row for row in rows["rows"] if row["dtype"] == "f64")["status"] = "FAIL"
        report.write_text(json.dumps(rows))
        failing = self.kernels("--kernels", f"openmp={report}")
        self.assertEqual((run["openmp"], failing["openmp"]), (["f32", "f64"], ["f32"]))
        report.write_text('{"rows": []}')
        self.assertEqual(self.kernels("--kernels", f"openmp={report}")["openmp"], [])

    def test_what_is_no_report_is_said(self):
        path = support.fresh_folder("coverage") / "report.json"
        for text in ("", "[]", '{"rows": [1]}', '{"rows": [{"equation": "a", "dtype": 3, "status": "PASS"}]}'):
            path.write_text(text)
            status, out, errors = support.run("coverage", "--kernels", f"openmp={path}")
            self.assertEqual((status, out), (2, ""))
            self.assertIn("is no report of `attest check --json`", errors)
        for word in ("openmp", "openmp=", f"triton={path}"):
            status, out, errors = support.run("coverage", "--kernels", word)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("backends: openmp, cuda", errors)


class Lists(unittest.TestCase):
    def test_errata_and_claims(self):
        for flag, labels in (("--errata", ("printed", "right")), ("--claims", ("claim",))):
            status, out, errors = support.run("show", flag)
            self.assertEqual(status, 0, errors)
            for label in labels:
                self.assertIn(f"\n  {label} ", out)
            self.assertRegex(out, r"\n\d+ listed, \d+ shown by a test")

    def test_wrong_usage(self):
        for arguments in (
            ["show"],
            ["show", "linear.causal", "--errata"],
            ["show", "--errata", "--claims"],
            ["coverage", "--only", "nothing.*"],
        ):
            status, out, errors = support.run(*arguments)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertTrue(errors)


if __name__ == "__main__":
    unittest.main()
