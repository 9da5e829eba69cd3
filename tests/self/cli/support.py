# SPDX-License-Identifier: MIT
"""Shared by the tests of the command: running it, compiling plugins, a project folder to damage."""

import atexit
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CLI = os.environ.get("ATTEST_CLI", str(HERE.parents[2] / "tools" / "attest"))
PROJECT = pathlib.Path(os.environ.setdefault("ATTEST_PROJECT_DIR", str(HERE.parents[2])))
PLUGINS = HERE / "plugins"

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="attest-cli-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


def fresh_folder(prefix="folder"):
    return pathlib.Path(tempfile.mkdtemp(prefix=prefix + "-", dir=SCRATCH))


def run(*args, env=None, timeout=600, **options):
    """Runs the command; returns its exit status, standard output and standard error."""
    done = subprocess.run(
        [CLI, *map(str, args)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def compile_plugin(source, *defines, name=None):
    """Compiles a plugin as its author would: a plain C11 compiler and the one header."""
    stem = name or "-".join([pathlib.Path(source).stem, *defines])
    library = fresh_folder("plugin") / ("".join(c if c.isalnum() or c in "-_" else "_" for c in stem) + ".so")
    dlpack = os.environ.get("ATTEST_DLPACK_INCLUDE")
    subprocess.run(
        [
            *shlex.split(os.environ.get("CC", "cc")),
            "-std=c11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-I{PROJECT / 'specs' / 'include'}",
            *([f"-isystem{dlpack}"] if dlpack else []),
            *(f"-D{define}" for define in defines),
            str(PLUGINS / source),
            "-o",
            str(library),
            "-lm",
        ],
        check=True,
    )
    return library


def report_of(*args, **options):
    """Runs a command that takes --json; returns exit status, all text, and the report (None when none was written)."""
    path = fresh_folder("report") / "report.json"
    status, out, err = run(*args, "--json", path, **options)
    return status, out + err, json.loads(path.read_text()) if path.exists() else None


def messages_of(report):
    return [failure["message"] for row in report["rows"] for failure in row["failures"]]


def project_copy():
    """A project folder whose golden files may be damaged; everything else is a link to the real one."""
    copy = fresh_folder("project")
    for entry in PROJECT.iterdir():
        if entry.name not in ("golden", "build", ".git"):
            (copy / entry.name).symlink_to(entry)
    (copy / "golden").mkdir()
    for entry in (PROJECT / "golden").iterdir():
        target = copy / "golden" / entry.name
        if entry.is_dir() and any(entry.rglob("*.safetensors")):
            shutil.copytree(entry, target)
        else:
            target.symlink_to(entry)
    return copy


def workers_of(pid):
    """Processes of kernels that this process started: their command line names it."""
    found = []
    for page in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = page.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if words[0] == b"attest-worker" and str(pid).encode() in words[1:]:
            found.append(int(page.parent.name))
    return found
