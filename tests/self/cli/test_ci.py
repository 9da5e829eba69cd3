# SPDX-License-Identifier: MIT
"""The templates for CI systems in tools/ci: their commands are run here as those systems run them."""

import json
import os
import pathlib
import re
import subprocess
import unittest
import xml.etree.ElementTree

import support
import yaml

TEMPLATES = support.PROJECT / "tools" / "ci"
FEW = "--only positional.* --max-cases 12 --laws 0 --strength 0"


def run_script(lines, environment, folder):
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(lines)],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def action(folder, **inputs):
    """Exit status, text, and the outputs of the steps of the GitHub action."""
    described = yaml.safe_load((TEMPLATES / "action.yml").read_text())
    unknown = set(inputs) - set(described["inputs"])
    assert not unknown, unknown
    values = {name: inputs.get(name, one.get("default")) for name, one in described["inputs"].items()}
    files = {"GITHUB_OUTPUT": folder / "outputs", "GITHUB_STEP_SUMMARY": folder / "summary"}
    text = ""
    for step in described["runs"]["steps"]:
        assert step["shell"] == "bash", step
        environment = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], value)
            for name, value in step["env"].items()
        }
        assert "${{" not in step["run"], "inputs are no text of a program"
        status, said = run_script([step["run"]], {**environment, **{k: str(v) for k, v in files.items()}}, folder)
        text += said
        if status:
            break
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    named = {
        re.fullmatch(r"\$\{\{ steps\.\w+\.outputs\.(\w+) \}\}", o["value"])[1] for o in described["outputs"].values()
    }
    assert set(outputs) == named, (outputs, named)
    return status, text, outputs, files["GITHUB_STEP_SUMMARY"].read_text()


def gitlab(folder, **variables):
    """Exit status, text, and the files that the GitLab job keeps."""
    job = yaml.safe_load((TEMPLATES / "attest.gitlab-ci.yml").read_text())[".attest"]
    status, text = run_script(job["script"], {**job["variables"], **variables}, folder)
    assert job["artifacts"]["when"] == "always"
    return status, text, [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]


class Templates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernels = {
            0: support.compile_plugin("learned.c"),
            1: support.compile_plugin("learned.c", f'AMOUNT="{os.devnull}"'),
        }

    def reports_say(self, status, junit, sarif, report):
        self.assertEqual(json.loads(report.read_text())["status"], "FAIL" if status else "PASS")
        failures = int(xml.etree.ElementTree.parse(junit).getroot().get("failures"))
        self.assertEqual(failures > 0, status > 0)
        self.assertEqual(len(json.loads(sarif.read_text())["runs"][0]["results"]) > 0, status > 0)

    def test_github(self):
        for expected, kernel in self.kernels.items():
            folder = support.fresh_folder("a project")
            status, text, outputs, summary = action(
                folder, candidate=str(kernel), arguments=FEW, command=support.CLI, reports="some reports"
            )
            self.assertEqual(status, expected, text)
            self.assertIn("FAIL" if expected else "PASS", outputs["verdict"])
            self.assertIn(f"Verdict: {outputs['verdict']}\n", text)
            self.assertIn(f"Verdict: {outputs['verdict']}\n", summary)
            reports = folder / "some reports"
            self.reports_say(status, reports / "attest.junit.xml", reports / "attest.sarif", reports / "attest.json")

    def test_github_of_a_kernel_that_is_not_there(self):
        folder = support.fresh_folder()
        self.assertEqual(action(folder, candidate="./no-such-kernel.so", command=support.CLI)[0], 3)

    def test_gitlab(self):
        for expected, kernel in self.kernels.items():
            folder = support.fresh_folder("a project")
            status, text, kept = gitlab(
                folder, ATTEST_CANDIDATE=str(kernel), ATTEST_ARGUMENTS=FEW, ATTEST_COMMAND=support.CLI
            )
            self.assertEqual(status, expected, text)
            report, sarif, junit = (folder / pathlib.Path(name) for name in kept)
            self.reports_say(status, junit, sarif, report)


if __name__ == "__main__":
    unittest.main()
