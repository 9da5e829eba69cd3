# SPDX-License-Identifier: MIT
"""tools/attest builds what its command line needs, says how far it is, and becomes the command."""

import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
import unittest

import support

ROOT = support.HERE.parents[2]
BUILD = pathlib.Path(os.environ["ATTEST_BUILD_DIR"]) if os.environ.get("ATTEST_BUILD_DIR") else None
QUERY = "attest:attention.softmax:f32;r=3;s=5;flag=random;seed=1"

# The plugins that a command line needs; nothing else is built beside the command.
NEEDS = {
    "--help": "",
    "list": "",
    "show linear.causal": "",
    "golden verify": "",
    "emit linear.causal --to folder": "",
    "judge folder": "",
    "check ./kernel.so": "",
    "check python:module:function --op linear.causal": "",
    "survey": "",
    "check openmp": "openmp",
    "diagnose openmp --only linear.causal": "openmp",
    "bench openmp --list": "openmp",
    f"reproduce {QUERY}": "openmp",
    "check cuda": "cuda",
    "bench cuda": "cuda",
    "check cuda-emulated": "cuda_emulated",
    "check reference": "reference",
    "check fault:attention.softmax.base2": "mutants",
    "diagnose order:pairwise": "mutants",
    "mutants --seeds 40": "mutants",
    "coverage": "openmp cuda_emulated",
    "portable": "openmp cuda cuda_emulated reference mutants",
}
# The build has MPI's plugin where it has found MPI.
WITH_MPI = {"check mpi --ranks 3": "mpi", "diagnose mpi --ranks 3 --only linear.causal": "mpi"}


