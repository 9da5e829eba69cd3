# SPDX-License-Identifier: MIT
"""The pytest plugin, run as a user runs it: on a small test file, in a process of its own."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
HEADER = "import sys; sys.path.insert(0, %r)\nimport attest\nimport kernels\n" % str(HERE)
GOOD = """
@attest.conformance("attention.scaled_dot_product", conventions=kernels.ZERO, laws=1, strength=1)
def good():
    return kernels.attention
"""
BAD = """
@attest.conformance("attention.scaled_dot_product", conventions=kernels.ZERO, laws=1, strength=1)
def bad():
    return kernels.scale_missing
"""


@pytest.fixture
def run(tmp_path):
    def run(text, *arguments):
        (tmp_path / "test_it.py").write_text(HEADER + text)
        plugin = [] if installed() else ["-p", "attest.pytest_plugin"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-rA", *plugin, "test_it.py", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.returncode, done.stdout + done.stderr

    run.folder = tmp_path
    return run


def installed():
    """Whether pytest finds the plugin by itself, as in an installed package."""
    import importlib.metadata

    return any(entry.value == "attest.pytest_plugin" for entry in importlib.metadata.entry_points(group="pytest11"))


def test_one_test_per_group(run):
    status, text = run(GOOD)
    assert status == 0, text
    for group in ("random", "masked", "tile_edges", "regimes", "laws", "statistics", "contract"):
        assert f"PASSED test_it.py::good::{group}" in text
    assert re.search(r"test_it\.py::good f32: PASS, (\d+) of \1 cases", text) and "assumed: block is held at 8" in text


def test_failures_carry_the_diagnosis_and_the_repro(run):
    status, text = run(BAD + GOOD)
    assert status == 1
    assert "FAILED test_it.py::bad::random" in text and "PASSED test_it.py::good::random" in text
    assert (
        "looks like    scale_missing" in text and "attest.reproduce('attest:attention.scaled_dot_product:f32;" in text
    )
    assert "Traceback" not in text


def test_failures_that_are_waived_are_skipped(run):
    waivers = run.folder / "waivers.toml"
    text = BAD.replace("laws=1, strength=1", "laws=0, strength=0, waivers='waivers.toml'")
    entry = "[[waiver]]\nequation = 'attention.*'\nreason = 'known'\nexpires = {}\n"
    waivers.write_text(entry.format("2999-12-31"))
    status, said = run(text)
    assert status == 0 and re.search(r"SKIPPED .*\d+ failures waived until 2999-12-31: known", said), said
    assert "PASSED test_it.py::bad::contract" in said and "FAILED" not in said
    waivers.write_text(entry.format("2999-12-31") + "condition = 'n > 3'\n")
    status, said = run(text)
    assert status == 1 and "FAILED test_it.py::bad::random" in said and "failures waived until" in said, said
    waivers.write_text(entry.format("2001-12-31"))
    status, said = run(text)
    assert status == 1 and "FAILED test_it.py::bad::contract" in said and "expired on 2001-12-31" in said, said


def test_several_profiles(run):
    status, text = run(GOOD.replace("conventions", "profile=('f32', 'f64'), max_cases=6, conventions"))
    assert status == 0 and "good::f32-random" in text and "good::f64-random" in text


def test_what_no_case_could_judge_is_skipped_and_nothing_at_all_fails(run):
    status, text = run(GOOD.replace("laws=1, strength=1", "laws=0, strength=0, params={'mask': False}"))
    assert status == 0 and "SKIPPED" in text and "no case was judged" in text
    assert "capability mask == false" in text
    status, text = run(GOOD.replace("laws=1", "laws=0, capabilities='n == 100000'"))
    assert status == 1 and "FAILED test_it.py::good::regimes" in text and "leaves no size n from 0 to 8192" in text


def test_a_kernel_that_cannot_be_made_is_an_error_of_its_tests(run):
    status, text = run(GOOD.replace("return kernels.attention", "raise RuntimeError('no compiler')"))
    assert status == 1 and "RuntimeError: no compiler" in text and "FAILED test_it.py::good::contract" in text


def test_an_unknown_equation_stops_collection(run):
    status, text = run(GOOD.replace("attention.scaled_dot_product", "attention.scaled_dot"))
    assert status == 2 and "did you mean 'attention.scaled_dot_product'" in text


def test_files_without_kernels_are_none_of_its_business(run):
    status, text = run("def test_one():\n    assert True\n")
    assert status == 0 and "1 passed" in text and "error/bound" not in text


def test_report_as_json_and_html(run):
    status, _ = run(BAD + GOOD, "--attest-report=report.json")
    assert status == 1
    bad, good = json.loads((run.folder / "report.json").read_text())
    assert bad["verdict"] == "FAIL" and bad["faults"][0]["name"] == "scale_missing" and good["verdict"] == "PASS"
    run(BAD + GOOD, "--attest-report=report.html")
    page = (run.folder / "report.html").read_text()
    assert "1 of 2 kernels pass" in page and "scale_missing" in page and page.rstrip().endswith("</html>")
    for path in (["report.txt"], ["absent/report.json"]):
        status, text = run(GOOD, "--attest-report=" + path[0])
        assert status == 4 and ("must end in .json or .html" in text or "there is no folder" in text)


def several(texts):
    return "".join(text.replace("def ", f"def k{number}_") for number, text in enumerate(texts))


@pytest.mark.parametrize("mode", ["load", "loadscope"])
def test_processes_of_xdist_give_one_report(run, mode):
    pytest.importorskip("xdist")
    text = several([GOOD, BAD, GOOD]).replace("return", "open('judged', 'a').write('x'); return")
    text += "\ndef test_beside_them():\n    pass\n"
    status, alone = run(text, "--attest-report=alone.json")
    assert status == 1
    (run.folder / "judged").unlink()
    status, output = run(text, "-n", "2", "--dist", mode, "--attest-report=report.json")
    assert status == 1, output
    count = re.compile(r"(\d+) failed, (\d+) passed(?:, (\d+) skipped)?")
    assert count.search(output).groups() == count.search(alone).groups()
    alone, report = (
        {one["name"]: one for one in json.loads((run.folder / name).read_text())}
        for name in ("alone.json", "report.json")
    )
    assert sorted(report) == sorted(alone) and len(alone) == 3
    for name, one in report.items():
        assert one["verdict"] == alone[name]["verdict"] and one["faults"] == alone[name]["faults"]
        assert output.count(f"{name} f32: ") == 1
    assert ("several processes may judge one kernel" in output) == (mode == "load")
    assert mode == "load" or (run.folder / "judged").read_text() == "xxx"


def test_xdist_takes_no_page(run):
    pytest.importorskip("xdist")
    status, output = run(GOOD, "-n", "2", "--attest-report=report.html")
    assert status == 4 and "with pytest-xdist the name must end in .json" in output


def test_report_of_a_process_of_xdist_that_ends_later_is_kept(run):
    pytest.importorskip("xdist")
    text = GOOD + "\ndef test_that_ends_the_process():\n    import os\n    os._exit(1)\n"
    status, output = run(text, "-n", "1", "--dist", "loadfile", "--attest-report=report.json")
    assert status == 1 and "worker 'gw0' crashed" in output, output
    (good,) = json.loads((run.folder / "report.json").read_text())
    assert good["verdict"] == "PASS"


def test_ctrl_c_leaves_the_report_so_far(run):
    text = GOOD + GOOD.replace("good", "stopped").replace("kernels.attention", "kernels.interrupts")
    status, output = run(text, "--attest-report=report.json")
    assert status == 2, output
    good, stopped = json.loads((run.folder / "report.json").read_text())
    assert good["verdict"] == "PASS" and stopped["report"]["rows"][0]["ended_by"] == "interrupt"
