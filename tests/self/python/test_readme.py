# SPDX-License-Identifier: MIT
"""Pages on other processors, and what a page's test file says of a wrong kernel.

The pages themselves are the tests documents/*: tools/docs runs their commands and compares."""

import os
import pathlib
import subprocess
import sys

import pytest
from test_pytest_plugin import installed

ROOT = pathlib.Path(__file__).parents[3]
CONSUMER = ROOT / "tests" / "self" / "consumer"


def python(*arguments, cwd=CONSUMER):
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif("OPENBLAS_CORETYPE" not in os.environ, reason="documents/* run the pages as they are")
@pytest.mark.parametrize("page", ["README.md", "tools/judge/README.md"])
def test_a_page_prints_what_it_shows(page):
    status, out, err = python(ROOT / "tools" / "docs", "--check", page, cwd=ROOT)
    assert status == 0 and "blocks of commands run" in out, out + err


def test_jax_attention_without_its_scale_is_named(tmp_path):
    """As it is, tools/python/README.md runs it."""
    pytest.importorskip("jax")
    plugin = [] if installed() else ["-p", "attest.pytest_plugin"]
    text = (CONSUMER / "test_jax_attention.py").read_text()
    wrong = text.replace("scale=scale", "scale=1.0 if scale is None else scale")
    assert wrong != text
    (tmp_path / "test_wrong.py").write_text(wrong)
    status, out, err = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "test_wrong.py", cwd=tmp_path)
    assert (
        status == 1
        and "looks like    scale_missing" in out
        and "every case is what that equation gives" in " ".join(out.split())
    ), out + err
