# SPDX-License-Identifier: MIT
"""--json keeps to its schema, --junit is what CI systems read, --sarif has what the standard requires."""

import concurrent.futures
import functools
import json
import unittest
import urllib.parse
import xml.etree.ElementTree

import support

import jsonschema

SCHEMA = json.loads((support.PROJECT / "specs/report.schema.json").read_text())
HOSTILE = "<b>&\"'\x07\n\tx ]]>"
FEW = ["--laws", 0, "--strength", 0, "--max-cases", 12]
REAL_SIZES = "CAPABILITIES=\"empty_row == 'zero'; n == 1; s in {4096, 5000}; d == 64; m == 64\""
FORMATS = ("json", "junit", "sarif")


def c_string(text):
    escaped = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\{ord(c):03o}" for c in text)
    return f'"{escaped}"'


def written(*arguments):
    """Exit status, text, and what a command writes as JSON, JUnit and SARIF."""
    folder = support.fresh_folder("reports")
    options = [part for name in FORMATS for part in (f"--{name}", folder / name)]
    status, out, err = support.run(*arguments, *options)
    if sorted(entry.name for entry in folder.iterdir()) != sorted(FORMATS):
        raise AssertionError(f"{out}{err}: {list(folder.iterdir())}")
    return (
        status,
        out + err,
        json.loads((folder / "json").read_text()),
        xml.etree.ElementTree.parse(folder / "junit").getroot(),
        json.loads((folder / "sarif").read_text()),
    )


@functools.cache
def runs():
    """One run of each kind for all tests, by its name."""
    emitted = support.fresh_folder() / "cases"
    assert support.run("emit", "positional.learned", "--to", emitted)[0] == 0
    commands = {
        "pass": ["check", "openmp", "--only", "positional.learned", *FEW],
        "regimes": ["check", "fault:positional.learned.off_by_one", "--profile", "f32"],
        "statistics": ["diagnose", "fault:attention.scaled_dot_product.scale_drift@0.0625", "--profile", "f32"],
        "passing regimes": ["check", "openmp", "--only", "positional.alibi", "--profile", "f32", "--shapes", 9],
        "real sizes": ["check", support.compile_plugin("attention.c", REAL_SIZES), "--strength", 1, "--laws", 0],
        "early end": ["check", "openmp", "--only", "linear.causal", "--profile", "f32", "--budget", 0.001],
        "folder": ["judge", emitted],
        "weights": ["diagnose", support.compile_plugin("attention.c", "FAULT_mask_top_left")],
        "refused": ["check", support.compile_plugin("attention.c", "REFUSES=mask"), "--strength", 1],
        "invalid": ["check", support.compile_plugin("attention.c", 'CAPABILITIES="n == 3; n == 4"'), *FEW],
        "hostile": [
            "check",
            support.compile_plugin(
                "attention.c", "REFUSES=1", f"NAME={c_string(HOSTILE)}", f'MESSAGE={c_string(HOSTILE)} "\\xff"'
            ),
            *FEW,
        ],
    }
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(commands, pool.map(lambda one: written(*one), commands.values())))


def row_of(name):
    return runs()[name][2]["rows"][0]


