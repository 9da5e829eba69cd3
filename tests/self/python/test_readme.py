# SPDX-License-Identifier: MIT
"""What the README shows of Python is what runs, and prints what it shows."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from same_output import difference
from test_pytest_plugin import installed

ROOT = pathlib.Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
CONSUMER = ROOT / "tests" / "self" / "consumer"
LICENCE = "# SPDX-License-Identifier: MIT\n"


def shown(command):
    (text,) = re.findall(rf"<!-- output: {re.escape(command)} -->\n```\n(.*?)```\n<!-- end -->", README, re.S)
    return text


def python(*arguments, cwd=CONSUMER):
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("file", ["judge.py", "test_jax_attention.py"])
def test_the_readme_shows_the_file(file):
    text = (CONSUMER / file).read_text().removeprefix(LICENCE)
    assert f"```python\n{text}```" in README and f"(tests/self/consumer/{file})" in README


def test_judge_py_prints_what_the_readme_shows():
    status, out, err = python("judge.py")
    assert status == 0 and not difference(shown("judge.py"), out), difference(shown("judge.py"), out) + err


def test_the_diagnosis_of_kernel_c_prints_what_the_readme_shows(tmp_path):
    right = (CONSUMER / "kernel.c").read_text()
    wrong = right.replace("i + (s - n)", "i")
    assert wrong != right
    (tmp_path / "kernel.c").write_text(wrong)
    subprocess.run(
        [
            *shlex.split(os.environ.get("CC", "cc")),
            "-std=c11",
            "-O2",
            "-shared",
            "-fPIC",
            f"-I{ROOT / 'specs/include'}",
            "kernel.c",
            "-o",
            "kernel.so",
            "-lm",
        ],
        cwd=tmp_path,
        check=True,
    )
    prints_what_the_readme_shows("diagnose ./kernel.so", tmp_path)


def test_the_diagnosis_of_a_fault_prints_what_the_readme_shows(tmp_path):
    (command,) = re.findall(r"<!-- output: tools/attest (diagnose fault:.*) -->", README)
    prints_what_the_readme_shows(command, tmp_path)


def prints_what_the_readme_shows(command, folder):
    done = subprocess.run([os.environ["ATTEST_CLI"], *command.split()], cwd=folder, capture_output=True, text=True)
    expected = shown("tools/attest " + command)
    assert done.returncode == 1 and not difference(expected, done.stdout), (
        difference(expected, done.stdout) + done.stderr
    )


def test_the_command_of_the_python_section():
    (line,) = re.findall(r"^    attest check (python:judge:attention .*)$", README, re.M)
    done = subprocess.run(
        f"{os.environ['ATTEST_CLI']} check {line}",
        shell=True,
        cwd=CONSUMER,
        capture_output=True,
        text=True,
        env={**os.environ, "ATTEST_PYTHON": sys.executable},
    )
    assert done.returncode == 0 and "Verdict: PASS" in done.stdout, done.stdout + done.stderr


def test_jax_attention_passes_and_without_its_scale_it_is_named(tmp_path):
    pytest.importorskip("jax")
    plugin = [] if installed() else ["-p", "attest.pytest_plugin"]
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin]
    text = (CONSUMER / "test_jax_attention.py").read_text()
    (tmp_path / "test_right.py").write_text(text)
    status, out, err = python(*arguments, "test_right.py", cwd=tmp_path)
    assert status == 0 and "failed" not in out, out + err
    wrong = text.replace("scale=scale", "scale=1.0 if scale is None else scale")
    assert wrong != text
    (tmp_path / "test_wrong.py").write_text(wrong)
    status, out, err = python(*arguments, "test_wrong.py", cwd=tmp_path)
    assert (
        status == 1
        and "looks like    scale_missing" in out
        and "every case is what that equation gives" in " ".join(out.split())
    ), out + err
