# SPDX-License-Identifier: MIT
"""`check --claim` writes what passed, `verify-claim` checks it again: whatever is another than it was is told."""

import hashlib
import os
import pathlib
import re
import shutil
import tomllib
import unittest

import support

FEW = ["--max-cases", 12, "--strength", 1, "--laws", 2, "--seed", 7]


def claimed(library, *options):
    path = support.fresh_folder("claim") / "claim.toml"
    return *support.run("check", library, *(options or FEW), "--claim", path), path


def written_again(path, old, new):
    """A claim with other words and the hash that belongs to them, as somebody would forge one."""
    text = path.read_text()
    assert old in text, old
    body = text.replace(old, new).rpartition("# sha256 = ")[0]
    other = support.fresh_folder("claim") / "claim.toml"
    other.write_text(f"{body}# sha256 = {hashlib.sha256(body.encode()).hexdigest()}\n")
    return other


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = support.compile_plugin("learned.c")
        cls.status, cls.out, cls.err, cls.path = claimed(cls.library)
        cls.text = cls.path.read_text() if cls.path.exists() else cls.out + cls.err

    def verified(self, path, *more, **options):
        status, out, err = support.run("verify-claim", path, *more, **options)
        return status, out + err

    def refused(self, words, path, *more, status=1, **options):
        got, text = self.verified(path, *more, **options)
        self.assertEqual(got, status, text)
        self.assertIn(words, text)
        self.assertNotIn("the same counts", text)

    def test_holds(self):
        self.assertEqual(self.status, 0, self.text)
        status, text = self.verified(self.path)
        self.assertEqual(status, 0, text)
        self.assertIn("the check passes with the same counts", text)
        status, text = self.verified(self.path, "--no-run")
        self.assertEqual(status, 0, text)
        self.assertIn("the check was not run again", text)

    def test_says_what_passed(self):
        claim = tomllib.loads(self.text)
        self.assertEqual(claim["attest"], support.run("--version")[1].strip())
        self.assertEqual(claim["sha256"], hashlib.sha256(self.library.read_bytes()).hexdigest())
        self.assertEqual(claim["candidate"], str(self.library))
        self.assertEqual((claim["name"], claim["version"], claim["seed"]), ("learned positions", "1.0", 7))
        self.assertEqual(claim["arguments"], ["--max-cases=12", "--strength=1", "--seed=7", "--laws=2"])
        (kernel,) = claim["kernel"]
        _, _, report = support.report_of("check", self.library, *FEW)
        (row,) = report["rows"]
        for key in ("equation", "form", "reading", "dtype", "layout", "capabilities", "profile", "elements"):
            self.assertEqual(kernel[key], row[key], key)
        self.assertEqual(kernel["restricted"], row["restricted"])
        self.assertEqual(kernel["cases"]["passed"], row["cases"]["passed"])
        self.assertEqual(kernel["cases"]["left_out"], row["cases"]["skipped"])
        self.assertEqual(kernel["laws"]["held"], row["laws"]["held"])
        self.assertEqual(kernel["calls"], row["reach"]["calls"])
        regimes = kernel["regimes"]
        self.assertEqual(
            (regimes["calls"], regimes["strength"], regimes["visited"], regimes["possible"]),
            tuple(row["regimes"][key] for key in ("judged", "strength", "visited", "possible")),
        )
        self.assertTrue(any(line.startswith("n: ") for line in kernel["conditions"]), kernel["conditions"])
        manifest = support.PROJECT / "golden" / "positional" / "learned.manifest.toml"
        self.assertEqual(kernel["golden"], hashlib.sha256(manifest.read_bytes()).hexdigest())

    def test_a_changed_character_is_found(self):
        """Anywhere: in what is said, in the comment, in the hash."""
        text = self.path.read_bytes()
        other = support.fresh_folder("claim") / "claim.toml"
        hash_at = text.rindex(b"# sha256 = ")
        for at in [*range(0, len(text) - 1, 61), hash_at - 2, hash_at + 12, len(text) - 2]:
            changed = bytearray(text)
            changed[at] ^= 1
            other.write_bytes(changed)
            in_mark = hash_at - 1 <= at < hash_at + 11  # there is no such last line then
            with self.subTest(at=at):
                if in_mark:
                    self.refused("is no claim, or not a whole one", other, "--no-run", status=2)
                else:
                    self.refused("the text has been changed since attest wrote it", other, "--no-run")
        for length in (0, 10, len(text) // 2, len(text) - 1):
            other.write_bytes(text[:length])
            self.refused("is no claim, or not a whole one", other, "--no-run", status=2)

    def test_another_plugin_is_found(self):
        other = support.fresh_folder() / "other.so"
        shutil.copy(self.library, other)
        status, text = self.verified(self.path, other)
        self.assertEqual(status, 0, text)  # the same file elsewhere
        with open(other, "ab") as file:
            file.write(b"\0")
        self.refused(f"{other} is another file than the one that was judged", self.path, other)
        other.unlink()
        self.refused("INVALID", self.path, other, status=3)

    def test_other_golden_data_are_found(self):
        copy = support.project_copy()
        env = {"ATTEST_PROJECT_DIR": str(copy)}
        status, text = self.verified(self.path, "--no-run", env=env)
        self.assertEqual(status, 0, text)
        golden = copy / "golden" / "positional" / "learned.safetensors"
        bytes_then = golden.read_bytes()
        golden.write_bytes(bytes_then + b"\0")
        self.refused("positional/learned.safetensors is damaged", self.path, "--no-run", env=env)
        golden.write_bytes(bytes_then)
        manifest = golden.with_name("learned.manifest.toml")
        manifest.write_text(manifest.read_text() + "\n")
        self.refused("positional.learned was judged by other golden data", self.path, "--no-run", env=env)

    def test_a_plugin_that_fails_meanwhile_is_found(self):
        """The file is the same: it reads what it adds from another."""
        amount = support.fresh_folder() / "amount"
        amount.write_text("0")
        library = support.compile_plugin("learned.c", f'AMOUNT="{amount}"')
        status, out, err, path = claimed(library)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(self.verified(path)[0], 0)
        amount.write_text("1")
        self.refused("FAIL", path)
        self.assertEqual(self.verified(path, "--no-run")[0], 0)

    def test_other_counts_are_found(self):
        """Of a text whose hash is right."""
        passed = re.search(r"cases = \{ passed = (\d+),", self.text)
        self.refused("now it is 'cases = { passed = 12,", written_again(self.path, passed[0], "cases = { passed = 13,"))
        self.refused("claimed 'seed = 8', now it is 'seed = 7'", written_again(self.path, "seed = 7", "seed = 8"))
        self.refused("claimed '[[kernel]]', now it is ''", self.with_a_kernel_more())

    def with_a_kernel_more(self):
        kernel = self.text[self.text.index("[[kernel]]") :].rpartition("# sha256")[0]
        return written_again(self.path, kernel, f"{kernel}\n{kernel}")

    def test_another_version_is_told(self):
        path = written_again(self.path, f'attest = "{support.run("--version")[1].strip()}"', 'attest = "0.0.9"')
        self.refused("attest 0.0.9 made this claim", path)
        self.refused("a claim of format 2", written_again(self.path, "claim = 1\n", "claim = 2\n"), status=2)

    def test_arguments_are_those_that_decide_the_verdict(self):
        """A claim is anybody's text: it makes this command write no file."""
        report = support.fresh_folder() / "report"
        path = written_again(self.path, '"--seed=7"', f'"--json={report}"')
        self.refused("the claim's 'arguments' are none of `check`", path, status=2)
        self.assertFalse(report.exists())

    def test_what_does_not_pass_is_not_claimed(self):
        status, _, err, path = claimed("fault:positional.learned.off_by_one", *FEW, "--profile", "f32")
        self.assertEqual(status, 1)
        self.assertIn(f"{path} is not written: only a PASS can be claimed", err)
        self.assertFalse(path.exists())

    def test_a_restricted_pass_says_so(self):
        library = support.compile_plugin("learned.c", 'CAPABILITIES="start == 0"')
        status, out, err, path = claimed(library)
        self.assertEqual(status, 0, out + err)
        claim = tomllib.loads(path.read_text())
        self.assertIn("restricted: ", claim["verdict"])
        self.assertIn("start = 0", str(claim["kernel"][0]["restricted"]))
        self.assertIn(f": {claim['verdict']}\n", self.verified(path)[1])

    def test_waived_and_hurried_runs_are_not_claimed(self):
        waivers = support.fresh_folder() / "waivers.toml"
        for option in (["--waivers", waivers], ["--budget", 1]):
            status, _, err, path = claimed(self.library, *option)
            self.assertEqual(status, 2)
            self.assertIn(option[0], err)
            self.assertFalse(path.exists())

    def test_a_plugin_that_changes_while_it_is_judged_is_not_claimed(self):
        library = support.fresh_folder() / "changes.so"
        shutil.copy(support.compile_plugin("learned.c", f'APPENDS_TO="{library}"', name="appends"), library)
        status, _, err, path = claimed(library)
        self.assertEqual(status, 2, err)
        self.assertIn(f"the file of {library} was changed while it was judged", err)
        self.assertFalse(path.exists())

    def test_files_that_cannot_be_used_are_told(self):
        absent = support.fresh_folder() / "absent"
        self.refused(f"{absent}: No such file or directory", absent, status=2)
        self.refused("is no claim", support.PROJECT / "README.md", status=2)
        status, _, err = support.run("check", self.library, *FEW, "--claim", absent / "claim")
        self.assertEqual((status, err), (2, f"attest: cannot write {absent / 'claim'}: No such file or directory\n"))

    def test_a_path_relative_to_the_working_folder(self):
        folder = self.library.parent
        path = pathlib.Path("claim.toml")
        status, out, err = support.run("check", f"./{self.library.name}", *FEW, "--claim", path, cwd=folder)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(support.run("verify-claim", path, "--no-run", cwd=folder)[0], 0)
        self.assertEqual(support.run("verify-claim", folder / path, "--no-run", cwd=os.sep)[0], 3)


if __name__ == "__main__":
    unittest.main()
