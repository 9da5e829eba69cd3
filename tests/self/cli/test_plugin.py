# SPDX-License-Identifier: MIT
"""A stranger's plugin in C: the correct one passes, and each planted fault is rejected for what it is."""

import time
import unittest

import support

EQUATION = "attention.scaled_dot_product"


def check(library, *more, **options):
    return support.report_of("check", library, "--only", EQUATION, *more, **options)


class CorrectPlugin(unittest.TestCase):
    def test_passes_every_case_and_law(self):
        status, text, report = check(support.compile_plugin("attention.c"))
        self.assertEqual(status, 0, text)
        (row,) = report["rows"]
        self.assertEqual((report["candidate"], report["version"], report["status"]), ("stranger", "1.0", "PASS"))
        self.assertEqual(row["cases"]["passed"], row["cases"]["judged"])
        self.assertGreaterEqual(row["cases"]["judged"], 30)
        self.assertEqual(row["laws"]["held"], row["laws"]["judged"])
        self.assertGreaterEqual(row["laws"]["judged"], 6)
        self.assertLessEqual(row["worst"]["ratio"], 1)

    def test_table_fits_in_100_columns(self):
        status, out, err = support.run("check", support.compile_plugin("attention.c"), "--laws", "0")
        self.assertEqual(status, 0, out + err)
        self.assertIn("Verdict: PASS", out)
        self.assertEqual([line for line in out.splitlines() if len(line) > 100], [])
        self.assertEqual(err, "")  # no progress bar: it is no terminal

    def test_what_is_left_out_is_told_with_its_reason(self):
        library = support.compile_plugin("attention.c", "CAPABILITIES=\"mask == false; s <= 128; empty_row == 'zero'\"")
        for options, expected in (
            ([], {"capability mask == false", "capability s <= 128", "precision"}),
            (["--max-cases", "7"], {"limit of cases", "capability s <= 128"}),
            (["--flags", "random*"], {"flag", "precision"}),
        ):
            with self.subTest(options):
                _, text, report = check(library, "--laws", "0", "--strength", "0", *options)
                (row,) = report["rows"]
                reasons = row["cases"]["left_out"]
                self.assertLessEqual(expected, reasons.keys())
                self.assertEqual("limit of cases" in reasons, "--max-cases" in options)
                self.assertEqual("flag" in reasons, "--flags" in options)
                self.assertEqual(sum(reasons.values()), row["cases"]["skipped"])
                told = " ".join(text.split())
                self.assertIn(f"{row['cases']['skipped']} cases left out (", told)
                for reason in sorted(reasons, key=lambda reason: (-reasons[reason], reason))[:5]:
                    self.assertIn(f"{reasons[reason]} {reason}", told)

    def test_path_may_be_relative(self):
        library = support.compile_plugin("attention.c")
        for path in (library.name, f"./{library.name}"):
            status, out, err = support.run("check", path, "--laws", "0", cwd=library.parent)
            self.assertEqual(status, 0, out + err)

    def test_wrong_profile_is_invalid(self):
        status, out, err = support.run("check", support.compile_plugin("attention.c"), "--profile", "f64")
        self.assertEqual(status, 3, out + err)
        self.assertIn("INVALID", err)
        self.assertIn("profile f64", err)


class PlantedFault(unittest.TestCase):
    # fault: exit status, verdict, words in the message of some failure
    FAULTS = {
        "scale_missing": (1, "FAIL", "times the bound"),
        "scale_over_d": (1, "FAIL", "times the bound"),
        "mask_shifted": (1, "FAIL", "times the bound"),
        "mask_top_left": (1, "FAIL", "times the bound"),
        "last_key_dropped": (1, "FAIL", "times the bound"),
        "maximum_from_zero": (1, "FAIL", "times the bound"),
        "bf16_denominator": (1, "FAIL", "times the bound"),
        "zeros": (1, "FAIL", "got 0, expected"),
        "nan": (1, "FAIL", "got nan"),
        "unwritten": (1, "FAIL", "was not written"),
        "error": (1, "FAIL", "the kernel returned 7: no such tile size"),
        "read_past_end": (3, "CRASH", "past the end of input 'k'"),
        "write_past_end": (3, "CRASH", "past the end of output 'o'"),
        "write_input": (3, "CRASH", "wrote to read-only input 'q'"),
        "crash": (3, "CRASH", "SIGABRT"),
        "exit": (3, "CRASH", "ended the process with exit status 0"),
    }

    def test_is_rejected(self):
        for fault, (expected, verdict, words) in self.FAULTS.items():
            with self.subTest(fault=fault):
                status, text, report = check(support.compile_plugin("attention.c", f"FAULT_{fault}"), "--laws", "0")
                self.assertEqual(status, expected, text)
                self.assertEqual(report["status"], verdict)
                self.assertIn(f"Verdict: {verdict}", text)
                self.assertTrue(any(words in message for message in support.messages_of(report)), text)
                self.assertIn("attest reproduce 'attest:attention.scaled_dot_product:f32;", text)

    def test_hang_is_ended_and_not_waited_for_in_every_case(self):
        started = time.monotonic()
        status, text, report = check(
            support.compile_plugin("attention.c", "FAULT_hang"), "--laws", "0", "--time-limit", "1"
        )
        self.assertEqual(status, 3, text)
        self.assertEqual(report["status"], "CRASH")
        self.assertIn("the kernel did not return within 1000 ms", support.messages_of(report)[0])
        self.assertLess(time.monotonic() - started, 30, "check waits for the time limit in case after case")

    def test_printed_query_reproduces_the_failure(self):
        library = support.compile_plugin("attention.c", "FAULT_mask_top_left")
        status, text, report = check(library, "--laws", "0")
        self.assertEqual(status, 1, text)
        query = report["rows"][0]["failures"][0]["query"]
        status, out, err = support.run("reproduce", query, library)
        self.assertEqual(status, 1, out + err)
        self.assertIn("Verdict: FAIL", out)
        status, out, err = support.run("reproduce", query, support.compile_plugin("attention.c"))
        self.assertEqual(status, 0, out + err)