def targets(*words):
    done = subprocess.run([ROOT / "tools/build", "--targets", "--", *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def commands(*words):
    return subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", *targets(*words)], capture_output=True, text=True, check=True
    ).stdout


def plugins(text):
    return set(re.findall(r"-o plugins/libattest_(\w+)\.so", text))


def needs():
    return NEEDS | (WITH_MPI if "for-mpi" in targets("mpi") else {})


@unittest.skipIf(BUILD is None, "needs ATTEST_BUILD_DIR, a configured build folder")
class Needs(unittest.TestCase):
    def test_a_command_line_builds_what_it_needs(self):
        for line, needed in needs().items():
            with self.subTest(line=line):
                text = commands(*line.split())
                self.assertIn("-o tools/attest-cli", text)
                self.assertEqual(plugins(text), set(needed.split()))

    def test_no_cuda_source_is_compiled_for_another_plugin(self):
        for line, needed in needs().items():
            with self.subTest(line=line):
                units = re.search(r"attest_cuda(_emulated)?\.dir/\S*\.o", commands(*line.split()))
                self.assertEqual(units is not None, "cuda" in needed)

    def test_it_is_what_the_command_asks_for(self):
        """The command, where there are no plugins, says which one it wants."""
        everything = plugins(commands("portable"))
        candidates = sorted(name.replace("_", "-") for name in everything - {"mutants"}) + [
            "fault:attention.softmax.base2",
            "order:pairwise",
        ]
        lines = [
            f"{verb} {candidate}" for verb in ("check", "diagnose", f"reproduce {QUERY}") for candidate in candidates
        ]
        for line in [*lines, f"reproduce {QUERY}", "mutants --only attention.softmax.base2 --seeds 0"]:
            with self.subTest(line=line):
                _, out, err = support.run(*line.split(), env={"ATTEST_PLUGIN_DIR": str(support.fresh_folder())})
                wanted = set(re.findall(r"libattest_(\w+)\.so", out + err))
                self.assertEqual(len(wanted), 1, out + err)
                self.assertLessEqual(wanted, plugins(commands(*line.split())))


RULES = """
rule slow
  command = sleep $seconds && echo made >$out
  description = Building CXX object $out
rule wrong
  command = echo this is why >&2 && false
  description = Building CXX object $out
rule program
  command = cp command $out && chmod +x $out
  description = Linking CXX executable $out
rule manifest
  command = :
  generator = 1
build build.ninja: manifest
build first.o: slow
  seconds = {first}
build second.o: slow
  seconds = {second}
build wrong.o: wrong
build tools/attest-cli: program | first.o second.o
build attest-cli: phony tools/attest-cli
build for-openmp: phony openmp.o
build openmp.o: slow
  seconds = 0
build for-fault: phony wrong.o
"""
COMMAND = '#!/bin/sh\necho "the command: $*"\ncat\nexit 5\n'


def build_folder(first=0, second=0):
    """A folder that is built with steps of so many seconds, and then holds a command."""
    folder = support.fresh_folder("build")
    (folder / "tools").mkdir()
    (folder / "build.ninja").write_text(RULES.format(first=first, second=second))
    (folder / "CMakeCache.txt").write_text(
        "CMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_MAKE_PROGRAM:FILEPATH=ninja\nCMAKE_PROJECT_NAME:STATIC=attest\n"
    )
    (folder / "command").write_text(COMMAND)
    return folder


def environment(folder):
    return {**os.environ, "ATTEST_BUILD_DIR": str(folder), "ATTEST_SKIP_SETUP": "1", "ATTEST_BUILD_TICK": "1"}


def launched(folder, *words, given=""):
    done = subprocess.run(
        [ROOT / "tools/attest", *words],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(folder),
    )
    return done.returncode, done.stdout, done.stderr


def without_progress(errors):
    """What a build says of itself where the machine is slow is left out."""
    return re.sub("^attest: (building|built) the command, .*\n", "", errors, flags=re.MULTILINE)


def terminal(folder, *words, keys=b"", after=b""):
    """Launches on a terminal, and presses keys after some words; returns the exit status and all that the terminal
    got."""
    child, descriptor = pty.fork()
    if child == 0:
        os.execve(ROOT / "tools/attest", ["attest", *words], {**environment(folder), "TERM": "xterm", "COLUMNS": "120"})
    seen = b""
    while True:
        try:
            read = os.read(descriptor, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not read:
            break
        seen += read
        if keys and after in seen:
            os.write(descriptor, keys)
            keys = b""
    os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen.decode()


def still_at_work(folder):
    """Processes of a build: they work in its folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve() == folder:
                found.append((entry / "cmdline").read_text())
        except OSError:
            pass
    return found


class Launcher(unittest.TestCase):
    def test_streams_and_status_are_the_commands(self):
        folder = build_folder()
        for _ in range(2):  # built, and found built
            status, out, err = launched(folder, "check", "openmp", given="what it is given\n")
            self.assertEqual((status, out), (5, "the command: check openmp\nwhat it is given\n"), err)
            self.assertEqual(without_progress(err), "")
        self.assertTrue((folder / "openmp.o").exists())
        self.assertFalse((folder / "wrong.o").exists())

    def test_it_says_what_it_builds_and_how_far_it_is(self):
        folder = build_folder(first=4, second=5)
        status, out, err = launched(folder, "check", "openmp")
        self.assertEqual((status, out), (5, "the command: check openmp\n"), err)
        lines = err.splitlines()
        self.assertRegex(lines[0], r"^attest: building the command, openmp: [01] of 4 steps, \d+ s so far, ")
        self.assertRegex(lines[-1], r"^attest: built the command, openmp in \d+ s$")
        self.assertGreaterEqual(len(lines), 4)

    def test_the_next_time_it_knows_how_long(self):
        folder = build_folder(first=0, second=9)
        launched(folder, "list")
        (folder / "second.o").unlink()
        _, _, err = launched(folder, "list")
        left = [int(seconds) for seconds in re.findall(r"about (\d+) s left", err)]
        self.assertTrue(left and 8 <= left[0] <= 14, err)

    def test_a_terminal_has_one_line_that_changes(self):
        status, text = terminal(build_folder(first=4), "list", keys=b"\x04", after=b"the command")
        self.assertEqual(status, 5, text)
        self.assertGreaterEqual(text.count("\r\033[Kattest: building the command: "), 2, text)
        self.assertEqual(text.count("\n"), len(["built the command in 4 s", "the command: list"]), text)

    def test_a_failed_build_is_status_2_and_says_why(self):
        folder = build_folder()
        status, out, err = launched(folder, "check", "fault:x")
        self.assertEqual((status, out), (2, ""))
        self.assertTrue(without_progress(err).startswith("FAILED: wrong.o"), err)
        self.assertIn("this is why", err)
        self.assertIn(f"the build in {folder} failed", err)
        self.assertIn("this is why", (folder / "attest-build.log").read_text())

    def test_a_failed_configure_is_status_2_and_says_why(self):
        folder = build_folder()
        rules = (folder / "build.ninja").read_text()
        (folder / "build.ninja").write_text(
            rules.replace("command = :", "command = echo CMake Error: no such thing && false").replace(
                "build.ninja: manifest", "build.ninja: manifest CMakeLists.txt"
            )
        )
        time.sleep(0.1)
        (folder / "CMakeLists.txt").touch()  # newer than build.ninja
        status, out, err = launched(folder, "list")
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn("CMake Error: no such thing", err)

    def test_signals_end_the_build(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                folder = build_folder(first=60)
                child = subprocess.Popen(
                    [ROOT / "tools/build", "list"],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment(folder),
                )
                self.assertIn("building", child.stderr.readline())
                child.send_signal(number)
                out, err = child.communicate(timeout=30)
                self.assertEqual((child.returncode, out), (128 + number, ""))
                self.assertIn("the build was ended before it was done", err)
                self.assertEqual(still_at_work(folder), [])

    def test_ctrl_c_ends_the_build(self):
        folder = build_folder(first=60)
        status, text = terminal(folder, "list", keys=b"\x03", after=b"building")
        self.assertEqual(status, 128 + signal.SIGINT, text)
        self.assertIn("the build was ended before it was done", text)
        self.assertNotIn("the command: list", text)
        self.assertEqual(still_at_work(folder), [])

    def test_two_calls_build_one_after_the_other(self):
        folder = build_folder(first=1)
        with open(folder / "attest-build.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            child = subprocess.Popen(
                [ROOT / "tools/attest", "list"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(folder),
            )
            self.assertIn("another call is building", child.stderr.readline())
            time.sleep(2)
            self.assertFalse((folder / "first.o").exists())
        out, _ = child.communicate(timeout=30)
        self.assertEqual((child.returncode, out), (5, "the command: list\n"))


if __name__ == "__main__":
    unittest.main()
