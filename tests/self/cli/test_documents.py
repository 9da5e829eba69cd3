# SPDX-License-Identifier: MIT
"""What tools/docs finds wrong with a page, in a small project of pages whose command prints what a test wants."""

import os
import subprocess
import sys
import unittest

import support

DOCS = support.PROJECT / "tools" / "docs"
HELLO = """# Hello

<!-- file: tests/hello.py; from def; to     return -->
```python
def hello():
    return 1
```

```console
$ tools/attest 3 of 4
3 of 4
```

[Other](tools/other.md#a-part-of-it).
"""
OTHER = "# Other\n\n## A part of it\n\n[Back](../README.md)\n"


class Pages(unittest.TestCase):
    def setUp(self):
        self.project = support.fresh_folder("pages")
        self.build = support.fresh_folder("build")
        for folder in (self.project / "tests", self.project / "tools", self.build / "tools"):
            folder.mkdir()
        (self.project / "tests" / "hello.py").write_text(
            "# SPDX-License-Identifier: MIT\nimport os\ndef hello():\n    return 1\n"
        )
        (self.project / "tools" / "other.md").write_text(OTHER)
        command = self.build / "tools" / "attest-cli"
        command.write_text('#!/bin/sh\necho "$@"\n')
        command.chmod(0o755)
        self.hello()

    def hello(self, old="", new=""):
        self.assertIn(old, HELLO)
        (self.project / "README.md").write_text(HELLO.replace(old, new) if old else HELLO)

    def docs(self, *options):
        done = subprocess.run(
            [sys.executable, DOCS, "--project", self.project, *options],
            env={**os.environ, "ATTEST_BUILD_DIR": str(self.build)},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def finds(self, words, *options):
        status, text = self.docs(*options or ["--static"])
        self.assertEqual(status, 1, text)
        self.assertIn(words, text)

    def test_pages_that_are_right(self):
        status, text = self.docs("--check")
        self.assertEqual(status, 0, text)
        self.assertIn("README.md: 1 blocks of commands run", text)
        self.assertIn("1 of files, 0 not run", text)

    def test_links(self):
        for old, new, words in (
            ("other.md#", "others.md#", "line 14: the link to tools/others.md#a-part-of-it leads nowhere"),
            ("#a-part-of-it", "#apart", "line 14: tools/other.md#apart has no such heading"),
            ("[Other](tools/other.md#a-part-of-it)", "None", "tools/other.md: no link leads here from README.md"),
            ("[Other]", "`tests/nothing.py` [Other]", "line 14: there is no tests/nothing.py"),
        ):
            with self.subTest(new):
                self.hello(old, new)
                self.finds(words)

    def test_a_page_stands_in_the_index_of_its_folder(self):
        (self.project / "tools" / "README.md").write_text("# Tools\n")
        self.hello("[Other](tools/other.md#a-part-of-it)", "[Tools](tools/README.md), [Other](tools/other.md)")
        self.finds("tools/other.md: no link leads here from tools/README.md")

    def test_blocks_without_a_mark(self):
        for old, new, words in (
            ("<!-- file: tests/hello.py; from def; to     return -->\n", "", "line 3: a block without a mark"),
            ("```console", "```", "line 9: a block without a mark"),
            ("$ tools/attest 3 of 4\n", "", "line 9: a block of commands begins with '$ '"),
            ("```console\n$ tools/attest 3 of 4\n3 of 4\n```", "    tools/attest", "line 9: an indented block"),
            ("```console", " ```console", "line 9: a fence begins at the start of its line"),
            ("3 of 4\n```\n", "3 of 4\n", "line 9: the fence is not closed"),
            ("```console", "<!-- console: silent -->\n```console", "line 10: unknown option 'silent'"),
        ):
            with self.subTest(new):
                self.hello(old, new)
                self.finds(words)

    def test_the_readme_is_short(self):
        self.hello("# Hello\n", "# Hello\n" + "\n" * 136)
        self.assertEqual(self.docs("--static")[0], 0)
        self.hello("# Hello\n", "# Hello\n" + "\n" * 137)
        self.finds("README.md: 151 lines, at most 150 are allowed")

    def test_what_is_not_run_is_counted_with_its_reason(self):
        for mark, reason in (("not run: no GPU", "no GPU"), ("console: needs nothing_", "no module nothing_ here")):
            self.hello("```console\n$ tools/attest 3", f"<!-- {mark} -->\n```console\n$ exit 3;")
            status, text = self.docs("--check")
            self.assertEqual(status, 0, text)
            self.assertIn("0 blocks of commands run", text)
            self.assertRegex(text, rf"line 10: .*{reason}")

    def test_a_file_that_is_shown(self):
        for new in ("    return 2\n", "\n"):
            self.hello("    return 1\n", new)
            self.finds("line 4: not the text of tests/hello.py")
        self.hello("from def", "from class")
        self.finds("line 4: 'from class' names no line of tests/hello.py")
        self.hello("    return 1\n", "    return 2\n")
        self.assertEqual(self.docs()[0], 0)
        self.assertEqual((self.project / "README.md").read_text(), HELLO)

    def test_output_that_is_not_what_is_shown(self):
        for old, new in (("\n3 of 4\n", "\n3 of 5\n"), ("\n3 of 4\n", "\n"), ("\n3 of 4\n", "\n3 of 4\nPASS\n")):
            self.hello(old, new)
            self.finds("README.md:9: `tools/attest 3 of 4`\nshown:", "--check")
            status, text = self.docs("README.md")
            self.assertEqual(status, 0, text)
            self.assertEqual((self.project / "README.md").read_text(), HELLO)

    def test_exit_status(self):
        self.hello("$ tools/attest 3 of 4", "$ tools/attest 3 of 4; exit 2")
        self.finds("ended with 2, not 0", "--check")
        self.hello("```console\n$ tools/attest 3 of 4", "<!-- console: status 2 -->\n```console\n$ echo 3 of 4; exit 2")
        self.assertEqual(self.docs("--check")[0], 0)

    def test_the_first_and_the_last_lines(self):
        shown = "<!-- console: first 1; last 1 -->\n```console\n$ seq 9\n1\n...\n9\n```"
        self.hello("```console\n$ tools/attest 3 of 4\n3 of 4\n```", shown)
        self.assertEqual(self.docs("--check")[0], 0)
        self.hello("```console\n$ tools/attest 3 of 4\n3 of 4\n```", shown.replace("seq 9", "seq 8"))
        self.finds("shown:", "--check")

    def test_commands_of_a_page_share_a_folder_that_is_not_the_project(self):
        self.hello("$ tools/attest 3 of 4", "$ echo 3 of 4 >made\n$ cat made")
        self.assertEqual(self.docs("--check")[0], 0)
        self.assertFalse((self.project / "made").exists())

    def test_records(self):
        record = self.build / "records" / "sweep.txt"
        record.parent.mkdir()
        self.hello("```console", "<!-- console: record sweep -->\n```console")
        for text, words in (
            ("attest-cli 3 of 4 --json x\n3 of 4\n", ""),
            ("attest-cli 3 of 4\n2 of 4\n", "shown:"),
            ("attest-cli 3 of 5\n3 of 4\n", "is of `attest-cli 3 of 5`"),
            ("attest-cli 3 of 4 --part 1/2\nPart 1 of 2\n\n9 of 9\n\n3 of 4\n", ""),
            ("attest-cli 3 of 4 --part 1/2\nPart 1 of 2\n\na line above\n3 of 4\n", ""),
            (
                "attest-cli 3 of 4 --part 1/2\nPart 1 of 2\n\n3 of 4\n\n3 of 5\n",
                "printed by a part, and not shown: '3 of 5'",
            ),
        ):
            with self.subTest(text):
                record.write_text(text)
                status, out = self.docs("--check")
                self.assertEqual(status, 1 if words else 0, out)
                self.assertIn(words, out)
        self.hello("```console", "<!-- console: record sweep -->\n```console")
        self.assertEqual(self.docs()[0], 0)  # the last record is of a part: the command is run
        self.assertEqual(self.docs("--check")[0], 1)
        os.utime(record, (0, 0))  # older than the command: the command is run
        self.assertEqual(self.docs("--check")[0], 0)

    def test_wrong_usage(self):
        self.assertEqual(self.docs("--check", "nothing.md")[0], 2)
        (self.build / "tools" / "attest-cli").unlink()
        self.finds("tools/test builds it", "--check")


if __name__ == "__main__":
    unittest.main()