class Schema(unittest.TestCase):
    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.assertEqual(SCHEMA["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_every_object_says_which_members_it_has(self):
        def objects(node):
            if isinstance(node, dict):
                if node.get("type") == "object":
                    yield node
                for value in node.values():
                    yield from objects(value)

        for node in objects(SCHEMA):
            self.assertIn("additionalProperties", node)
            if "properties" in node:
                self.assertIs(node["additionalProperties"], False, node)

    def test_describes_every_report(self):
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for name, (_, text, report, _, _) in runs().items():
            with self.subTest(name):
                errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(report)]
                self.assertEqual(errors, [], text)

    def test_refuses_members_that_it_does_not_know(self):
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for path in ((), ("rows", 0), ("rows", 0, "cases"), ("rows", 0, "regimes"), ("rows", 0, "failures", 0)):
            report = json.loads(json.dumps(runs()["regimes"][2]))
            place = report
            for key in path:
                place = place[key]
            place["added"] = 1
            self.assertFalse(validator.is_valid(report), path)

    def test_the_runs_are_what_they_are_called(self):
        self.assertEqual({row["status"] for row in runs()["pass"][2]["rows"]}, {"PASS"})
        self.assertGreater(row_of("passing regimes")["regimes"]["visited"], 100)
        self.assertGreater(row_of("real sizes")["real_sizes"]["judged"], 0)
        self.assertTrue(row_of("regimes")["diagnosis"]["names"])
        self.assertEqual(row_of("statistics")["failures"][0]["tier"], "T3")
        self.assertEqual(row_of("early end")["ended_by"], "budget")
        self.assertTrue(row_of("weights")["map"]["sentences"])
        self.assertTrue(row_of("refused")["refusals"]["condition"])
        self.assertEqual(row_of("invalid")["status"], "INVALID")
        self.assertEqual({run[2]["schema"] for run in runs().values()}, {"attest report 1"})


class JUnit(unittest.TestCase):
    def test_has_the_elements_and_attributes_of_the_format(self):
        """As junit-10.xsd of Jenkins' xunit plugin has them, which is stricter than other readers."""
        allowed = {
            "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
            "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"properties", "testcase"}),
            "properties": (set(), {"property"}),
            "property": ({"name", "value"}, set()),
            "testcase": ({"name", "classname"}, {"failure", "error", "skipped", "system-out"}),
            "failure": ({"type", "message"}, set()),
            "error": ({"type", "message"}, set()),
            "skipped": ({"message"}, set()),
            "system-out": (set(), set()),
        }
        for name, (_, _, _, root, _) in runs().items():
            with self.subTest(name):
                self.assertEqual(root.tag, "testsuites")
                for element in root.iter():
                    attributes, children = allowed[element.tag]
                    self.assertEqual(set(element.attrib), attributes, element.tag)
                    self.assertLessEqual({child.tag for child in element}, children)

    def test_counts_what_it_holds(self):
        for name, (_, _, report, root, _) in runs().items():
            with self.subTest(name):
                (suite,) = root
                self.assertEqual(len(suite.findall("testcase")), len(report["rows"]))
                for element in (root, suite):
                    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
                        self.assertEqual(int(element.get(name)), len(list(element.iter(tag))))
                self.assertEqual(int(suite.get("skipped")), len(list(suite.iter("skipped"))))

    def test_has_a_test_of_each_kernel(self):
        _, _, report, root, _ = runs()["pass"]
        names = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]
        kernels = [(row["equation"], row["form"], row["profile"]) for row in report["rows"]]
        of_layouts = [kernel for kernel in kernels if kernels.count(kernel) > 1]  # which one is in the name, then
        forms = [
            " ".join(filter(None, [row["equation"], row["form"], row["layout"] if kernel in of_layouts else ""]))
            for kernel, row in zip(kernels, report["rows"])
        ]
        self.assertEqual(
            names, [(row["equation"], f"{form} ({row['profile']})") for form, row in zip(forms, report["rows"])]
        )
        self.assertEqual(len(set(names)), len(names))
        properties = {one.get("name"): one.get("value") for one in root.iter("property")}
        for _, name in names:
            self.assertLess(float(properties[f"{name}: err/bound"]), 1)
            self.assertGreater(float(properties[f"{name}: bits"]), 10)
        self.assertTrue(
            all(
                f"\nbits {properties[f'{name}: bits']}\n" in root[0].findall("testcase")[i].find("system-out").text
                for i, (_, name) in enumerate(names)
            )
        )

    def test_tells_the_first_failure_and_its_query(self):
        status, _, report, root, _ = runs()["regimes"]
        first = report["rows"][0]["failures"][0]
        (failure,) = root.iter("failure")
        self.assertEqual(status, 1)
        self.assertEqual(failure.get("type"), first["tier"])
        self.assertEqual(failure.get("message"), f"{first['message']} ({first['query']})")
        self.assertIn(f"attest reproduce '{first['query']}'", failure.text)

    def test_what_was_not_judged_is_skipped(self):
        status, _, _, root, _ = runs()["invalid"]
        self.assertEqual(status, 3)
        (skipped,) = root.iter("skipped")
        self.assertTrue(skipped.get("message").startswith("INVALID, nothing was judged: "), skipped.get("message"))

    def test_keeps_the_names_and_messages_of_strangers(self):
        """The judge has replaced what is no printable character; tests/self/unit/reports.cpp escapes the rest."""
        _, _, report, root, log = runs()["hostile"]
        (failure,) = root.iter("failure")
        message = report["rows"][0]["failures"][0]["message"]
        self.assertIn("<b>&\"'", message)
        self.assertIn(message, failure.text)
        self.assertTrue(failure.get("message").startswith(message))
        self.assertIn(report["candidate"], root[0].get("name"))
        self.assertIn(message, log["runs"][0]["results"][0]["message"]["text"])


