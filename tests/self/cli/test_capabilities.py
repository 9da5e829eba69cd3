# SPDX-License-Identifier: MIT
"""Candidates that can do only some shapes are judged on those: in full, or not at all."""

import concurrent.futures
import json
import unittest

import support

EQUATION = "attention.scaled_dot_product"


def check(*defines, laws):
    library = support.compile_plugin("constrained.c", *defines)
    return support.report_of("check", library, "--only", EQUATION, "--laws", laws)


class ConstrainedCandidate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Most of the time goes into certifying cases of the wanted shapes.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            right = pool.submit(check, laws=3)
            wrong = pool.submit(check, "WRONG_GROUPS", laws=0)
            cls.right, cls.wrong = right.result(), wrong.result()

    def test_gets_a_full_verdict(self):
        status, text, report = self.right
        self.assertEqual(status, 0, text)
        (row,) = report["rows"]
        self.assertEqual((row["status"], row["layout"], row["dtype"], row["profile"]), ("PASS", "bhnd", "bf16", "bf16"))
        self.assertGreaterEqual(row["cases"]["judged"], 12)
        self.assertGreaterEqual(row["regimes"]["judged"], 12)
        self.assertEqual(row["regimes"]["visited"], row["regimes"]["possible"])
        self.assertEqual(row["cases"]["passed"], row["cases"]["judged"])
        self.assertEqual(row["cases"]["stored"], 0)
        self.assertGreater(row["elements"], 1000)
        self.assertLessEqual(row["worst"]["ratio"], 1)

    def test_no_law_leaves_the_capabilities(self):
        # The plugin returns an error for a shape that it did not promise.
        (row,) = self.right[2]["rows"]
        self.assertGreaterEqual(row["laws"]["judged"], 4)
        self.assertEqual([failure["message"] for failure in row["failures"]], [])

    def test_wrong_head_of_the_keys_is_found(self):
        status, text, report = self.wrong
        self.assertEqual(status, 1, text)
        (row,) = report["rows"]
        self.assertEqual(row["status"], "FAIL")
        self.assertEqual(row["cases"]["passed"], row["cases"]["judged"])  # every golden case is one head
        for failure in row["failures"]:
            self.assertEqual(failure["group"], "regimes")
            self.assertRegex(failure["message"], r"head \d+ of a batch of .* times the bound")


class CandidateThatRefuses(unittest.TestCase):
    """It returns an error for what it does not say: that is no wrong answer, and the report says what to say."""

    def test_is_told_the_capability(self):
        library = support.compile_plugin("attention.c", "REFUSES=mask && causal")
        status, text, report = support.report_of("check", library, "--laws", 0)
        self.assertEqual((status, report["status"]), (1, "FAIL"), text)
        (row,) = report["rows"]
        refused = row["refusals"]
        self.assertGreaterEqual(min(refused["cases"], refused["regimes"]), 1)
        self.assertEqual(refused["cases"] + refused["regimes"], len(row["failures"]))
        self.assertEqual({failure["tier"] for failure in row["failures"]}, {"refusal"})
        self.assertEqual((refused["condition"], refused["left"], refused["excluded"]), ("not (mask and causal)", 0, 0))
        self.assertEqual(refused["message"], "the kernel returned 5: not implemented")
        words = " ".join(text.split())
        self.assertIn("with an error, and every answer is right: the kernel returned 5: not implemented", words)
        self.assertIn("let its capabilities say: not (mask and causal)", words)
        said = f"CAPABILITIES=\"empty_row == 'zero'; {refused['condition']}\""
        status, text, report = support.report_of(
            "check", support.compile_plugin("attention.c", "REFUSES=mask && causal", said), "--laws", 0
        )
        self.assertEqual((status, report["status"]), (0, "PASS"), text)

    def test_wrong_answers_are_told_first(self):
        library = support.compile_plugin("attention.c", "REFUSES=d > 6", "FAULT_scale_missing")
        status, text, report = support.report_of("check", library, "--laws", 0)
        self.assertEqual((status, report["status"]), (1, "FAIL"), text)
        self.assertIn("times the bound", text)
        self.assertLess(text.index("times the bound"), text.index("REFUSED"))
        self.assertNotIn("every answer is right", text)
        self.assertIn(
            "looks like scale_is_one (no scale, whether one is given or not): c = 1, beyond doubt",
            " ".join(text.split()),
        )


