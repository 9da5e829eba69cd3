# SPDX-License-Identifier: MIT
"""The help: every command, option and positional says what it is."""

import re
import unittest

import support

IN_PYTHON = {"bench", "survey"}  # argparse writes theirs


def pages(*words):
    """{words: help} of a command and those below it."""
    status, out, err = support.run(*words, "--help")
    assert status == 0 and not err, out + err
    found = {words: out}
    for name in re.findall(r"^  ([a-z-]+) ", out.partition("\nSubcommands:\n")[2], re.MULTILINE):
        if name not in IN_PYTHON:
            found |= pages(*words, name)
    return found


def entries(page):
    """(what is typed, what is said about it); the second may be on a line of its own."""
    lines = iter(page.partition("\n\n")[2].splitlines())
    for line in lines:
        if not line.startswith("  "):
            continue
        typed, _, said = line[2:].partition("   " if "   " in line[2:] else "\0")
        yield typed, said.strip() or (next(lines, "").strip() if len(typed) > 27 else "")


class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = pages()

    def test_every_entry_is_described(self):
        self.assertIn(("golden", "verify"), self.pages)
        for words, page in self.pages.items():
            for typed, said in entries(page):
                with self.subTest(command=words, entry=typed):
                    self.assertRegex(said, r"\w{3}")

    def test_shows_what_to_type(self):
        for words, page in self.pages.items():
            self.assertIn(f"Usage: {' '.join(['attest', *words])} ", page)


class Entries(unittest.TestCase):
    def test_one_without_a_description_is_found(self):
        page = (
            "X\nUsage: x\n\nOptions:\n  ID TEXT REQUIRED            \n"
            "  --only TEXT                 glob\n  --max-cases INT:INT in [1 - 1000000]\n                 at most\n"
        )
        self.assertEqual(
            list(entries(page)),
            [("ID TEXT REQUIRED", ""), ("--only TEXT", "glob"), ("--max-cases INT:INT in [1 - 1000000]", "at most")],
        )


if __name__ == "__main__":
    unittest.main()
