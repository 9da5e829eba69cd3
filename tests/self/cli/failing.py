# SPDX-License-Identifier: MIT
"""Shared by the tests of failing system calls and of kills: a command, and the library that makes one call fail."""

import errno
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess

import support

LIMIT = 60  # seconds that a command may take
EQUATION = "positional.learned"  # a cheap one

# In the order of failures/failing_call.c: function, and the errno of a call of it that fails.
FUNCTIONS = {
    "open_to_write": errno.ENOSPC,
    "open_to_read": errno.EMFILE,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "fsync": errno.EIO,
    "close": errno.EIO,
    "rename": errno.EIO,
    "mkdir": errno.ENOSPC,
    "fstat": errno.EIO,
    "mmap": errno.ENOMEM,
    "mremap": errno.ENOMEM,
    "mprotect": errno.ENOMEM,
    "ftruncate": errno.ENOSPC,
    "memfd_create": errno.EMFILE,
    "fcntl": errno.EMFILE,
    "socketpair": errno.EMFILE,
    "posix_spawn": errno.EAGAIN,
    "pthread_create": errno.EAGAIN,
    "send": errno.EPIPE,
    "recv": errno.ECONNRESET,
    "malloc": errno.ENOMEM,
}
SHORT, KILL = "short", "kill"  # words for FAILING_CALL_ERRNO
COUNTS = struct.Struct(f"{len(FUNCTIONS) + 1}Q")
TEMPORARY = re.compile(r"\.tmp-[0-9]+$")


def compile_shim():
    library = support.fresh_folder("shim") / "failing_call.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    source = support.HERE / "failures" / "failing_call.c"
    subprocess.run([*compiler, *flags, str(source), "-o", str(library), "-ldl"], check=True)
    return library


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class End:
    """How a command ended. `status` is None where it had to be ended; `calls` are those of each function."""

    def __init__(self, status, out, err, counts):
        self.status, self.out, self.err = status, out, err
        *calls, self.injected = counts
        self.calls = dict(zip(FUNCTIONS, calls))

    def __str__(self):
        return f"exit status {self.status}\n{self.out}\n{self.err}"


class Command:
    """A command that is run again and again, each time in a folder of its own, which is its working folder. `old` are
    files that are there before, `before` a folder whose files are, and `cache` says whether it keeps true values."""

    def __init__(self, *arguments, old=(), before=None, cache=False):
        self.arguments, self.old, self.before, self.cache = arguments, old, before, cache

    def fresh(self, name):
        folder = support.fresh_folder(name) / "run"
        if self.before:
            shutil.copytree(self.before, folder)
        folder.mkdir(exist_ok=True)
        for name in self.old:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"old")
        return folder

    def start(self, folder, **more):
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", **more}
        environment.pop("ATTEST_CACHE", None)
        if self.cache:
            environment["ATTEST_CACHE"] = "cache"
        return subprocess.Popen(
            [support.CLI, *map(str, self.arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    def run(self, folder, shim=None, function="", number=0, how=0, worker=False):
        """With a shim, calls are counted, and that call of that function fails."""
        counts = folder.with_name("counts")
        counts.write_bytes(bytes(COUNTS.size))
        more = {}
        if shim:
            more = {
                "LD_PRELOAD": str(shim),
                "FAILING_CALL_COUNTS": str(counts),
                "FAILING_CALL_FUNCTION": function,
                "FAILING_CALL_NUMBER": str(number),
                "FAILING_CALL_ERRNO": str(how),
                "FAILING_CALL_WORKER": str(int(worker)),
            }
        with self.start(folder, **more) as process:
            try:
                out, err = process.communicate(timeout=LIMIT)
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                out, err = process.communicate()
                status = None
        return End(status, out, err, COUNTS.unpack(counts.read_bytes()))


def npy_array(path):
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    return data[:begin], struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def answer(folder):
    """Writes the outputs of positional.learned into a folder that `attest emit` wrote."""
    for page in folder.glob("case-*/case.json"):
        case = json.loads(page.read_text())
        head, x = npy_array(page.parent / "in" / "x.npy")
        _, table = npy_array(page.parent / "in" / "table.npy")
        y = [a + b for a, b in zip(x, table[case["parameters"]["start"] * case["sizes"]["d"] :])]
        (page.parent / "out" / "y.npy").write_bytes(head + struct.pack(f"<{len(y)}f", *y))


def sanitized():
    """Whether the command has a sanitizer in it, which must be the first library."""
    return b"__asan_init" in pathlib.Path(support.CLI).read_bytes()
