# SPDX-License-Identifier: MIT
"""Runs the commands of a page, one after the other, in a scratch folder that looks like the checkout."""

import importlib.metadata
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import pages
from same_output import difference


class Session:
    """The commands of one page. `attest` is the command of a build folder, and Python imports the package of it."""

    def __init__(self, project, build):
        self.build = pathlib.Path(build)
        self.command = self.build / "tools" / "attest-cli"
        if not self.command.is_file():
            raise pages.Mistake(
                f"there is no {self.command}: tools/test builds it, and ATTEST_BUILD_DIR names its folder"
            )
        self.scratch = tempfile.TemporaryDirectory(prefix="attest-docs-")
        self.folder = pathlib.Path(self.scratch.name) / "attest"
        self.folder.mkdir()
        for entry in project.iterdir():
            if entry.name not in ("build", "tools") and not entry.name.startswith("."):
                (self.folder / entry.name).symlink_to(entry)
        programs = pathlib.Path(self.scratch.name) / "bin"
        for folder, besides in ((self.folder / "tools", project / "tools"), (programs, None)):
            folder.mkdir()
            (folder / "attest").symlink_to(self.command)
            for entry in besides.iterdir() if besides else ():
                if entry.name != "attest":
                    (folder / entry.name).symlink_to(entry)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(programs), os.path.dirname(sys.executable), os.environ["PATH"]]),
            "PYTHONPATH": str(self.build / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ATTEST_PYTHON": sys.executable,
            "ATTEST_PROJECT_DIR": str(project),
        }
        if not any(point.name == "attest" for point in plugins_of_pytest()):
            self.environment["PYTEST_PLUGINS"] = "attest.pytest_plugin"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def run(self, command, status):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != status:
            raise pages.Mistake(
                f"`{command}` ended with {done.returncode}, not {status}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines()).strip("\n") + "\n"

    def recorded(self, name, command):
        """What a test printed that ran the same command: (text, whether it is a part of it), or None. A record that is
        older than the command is none."""
        path = self.build / "records" / f"{name}.txt"
        if not path.is_file() or path.stat().st_mtime < self.command.stat().st_mtime:
            return None
        first, _, text = path.read_text().partition("\n")
        words, recorded = shlex.split(command)[1:], shlex.split(first)
        if not any(recorded[i : i + len(words)] == words for i in range(len(recorded))):
            raise pages.Mistake(f"{path} is of `{first}`, not of `{command}`")
        return text.strip("\n") + "\n", text.startswith("Part ")


def plugins_of_pytest():
    points = importlib.metadata.entry_points()
    return points.select(group="pytest11") if hasattr(points, "select") else points.get("pytest11", [])


def shortened(text, options):
    lines = text.splitlines(keepends=True)
    first, last = options.get("first", 0), options.get("last", 0)
    if (first or last) and len(lines) > first + last:
        lines = [*lines[:first], "...\n", *(lines[-last:] if last else [])]
    return "".join(lines)


def is_left_out(block):
    """Why the commands of a block are not run here; None where they are."""
    reason = pages.reason_not_to_run(block)
    if reason or block.language != "console":
        return reason
    module = pages.options_of(block).get("needs")
    if module and importlib.util.find_spec(module) is None:
        return f"Python has no module {module} here"
    return None


def differences(session, page, text, check):
    """Runs the blocks of a page. Gives (block, message, its new text) for each that is not what its commands print.
    Only `check` uses a record of a part."""
    for block in pages.blocks(text):
        if block.language != "console" or is_left_out(block) is not None:
            continue
        options = pages.options_of(block)
        commands = pages.commands_of(block)
        new, message = "", ""
        for number, (command, shown) in enumerate(commands, 1):
            record = session.recorded(options["record"], command) if "record" in options else None
            if record and record[1] and not check:
                record = None  # a part cannot be written, the command is run
            if record and record[1]:
                message = message or part_differs(shown, record[0])
                new += f"$ {command}\n{shown}"
                continue
            try:
                printed = (
                    record[0] if record else session.run(command, options.get("status", 0) * (number == len(commands)))
                )
            except pages.Mistake as mistake:
                raise pages.Mistake(f"{page}:{block.line}: {mistake}") from None
            printed = "" if "quiet" in options else shortened(printed, options)
            differs = difference(shown, printed)
            message = message or (f"`{command}`\n{differs}" if differs else "")
            new += f"$ {command}\n{printed if differs else shown}"
        if message:
            yield block, message, new


def part_differs(shown, printed):
    """Each line at the end of what a part of a sweep prints, behind the last empty line and from the first line that is
    shown on, must be one of those shown."""
    rows = [line.split() for line in shown.splitlines()]
    tail = printed.strip().rpartition("\n\n")[2].splitlines()
    first = next((i for i, line in enumerate(tail) if line.split() in rows), 0)
    missing = [line for line in tail[first:] if line.split() not in rows]
    return f"printed by a part, and not shown: {missing[0]!r}\n" if missing else ""