class CandidateThatReadsDenseTensors(unittest.TestCase):
    def test_is_found_unless_it_says_so(self):
        status, text, report = support.report_of(
            "check", support.compile_plugin("attention.c", "FAULT_dense_keys"), "--laws", 0
        )
        self.assertEqual((status, report["status"]), (1, "FAIL"), text)
        (row,) = report["rows"]
        self.assertEqual({failure["group"] for failure in row["failures"]}, {"regimes"})
        self.assertIn("memory in {padded, transposed, mixed}", row["regimes"]["fails_when"])
        query = row["failures"][0]["query"]
        self.assertRegex(query, ";memory=(padded|transposed|mixed)$")
        library = support.compile_plugin(
            "attention.c", "FAULT_dense_keys", "CAPABILITIES=\"empty_row == 'zero'; contiguous\""
        )
        status, text, report = support.report_of("check", library, "--laws", 0)
        self.assertEqual((status, report["status"]), (0, "PASS"), text)
        status, out, err = support.run("reproduce", query, library)
        self.assertEqual(status, 3, "a kernel of dense tensors is not called with others: " + out + err)

    def test_a_limit_on_shapes_is_no_plain_pass(self):
        library = support.compile_plugin("attention.c")
        status, text, report = support.report_of("check", library, "--laws", 0, "--shapes", 4)
        self.assertEqual((status, report["status"]), (0, "PASS"), text)
        regimes = report["rows"][0]["regimes"]
        self.assertGreater(regimes["left_out"], 0)
        self.assertEqual(regimes["visited"] + regimes["left_out"], regimes["possible"])
        self.assertIn(f"the limit on shapes leaves out {regimes['left_out']} of {regimes['possible']} pairs", text)
        self.assertIn("Verdict: PASS of what was run", text)
        status, out, err = support.run("check", library, "--shapes", 0)
        self.assertEqual((status, out), (2, ""), err)


class CandidateWithoutMasks(unittest.TestCase):
    def test_is_never_given_one(self):
        folder = support.fresh_folder() / "cases"
        status, out, err = support.run(
            "emit", EQUATION, "--to", folder, "--capabilities", "mask == false; bias == false; s <= 20"
        )
        self.assertEqual(status, 0, out + err)
        pages = [json.loads(path.read_text()) for path in folder.glob("*/case.json")]
        self.assertGreater(len(pages), 10)
        for page in pages:
            self.assertLessEqual({tensor["name"] for tensor in page["inputs"]}, {"q", "k", "v", "sink"}, page["query"])


class CandidateThatFitsNoCase(unittest.TestCase):
    def test_contradiction_is_invalid(self):
        status, text, report = check('CAPABILITIES="d == 3; d == 5"', laws=0)
        self.assertEqual(status, 3, text)
        self.assertEqual(report["status"], "INVALID")
        self.assertIn("Verdict: INVALID", text)
        self.assertIn("'d == 3; d == 5' leaves no size d from 0 to 8192", support.messages_of(report)[0])

    def test_shapes_too_large_to_certify_are_invalid(self):
        status, text, report = check('CAPABILITIES="n == 65536; s == 65536; d == 128"', laws=0)
        self.assertEqual(status, 3, text)
        self.assertEqual(report["status"], "INVALID")
        self.assertIn("the work of one call is limited, and the smallest that", support.messages_of(report)[0])

    def test_emit_says_so_too(self):
        folder = support.fresh_folder() / "cases"
        status, out, err = support.run("emit", EQUATION, "--to", folder, "--capabilities", "d == 3; d == 5")
        self.assertEqual(status, 3, out + err)
        self.assertIn("INVALID", err)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
