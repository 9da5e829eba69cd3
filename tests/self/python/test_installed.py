# SPDX-License-Identifier: MIT
"""The tree that a wheel installs, put together from the build: package, command and data find each other wherever they
lie."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
BUILD = os.environ["ATTEST_BUILD_DIR"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    for component in ("Unspecified", "python"):
        subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", site / "attest", "--component", component],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    shutil.copytree(
        ROOT / "tools/python/attest", site / "attest", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    return site


def run(site, *arguments, cwd=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATTEST_")}
    done = subprocess.run(
        list(map(str, arguments)),
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.returncode, done.stdout, done.stderr


def test_the_package_judges(site):
    status, out, err = run(site, sys.executable, "judge.py", cwd=ROOT / "tests/self/consumer")
    assert status == 0 and out.startswith("PASS") and "scale_missing" in out, out + err
    status, out, err = run(
        site, sys.executable, "-c", "import attest; print(attest.__file__, len(list(attest.golden('linear.causal'))))"
    )
    assert status == 0 and str(site) in out and int(out.split()[-1]) > 30, err


def test_the_command_and_its_plugins(site):
    start = "from attest.__main__ import command; command()"
    assert run(site, sys.executable, "-c", start, "list")[1].count("\n") > 30
    for candidate, verdict in (("openmp", "PASS"), ("fault:attention.softmax.base2", "FAIL")):
        status, out, err = run(
            site,
            sys.executable,
            "-c",
            start,
            "check",
            candidate,
            "--only",
            "attention.softmax*",
            "--profile",
            "f32",
            "--laws",
            "0",
            "--strength",
            "0",
        )
        assert f"Verdict: {verdict}" in out, (candidate, out + err)
    status, out, err = run(
        site,
        sys.executable,
        "-c",
        start,
        "check",
        "python:judge:attention",
        "--op",
        "attention.scaled_dot_product",
        "--capabilities",
        "empty_row == 'nan'",
        cwd=ROOT / "tests/self/consumer",
    )
    assert status == 0, out + err


def test_golden_files_verify(site):
    status, out, err = run(site, site / "attest/bin/attest", "golden", "verify")
    assert status == 0 and "match" in out, out + err
