# SPDX-License-Identifier: MIT
"""Colour on terminals alone, and none where NO_COLOR is set; the table of exit statuses is what commands end with."""

import os
import pty
import re
import unittest

import support

FAILS = ["check", "fault:positional.learned.off_by_one", "--profile", "f32"]
FAILS += ["--max-cases", "6", "--laws", "0", "--strength", "0"]


def on_terminal(*words, **variables):
    """What the command writes to a terminal."""
    leader, follower = pty.openpty()
    child = os.fork()
    if child == 0:
        os.dup2(follower, 1)
        os.environ.pop("NO_COLOR", None)
        os.environ.update(variables)
        os.execv(support.CLI, [support.CLI, *words])
    os.close(follower)
    text = b""
    try:
        while read := os.read(leader, 65536):
            text += read
    except OSError:  # how the end of a terminal reads
        pass
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1, text
    return text


class Colour(unittest.TestCase):
    def test_is_on_terminals_alone(self):
        self.assertIn(b"\x1b[31;1mFAIL\x1b[0m", on_terminal(*FAILS))
        self.assertIn(b"\x1b[31;1mFAIL\x1b[0m", on_terminal(*FAILS, NO_COLOR=""))  # as no-color.org has it
        self.assertNotIn("\x1b", support.run(*FAILS)[1])

    def test_is_none_under_no_color(self):
        text = on_terminal(*FAILS, NO_COLOR="1")
        self.assertIn(b"FAIL", text)
        self.assertNotIn(b"\x1b", text)


class ExitStatuses(unittest.TestCase):
    PAGE = support.PROJECT / "tools" / "cli" / "README.md"

    def test_each_row_of_the_table_is_what_a_command_ends_with(self):
        section = self.PAGE.read_text().partition("## Exit statuses\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| (\d+(?: \+ N)?) \| (.+) \|$", section, re.MULTILINE))
        self.assertEqual(list(rows), ["0", "1", "2", "3", "128 + N"])
        limits = ["--max-cases", "12", "--laws", "0", "--strength", "0"]
        ends = {
            "0": ["check", "openmp", "--only", "positional.learned", "--profile", "f32", *limits],
            "1": FAILS,
            "2": ["check", "openmp", "--sizes", "large"],
            "3": ["check", "./no-such-kernel.so"],
        }
        for status, words in ends.items():
            with self.subTest(words=words):
                got, out, err = support.run(*words)
                self.assertEqual(str(got), status, out + err)


if __name__ == "__main__":
    unittest.main()
