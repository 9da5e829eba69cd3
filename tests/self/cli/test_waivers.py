# SPDX-License-Identifier: MIT
"""`check --waivers`: known failures are shown and counted, and do not fail the run; waivers that are wrong do."""

import datetime
import json
import unittest
import xml.etree.ElementTree

import support

WRONG = ["check", "fault:positional.learned.off_by_one", "--laws", 0, "--strength", 0, "--max-cases", 12]
KERNEL = "positional.learned fault:off_by_one"
LATER = datetime.date.today() + datetime.timedelta(days=400)


def entry(kernel=KERNEL, reason="known since 1.2", expires=LATER, **more):
    lines = [f"kernel = '{kernel}'", f"reason = '{reason}'", f"expires = {expires}"]
    return "\n".join(["[[waiver]]", *lines, *(f"{key} = '{value}'" for key, value in more.items()), ""])


def waivers(*entries):
    path = support.fresh_folder("waivers") / "waivers.toml"
    path.write_text("\n".join(entries))
    return path


def checked(path, command=WRONG):
    """Exit status, text, and the report, with which CI systems are told."""
    folder = support.fresh_folder()
    status, text, report = support.report_of(
        *command, "--waivers", path, "--junit", folder / "junit", "--sarif", folder / "sarif"
    )
    if report is None:
        return status, text, None, None, None
    return (
        status,
        text,
        report,
        xml.etree.ElementTree.parse(folder / "junit").getroot(),
        json.loads((folder / "sarif").read_text())["runs"][0],
    )


class Waived(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = waivers(entry())
        cls.status, cls.text, cls.report, cls.junit, cls.sarif = checked(cls.path)
        cls.failures = [failure for row in cls.report["rows"] for failure in row["failures"]]

    def test_the_exit_status_is_that_of_the_others(self):
        self.assertEqual(self.status, 0, self.text)
        self.assertEqual(support.run(*WRONG)[0], 1)
        other = waivers(entry(profile="f32"))
        status, text, report, _, _ = checked(other)
        self.assertEqual(status, 1, text)
        self.assertEqual({row["status"] for row in report["rows"]}, {"FAIL", "WAIVED"})

    def test_failures_are_shown_and_counted(self):
        kernels = len(self.report["rows"])
        self.assertIn(f"waived: {len(self.failures)} failures of {kernels} kernels\n", self.text)
        self.assertIn(f"Verdict: PASS ({kernels} of {kernels} kernels waived)\n", self.text)
        self.assertIn(f"    FAIL, waived until {LATER}: known since 1.2\n", self.text)
        self.assertIn(f"attest reproduce '{self.failures[0]['query']}'", self.text)

    def test_json_says_which_waiver_covers_what(self):
        self.assertEqual(self.report["status"], "PASS")
        self.assertEqual({row["status"] for row in self.report["rows"]}, {"WAIVED"})
        self.assertEqual({failure["waiver"] for failure in self.failures}, {0})
        (one,) = self.report["waivers"]
        self.assertEqual((one["failures"], one["problems"]), (len(self.failures), []))
        self.assertEqual((one["reason"], one["expires"]), ("known since 1.2", str(LATER)))
        self.assertEqual((one["file"], one["line"]), (str(self.path), 1))

    def test_junit_skips_with_the_reason(self):
        self.assertEqual(self.junit.get("failures"), "0")
        self.assertEqual(
            {skipped.get("message") for skipped in self.junit.iter("skipped")},
            {f"waived until {LATER}: known since 1.2"},
        )

    def test_sarif_has_suppressions(self):
        self.assertTrue(self.sarif["results"])
        for result in self.sarif["results"]:
            (suppression,) = result["suppressions"]
            self.assertEqual(suppression["kind"], "external")
            self.assertEqual(suppression["status"], "accepted")
            self.assertEqual(suppression["justification"], "known since 1.2")

    def test_html_shows_them(self):
        page = support.fresh_folder() / "report.html"
        self.assertEqual(support.run(*WRONG, "--waivers", self.path, "--html", page)[0], 0)
        self.assertIn(f"waived until {LATER}: known since 1.2", page.read_text())
        self.assertIn('<span class="WAIVED">WAIVED</span>', page.read_text())

    def test_a_condition_covers_the_cases_that_meet_it(self):
        status, text, report, _, sarif = checked(waivers(entry(condition="n > 3")))
        self.assertEqual(status, 1, text)
        for row in report["rows"]:
            for failure in row["failures"]:
                sizes = dict(part.split("=") for part in failure["query"].split(";")[1:] if "=" in part)
                self.assertEqual(failure["waiver"], 0 if int(sizes["n"]) > 3 else None, failure["query"])
        self.assertEqual({"suppressions" in result for result in sarif["results"]}, {True, False})

    def test_other_kernels_of_the_run_still_fail(self):
        command = ["check", "fault:positional.learned.*", *WRONG[2:], "--profile", "f32"]
        status, text, report, junit, _ = checked(self.path, command)
        self.assertEqual(status, 1, text)
        statuses = [row["status"] for row in report["rows"]]
        self.assertEqual(statuses.count("WAIVED"), 1)
        self.assertGreaterEqual(statuses.count("FAIL"), 1)
        self.assertEqual(int(junit.get("failures")), statuses.count("FAIL"))


class Wrong(unittest.TestCase):
    """Waivers that should not be there."""

    def fails_with(self, sentence, path, command, kernels):
        status, text, report, junit, sarif = checked(path, command)
        self.assertEqual(status, 1, text)
        self.assertIn(sentence, text.replace("\n", " "))
        self.assertIn("Verdict: FAIL", text)
        problems = [problem for one in report["waivers"] for problem in one["problems"]]
        self.assertEqual(len(problems), kernels, problems)
        self.assertIn(sentence, problems[0])
        tests = [test for test in junit.iter("testcase") if test.get("classname") == "waivers"]
        self.assertEqual([test.find("failure").get("message") for test in tests], problems[:1])
        results = [result for result in sarif["results"] if result["ruleId"] == "waiver"]
        self.assertEqual([result["message"]["text"] for result in results], problems)
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["region"]["startLine"], 1)
        self.assertTrue(place["artifactLocation"]["uri"].endswith("/waivers.toml"))

    def test_of_a_kernel_that_passes(self):
        command = ["check", "openmp", "--only", "positional.learned", "--profile", "f32"]
        path = waivers(entry("positional.learned*", profile="f32"))
        status, _, report = support.report_of(*command)
        self.assertEqual(status, 0)
        self.fails_with("passes; remove the waiver or make it narrower", path, command, len(report["rows"]))
        # A run that does less than usual is no evidence against a waiver.
        status, text, _, _, _ = checked(path, [*command, *WRONG[2:]])
        self.assertEqual(status, 0, text)

    def test_that_has_expired(self):
        yesterday = datetime.date.today() - datetime.timedelta(days=2)
        self.fails_with(f"expired on {yesterday}", waivers(entry(expires=yesterday)), WRONG, 1)

    def test_whose_condition_no_failure_meets(self):
        command = ["check", "fault:positional.learned.off_by_one", "--profile", "f32"]
        self.fails_with(
            "has no failure under the condition 'n > 100000'", waivers(entry(condition="n > 100000")), command, 1
        )


