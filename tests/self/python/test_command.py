# SPDX-License-Identifier: MIT
"""Candidates python:MODULE:FUNCTION of the attest command, and the survey."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest
from kernels import SDPA

HERE = pathlib.Path(__file__).parent
CLI = os.environ["ATTEST_CLI"]
DECLARED = [
    "--op",
    SDPA,
    "--capabilities",
    "empty_row == 'zero'; hidden_nan == false",
    "--laws",
    "1",
    "--strength",
    "0",
]


def attest(*arguments, **options):
    done = subprocess.run(
        [CLI, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "ATTEST_PYTHON": sys.executable},
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def test_check_passes_and_fails():
    status, out, err = attest("check", "python:kernels:attention", *DECLARED)
    assert status == 0 and "Verdict: PASS" in out and "block is held at 8" in out, out + err
    status, out, err = attest("check", f"python:{HERE / 'kernels.py'}:scale_missing", *DECLARED)
    assert status == 1 and "looks like scale_missing" in out, out + err


@pytest.mark.parametrize(
    ("exploit", "expected", "words"),
    [
        ("patches_libraries", 1, "got 0, expected"),
        ("searches_the_interpreter", 1, "times the bound"),
        ("exits_with_success", 3, "CRASH: the kernel ended its process with status 0; there is no verdict"),
        ("leaves_with_success", 1, "SystemExit"),
        ("says_pass", 1, "got 0, expected"),
    ],
)
def test_an_exploit_is_no_pass(exploit, expected, words):
    status, out, err = attest("check", f"python:exploits:{exploit}", *DECLARED)
    assert status == expected and words in out + err, out + err


def test_a_module_that_leaves_is_no_pass(tmp_path):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    status, out, err = attest("check", f"python:{tmp_path / 'leaves.py'}:kernel", *DECLARED)
    assert status == 2 and "failed: SystemExit: 0" in err, out + err
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    status, out, err = attest("check", f"python:{tmp_path / 'ends.py'}:kernel", *DECLARED)
    assert status == 3 and "there is no verdict" in err, out + err


def test_page_for_a_browser(tmp_path):
    page = tmp_path / "report.html"
    status, out, err = attest("check", "python:kernels:scale_missing", *DECLARED, "--html", page)
    assert status == 1, out + err
    text = page.read_text(encoding="utf-8")
    assert "0 of 1 kernels pass" in text and "scale_missing" in text and "assumed: sink is never given" in text
    for option in ("--html", "--json"):
        absent = tmp_path / "absent" / "report"
        status, _, err = attest("check", "python:kernels:attention", *DECLARED, "--max-cases", 12, option, absent)
        assert (status, err) == (2, f"attest: cannot write {absent}: No such file or directory\n")


def test_files_for_ci_systems(tmp_path):
    files = {name: tmp_path / name for name in ("json", "junit", "sarif")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    status, out, err = attest("check", "python:kernels:scale_missing", *DECLARED, "--max-cases", 12, *options)
    assert status == 1, out + err
    data = json.loads(files["json"].read_text())
    first = data["rows"][0]["failures"][0]
    assert data["schema"] == "attest report 1"
    (suite,) = xml.etree.ElementTree.parse(files["junit"]).getroot()
    assert suite.get("name").startswith("scale_missing ") and suite.get("failures") == "1"
    assert suite.find("testcase/failure").get("message") == f"{first['message']} ({first['query']})"
    result = json.loads(files["sarif"].read_text())["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    lines = (HERE / "kernels.py").read_text().splitlines()
    assert place["artifactLocation"]["uri"] == "kernels.py"
    assert lines[place["region"]["startLine"] - 1].startswith("def scale_missing(")
    absent = tmp_path / "absent" / "report"
    for option in ("--junit", "--sarif"):
        status, _, err = attest("check", "python:kernels:attention", *DECLARED, "--max-cases", 12, option, absent)
        assert (status, err) == (2, f"attest: cannot write {absent}: No such file or directory\n")


def test_waivers(tmp_path):
    path = tmp_path / "waivers.toml"
    path.write_text(f"[[waiver]]\nequation = '{SDPA}'\nreason = 'known'\nexpires = 2999-12-31\n")
    waived = ["check", "python:kernels:scale_missing", *DECLARED, "--max-cases", 12, "--waivers", path]
    status, out, err = attest(*waived, "--json", tmp_path / "json")
    assert status == 0 and "Verdict: PASS (1 of 1 kernels waived)" in out, out + err
    assert {failure["waiver"] for failure in json.loads((tmp_path / "json").read_text())["rows"][0]["failures"]} == {0}
    path.write_text(path.read_text().replace("2999", "2001"))
    status, out, err = attest(*waived)
    assert status == 1 and "expired on 2001-12-31" in out, out + err
    path.write_text(path.read_text().replace("reason", "because"))
    status, out, err = attest(*waived)
    assert status == 2 and f"{path}:3: unknown key 'because'; allowed: kernel, " in err, out + err
    status, _, err = attest("diagnose", "python:kernels:scale_missing", *DECLARED, "--waivers", path)
    assert status == 2 and "--waivers" in err, err


def test_diagnose_and_reproduce(tmp_path):
    status, out, _ = attest("diagnose", "python:kernels:scale_missing", *DECLARED, "--json", tmp_path / "r.json")
    assert status == 1 and "every case is what that equation gives" in " ".join(out.split())
    query = json.loads((tmp_path / "r.json").read_text())["rows"][0]["failures"][0]["query"]
    assert attest("reproduce", query, "python:kernels:scale_missing", "--capabilities", "empty_row == 'zero'")[0] == 1
    assert attest("reproduce", query, "python:kernels:attention", "--capabilities", "empty_row == 'zero'")[0] == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["python:kernels:attention"], "Give --op ID"),
        (["python:kernels:attentoin", "--op", SDPA], "kernels has no 'attentoin'; it has attention"),
        (["python:nowhere:attention", "--op", SDPA], "importing nowhere failed: ModuleNotFoundError"),
        (["python:kernels", "--op", SDPA], "expected python:MODULE:FUNCTION"),
        (["python:kernels:attention", "--op", "attention.scaled"], "did you mean"),
        (["python:kernels:attention", "--op", SDPA, "--profile", "f31"], "there is no profile"),
        (["python:kernels:SDPA", "--op", SDPA], "the kernel is a str"),
        (["python:kernels:attention", "--op", SDPA, "--unheard-of"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_is_told_apart_from_a_failure(arguments, message):
    status, out, err = attest("check", *arguments)
    assert status == 2 and message in err and "Traceback" not in err, out + err


def test_a_kernel_that_ends_the_process_is_a_crash():
    status, out, err = attest("check", "python:kernels:kills_itself", "--op", SDPA)
    assert status == 3 and "CRASH: the kernel ended its process with Segmentation fault (SIGSEGV)" in err, out + err


def test_an_interpreter_without_the_package_is_wrong_usage(tmp_path):
    for python, message in (
        ("/nonexistent/python", "cannot start"),
        (sys.executable, "cannot import the Python package"),
    ):
        copy = tmp_path / "attest"  # not beside a build's package
        if not copy.exists():
            copy.write_bytes(pathlib.Path(CLI).read_bytes())
            copy.chmod(0o755)
        done = subprocess.run(
            [copy, "check", "python:kernels:attention", "--op", SDPA],
            capture_output=True,
            text=True,
            cwd=HERE,
            env={
                **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
                "ATTEST_PYTHON": python,
                "PYTHONNOUSERSITE": "1",
            },
        )
        if "Verdict" in done.stdout:
            pytest.skip("the package is installed in this interpreter")
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_ctrl_c_writes_the_report_so_far(tmp_path):
    (tmp_path / "slow.py").write_text(
        f"import sys, time\nsys.path.insert(0, {str(HERE)!r})\nimport kernels\n"
        "def slow(q, k, v):\n    with open('calls', 'a') as calls:\n        print(file=calls)\n"
        "    time.sleep(0.2)\n    return kernels.attention(q, k, v)\n"
    )
    process = subprocess.Popen(
        [CLI, "check", "python:slow:slow", "--op", SDPA, "--json", tmp_path / "r.json"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "ATTEST_PYTHON": sys.executable},
    )
    for _ in range(600):  # until it is in the middle of its calls, however fast the machine is
        if (tmp_path / "calls").exists() and len((tmp_path / "calls").read_text()) >= 10:
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    (row,) = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert row["ended_by"] == "interrupt" and row["not_run"] > 0 and "ended by interrupt" in out


def test_survey_writes_a_record_and_counts_what_is_absent(tmp_path):
    status, out, err = attest(
        "survey", "--only", "jax:softmax", "--json", tmp_path / "s.json", "--markdown", tmp_path / "s.md"
    )
    assert status == 0, err
    record = json.loads((tmp_path / "s.json").read_text())
    assert record["rows"] and all(row["library"] == "jax" for row in record["rows"])
    assert (tmp_path / "s.md").read_text() == out
    if record["absent"]:
        assert f"Skipped: {len(record['absent'])} files of adapters" in out
    status, out, err = attest("survey", "--only", "nothing:*")
    assert (status == 2 and "matches no adapter" in err) or record["absent"]
