# SPDX-License-Identifier: MIT
"""`attest completion SHELL`: what shells offer is what the command takes."""

import re
import shlex
import shutil
import subprocess
import unittest

import support


def script(shell):
    status, out, err = support.run("completion", shell)
    assert status == 0, out + err
    path = support.fresh_folder() / f"attest.{shell}"
    path.write_text(out)
    return path


def offered(*words):
    """What bash offers for the last of the words."""
    line = " ".join(map(shlex.quote, ("attest", *words)))
    program = (
        f"""source "$1"; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _attest; printf '%s\\n' "${{COMPREPLY[@]}}" """
    )
    done = subprocess.run(
        ["bash", "-uc", program, "bash", script("bash")], capture_output=True, text=True, cwd=support.fresh_folder()
    )
    assert not done.stderr, done.stderr  # the status says whether anything fits
    return set(done.stdout.split())


def in_help(*words):
    """The commands and the options that the help shows."""
    status, out, err = support.run(*words, "--help")
    assert status == 0, out + err
    commands = out.partition("Subcommands:\n")[2]
    return set(re.findall(r"^  ([a-z-]+) ", commands, re.MULTILINE)), set(
        re.findall(r"(?:^  |,)(--[a-z-]+)", out, re.MULTILINE)
    )


class Bash(unittest.TestCase):
    def test_offers_what_the_help_shows(self):
        commands, options = in_help()
        self.assertIn("check", commands)
        self.assertEqual(offered(""), commands | options)
        for words in (["check"], ["verify-claim"], ["golden"], ["golden", "verify"]):
            with self.subTest(words=words):
                commands, options = in_help(*words)
                self.assertGreater(len(options), 1 if words != ["golden"] else 0)
                self.assertEqual(offered(*words, ""), commands | options)

    def test_offers_what_begins_with_the_word(self):
        self.assertEqual(offered("verify"), {"verify-claim"})
        self.assertEqual(offered("check", "./kernel.so", "--max"), {"--max-cases"})
        self.assertEqual(offered("check", "check", "--max"), {"--max-cases"})  # a file may be called like a command
        self.assertEqual(offered("nothing", "--max"), set())

    def test_offers_the_values_of_an_option(self):
        self.assertEqual(offered("check", "--sizes", ""), {"small", "real"})
        self.assertEqual(offered("completion", "f"), {"fish"})

    def test_names_files_where_nothing_else_fits(self):
        self.assertIn("complete -o default -F _attest attest", script("bash").read_text())


class OtherShells(unittest.TestCase):
    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_reads_it(self):
        done = subprocess.run(
            ["zsh", "-fec", 'source "$1"; print -r -- "${_comps[attest]}"', "zsh", script("zsh")],
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("_attest", done.stdout)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_offers_what_bash_does(self):
        for line, words in (("attest ", [""]), ("attest golden ", ["golden", ""])):
            done = subprocess.run(
                ["fish", "-c", f"source {script('fish')}; complete -C '{line}'"], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = {offer.split("\t")[0] for offer in done.stdout.splitlines()}
            self.assertLessEqual({word for word in offered(*words) if not word.startswith("-")}, found)

    def test_fish_script_has_every_option(self):
        text = script("fish").read_text()
        _, options = in_help("check")
        for option in options:
            self.assertRegex(text, rf"seen_subcommand_from check' -l {option[2:]} -d '")

    def test_other_shells_are_refused(self):
        status, _, err = support.run("completion", "tcsh")
        self.assertEqual(status, 2)
        self.assertIn("bash", err)


if __name__ == "__main__":
    unittest.main()