class Refused(unittest.TestCase):
    def refused(self, path, *words, command=WRONG):
        status, out, err = support.run(*command, "--waivers", path)
        self.assertEqual(status, 2, out + err)
        self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, err)

    def test_unknown_keys(self):
        self.refused(
            waivers(entry(kernal="x")),
            "waivers.toml:5: unknown key 'kernal'; did you mean 'kernel'?; allowed: kernel, ",
        )
        self.refused(waivers("[[waive]]\n"), "waivers.toml:1: unknown key 'waive'", "allowed: waiver")

    def test_bad_dates(self):
        for day in ("'2099-03-31'", "2099-02-30", "20990331", "2099-03-31T00:00:00"):
            self.refused(waivers(entry(expires=day)), "waivers.toml:4: ")
        self.refused(waivers(entry(expires="'2099-03-31'")), "'expires' is no date", "as in 2027-03-31")

    def test_no_reason(self):
        self.refused(waivers(entry(reason="")), "waivers.toml:3: 'reason' must be a string that is not empty")

    def test_no_toml(self):
        self.refused(waivers("[[waiver]\n"), "waivers.toml:1: ")

    def test_that_match_no_kernel(self):
        self.refused(
            waivers(entry("positional.learned fault:off_by_two")), "waivers.toml:1: no kernel is called", KERNEL
        )
        self.refused(waivers(entry(profile="f31")), "profile 'f31'")
        self.refused(waivers(entry(equation="linear.causal")), "equation 'linear.causal'")

    def test_a_kernel_that_only_leaves_out_is_a_kernel(self):
        path = waivers(entry("linear.causal parallel*"))
        command = ["check", "openmp", "--only", "positional.learned", *WRONG[2:]]
        status, text, _, _, _ = checked(path, command)
        self.assertEqual(status, 0, text)
        status, text, _, _, _ = checked(path, [*command, "--part", "1/9"])
        self.assertEqual(status, 0, text)

    def test_conditions_without_meaning(self):
        self.refused(waivers(entry(condition="s > 3")), "waivers.toml:1: condition: positional.learned has no 's'")
        self.refused(waivers(entry(condition="n >")), "waivers.toml:1: condition: ")

    def test_a_file_that_is_not_there(self):
        self.refused(support.fresh_folder() / "absent.toml", "absent.toml: No such file or directory")


if __name__ == "__main__":
    unittest.main()