class PluginOnDevice(unittest.TestCase):
    """On a driver that stands for CUDA's: its device memory is memory of the process."""

    def check(self, *defines, driver=None):
        driver = driver or support.compile_plugin("../../unit/plugins/cuda_driver.c")
        return check(
            support.compile_plugin("attention.c", "DEVICE=kDLCUDA", *defines),
            "--laws",
            "2",
            env={"ATTEST_CUDA_DRIVER": str(driver)},
        )

    def test_passes(self):
        status, text, report = self.check()
        self.assertEqual((status, report["status"]), (0, "PASS"), text)
        self.assertGreaterEqual(report["rows"][0]["cases"]["judged"], 30)

    def test_faults_are_found(self):
        for fault, words in {
            "scale_missing": "times the bound",
            "unwritten": "was not written",
            "write_input": "changed input 'q'",
            "write_past_end": "wrote past the end of output 'o'",
        }.items():
            with self.subTest(fault=fault):
                status, text, report = self.check(f"FAULT_{fault}")
                self.assertEqual((status, report["status"]), (1, "FAIL"), text)
                self.assertTrue(any(words in message for message in support.messages_of(report)), text)

    def test_without_a_driver_there_is_no_verdict(self):
        status, text, report = self.check(driver="/nowhere/libcuda.so.1")
        self.assertEqual((status, report["status"]), (3, "INVALID"), text)
        (message,) = support.messages_of(report)
        self.assertIn("the kernel needs a CUDA device: /nowhere/libcuda.so.1 cannot be loaded", message)
        self.assertIn(message[:60], text)


class InvalidPlugin(unittest.TestCase):
    def rejects(self, library, *words):
        status, out, err = support.run("check", library)
        self.assertEqual(status, 3, out + err)
        self.assertEqual(out, "")
        for word in ("INVALID", *words):
            self.assertIn(word, err)

    def test_wrong_abi_version(self):
        self.rejects(support.compile_plugin("attention.c", "ABI=99"), "abi_version 99", "needs abi_version 1")

    def test_missing_symbol(self):
        self.rejects(support.compile_plugin("attention.c", "SYMBOL=attest_plugin_v0"), "has no symbol attest_plugin_v1")

    def test_not_a_library(self):
        path = support.fresh_folder() / "text.so"
        path.write_text("not a library\n")
        self.rejects(path, str(path), "cannot be loaded as a shared library")

    def test_empty_file(self):
        path = support.fresh_folder() / "empty.so"
        path.write_bytes(b"")
        self.rejects(path, "cannot be loaded as a shared library")

    def test_truncated_library(self):
        library = support.compile_plugin("attention.c")
        library.write_bytes(library.read_bytes()[:1000])
        self.rejects(library, str(library))

    def test_missing_file(self):
        path = support.fresh_folder() / "nothing.so"
        self.rejects(path, str(path), "there is no such file")

    def test_name_of_the_projects_own(self):
        folder = support.fresh_folder()
        for name, words in {
            "cuda": "cuda: this build of attest has no such kernels: there is no",
            "cuda-emulated": "libattest_cuda_emulated.so",
            "cuda-emulate": "cuda-emulate: there is no such file; did you mean 'cuda-emulated'",
        }.items():
            status, out, err = support.run("check", name, env={"ATTEST_PLUGIN_DIR": str(folder)})
            self.assertEqual((status, out), (3, ""), err)
            self.assertIn(words, err)

    def test_folder(self):
        self.rejects(support.fresh_folder(), "is a directory, not a shared library")

    def test_unknown_equation(self):
        library = support.compile_plugin("attention.c", 'EQUATION="attention.scaled_dot_produkt"')
        self.rejects(library, "no equation is called 'attention.scaled_dot_produkt'", "attention.scaled_dot_product")

    def test_capabilities_that_do_not_parse(self):
        self.rejects(
            support.compile_plugin("attention.c", 'CAPABILITIES="d in {64, "'),
            "capabilities of attention.scaled_dot_product",
        )

    def test_capabilities_over_an_unknown_name(self):
        self.rejects(
            support.compile_plugin("attention.c", 'CAPABILITIES="width == 64"'), "capabilities of", "'width' is neither"
        )

    def test_only_that_matches_nothing(self):
        status, out, err = support.run("check", support.compile_plugin("attention.c"), "--only", "infini.*")
        self.assertEqual(status, 3, out + err)
        self.assertIn("no kernel of", err)
        self.assertIn(EQUATION, err)  # what it has


if __name__ == "__main__":
    unittest.main()