class Sarif(unittest.TestCase):
    def test_has_the_members_that_the_standard_requires(self):
        for name, (_, _, report, _, log) in runs().items():
            with self.subTest(name):
                self.assertEqual(log["version"], "2.1.0")
                (run,) = log["runs"]
                driver = run["tool"]["driver"]
                self.assertEqual(driver["name"], "attest")
                rules = [rule["id"] for rule in driver["rules"]]
                self.assertEqual(len(set(rules)), len(rules))
                for rule in driver["rules"]:
                    self.assertTrue(rule["shortDescription"]["text"])
                for result in run["results"]:
                    self.assertTrue(result["message"]["text"])
                    self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
                    self.assertEqual(result["level"], "error")
                    self.assertGreaterEqual(result["occurrenceCount"], 1)
                    (location,) = result["locations"]
                    artifact = location["physicalLocation"]["artifactLocation"]
                    self.assertEqual(run["artifacts"][artifact["index"]]["location"]["uri"], artifact["uri"])
                    self.assertGreaterEqual(location["physicalLocation"]["region"]["startLine"], 1)
                failures = sum(len(row["failures"]) for row in report["rows"])
                self.assertEqual(sum(result["occurrenceCount"] for result in run["results"]), failures)

    def test_a_result_has_message_query_and_file(self):
        status, _, report, _, log = runs()["weights"]
        (run,) = log["runs"]
        row = report["rows"][0]
        result = next(one for one in run["results"] if one["ruleId"] == "attention.scaled_dot_product/T2")
        first = next(failure for failure in row["failures"] if failure["tier"] == "T2")
        self.assertIn(first["message"], result["message"]["text"])
        self.assertEqual(result["properties"]["query"], first["query"])
        self.assertEqual(result["properties"]["profile"], "f32")
        uri = urllib.parse.urlparse(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        self.assertEqual(uri.scheme, "file")
        self.assertRegex(urllib.parse.unquote(uri.path), r"/attention-FAULT_mask_top_left\.so$")
        self.assertEqual(len(run["tool"]["driver"]["rules"]), len({f["tier"] for f in row["failures"]}))

    def test_a_file_below_the_working_folder_is_relative_to_it(self):
        library = support.compile_plugin("attention.c", "FAULT_scale_missing", name="my kernel")
        path = library.parent / "sarif.json"
        name = f"./{library.name}"
        status, out, err = support.run("check", name, *FEW, "--sarif", path, cwd=library.parent)
        self.assertEqual(status, 1, out + err)
        (artifact,) = json.loads(path.read_text())["runs"][0]["artifacts"]
        self.assertEqual(urllib.parse.unquote(artifact["location"]["uri"]), library.name)
        self.assertNotIn(" ", artifact["location"]["uri"])

    def test_a_kernel_that_passes_has_no_result(self):
        self.assertEqual(runs()["pass"][4]["runs"][0]["results"], [])


class Files(unittest.TestCase):
    def test_that_cannot_be_written_are_told(self):
        folder = support.fresh_folder()
        for option in ("--junit", "--sarif"):
            path = folder / "absent" / "file"
            status, _, err = support.run("check", "fault:positional.learned.off_by_one", *FEW, option, path)
            self.assertEqual((status, err), (2, f"attest: cannot write {path}: No such file or directory\n"))
        self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
