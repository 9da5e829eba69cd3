# SPDX-License-Identifier: MIT
"""Damaged files, wrong arrays, wrong words, a full disk: a clear message, the right exit status, nothing lost."""

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import unittest

import support

SOFTMAX = "attention.softmax"
GOLDEN = "golden/attention/softmax.safetensors"


class DamagedGoldenFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.project = support.project_copy()
        cls.environment = {"ATTEST_PROJECT_DIR": str(cls.project)}
        cls.file = cls.project / GOLDEN
        cls.manifest = cls.project / "golden/attention/softmax.manifest.toml"
        cls.plugin = support.compile_plugin("attention.c", f'EQUATION="{SOFTMAX}"', 'CAPABILITIES=""')
        cls.good, cls.good_manifest = cls.file.read_bytes(), cls.manifest.read_bytes()

    def setUp(self):
        self.addCleanup(self.restore)

    def restore(self):
        self.file.write_bytes(self.good)
        self.manifest.write_bytes(self.good_manifest)

    def verify(self, *only):
        status, out, err = support.run("golden", "verify", *only, env=self.environment)
        return status, out + err

    def is_refused(self, *words):
        status, text = self.verify("--only", SOFTMAX)
        self.assertEqual(status, 1, text)
        self.assertIn("softmax", text)
        for word in words:
            self.assertIn(word, text)

    def check_refuses(self, *words):
        status, out, err = support.run("check", self.plugin, env=self.environment)
        self.assertNotIn(status, (0, 2), out + err)
        self.assertNotIn("Verdict", out)
        for word in words:
            self.assertIn(word, err)

    def test_the_undamaged_copy_is_green(self):
        status, text = self.verify()
        self.assertEqual(status, 0, text)

    def test_only_what_is_asked_for_is_verified(self):
        self.file.write_bytes(self.good[:-1])
        for only, expected, word in (
            (SOFTMAX, 1, "attention/softmax.safetensors is damaged"),
            ("attention.softmax*", 1, "attention/softmax.safetensors is damaged"),
            ("attention.softmax_one", 0, "1 golden file matches its manifest, spec and sources"),
            ("linear.causal*", 0, " golden files match their manifest, spec and sources"),
            ("linear.casual", 2, "--only 'linear.casual' matches no equation"),
        ):
            with self.subTest(only):
                status, text = self.verify("--only", only)
                self.assertEqual(status, expected, text)
                self.assertIn(word, text)
        self.is_refused("damaged")
        self.assertEqual(self.verify()[0], 1)

    def test_truncated(self):
        for size in (0, 1, 7, 8, 100, len(self.good) // 2, len(self.good) - 1):
            with self.subTest(size=size):
                self.file.write_bytes(self.good[:size])
                self.is_refused("damaged")
        self.check_refuses(str(self.file), "SHA-256")

    def test_one_byte_more(self):
        self.file.write_bytes(self.good + b"\0")
        self.is_refused("damaged")

    def test_one_flipped_bit(self):
        header = 8 + int.from_bytes(self.good[:8], "little")
        pick = random.Random(1)
        places = {
            "length": range(8),
            "header": [8, header - 1, *pick.sample(range(8, header), 4)],
            "data": [header, len(self.good) - 1, *pick.sample(range(header, len(self.good)), 6)],
        }
        for kind, positions in places.items():
            for position in positions:
                bit = pick.randrange(8)
                with self.subTest(kind=kind, position=position, bit=bit):
                    damaged = bytearray(self.good)
                    damaged[position] ^= 1 << bit
                    self.file.write_bytes(damaged)
                    self.is_refused("damaged")
        self.check_refuses(str(self.file), "SHA-256")

    def test_one_flipped_bit_in_the_manifest(self):
        pick = random.Random(2)
        text = self.good_manifest
        digest = text.index(b'sha256  = "') + len(b'sha256  = "')
        for position in [0, len(text) - 1, digest, digest + 63, *pick.sample(range(len(text)), 12)]:
            bit = pick.randrange(7)
            with self.subTest(position=position, bit=bit):
                damaged = bytearray(text)
                damaged[position] ^= 1 << bit
                self.manifest.write_bytes(damaged)
                status, out = self.verify("--only", SOFTMAX)
                self.assertEqual(status, 1, out)

    def test_damage_under_a_matching_manifest_is_not_trusted(self):
        # Whoever writes the manifest anew after the damage still has inputs that no query draws, or a broken header.
        header = 8 + int.from_bytes(self.good[:8], "little")
        tensors = json.loads(self.good[8:header])
        begin, end = next(
            tensor["data_offsets"] for name, tensor in sorted(tensors.items()) if name.startswith("000/input/")
        )
        for position in (0, 9, header + begin, header + end - 1):
            with self.subTest(position=position):
                damaged = bytearray(self.good)
                damaged[position] ^= 1
                self.file.write_bytes(damaged)
                old, new = (hashlib.sha256(x).hexdigest().encode() for x in (self.good, damaged))
                self.manifest.write_bytes(self.good_manifest.replace(old, new))
                self.is_refused()
                self.check_refuses(str(self.file))

    def test_stale(self):
        reference = "reference/include/attest/reference/attention/softmax.hpp"
        project = support.project_copy()
        (project / "reference").unlink()
        shutil.copytree(support.PROJECT / "reference", project / "reference")
        with open(project / reference, "a") as file:
            file.write("inline constexpr int changed = 1;\n")
        status, out, err = support.run("golden", "verify", "--only", SOFTMAX, env={"ATTEST_PROJECT_DIR": str(project)})
        self.assertEqual(status, 1, out + err)
        self.assertRegex(out, "attention/softmax.safetensors is stale: .* has changed; run `attest golden regenerate`")

    def test_missing(self):
        self.file.unlink()
        self.is_refused("No such file")
        self.check_refuses(str(self.file), "No such file")

    def test_missing_manifest(self):
        self.manifest.unlink()
        status, text = self.verify("--only", SOFTMAX)
        self.assertEqual(status, 1, text)
        self.assertIn("softmax.manifest.toml", text)
        self.check_refuses("softmax.manifest.toml")

    def test_incomplete_manifest(self):
        self.manifest.write_bytes(self.good_manifest.replace(b"cases ", b"casts "))
        self.is_refused("must hold exactly sha256, sources, cases and values")
        self.check_refuses("must hold exactly")

    def test_a_file_that_belongs_to_nothing(self):
        extra = self.file.with_name("extra.safetensors")
        extra.write_bytes(self.good)
        self.addCleanup(extra.unlink)
        status, text = self.verify()
        self.assertEqual(status, 1, text)
        self.assertIn("attention/extra.safetensors has no spec", text)


def npy(descr, shape, data, major=1):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes([major, 0]) + len(header).to_bytes(2, "little") + header.encode() + data


class WrongArrays(unittest.TestCase):
    """`attest judge` on what a program left."""

    @classmethod
    def setUpClass(cls):
        cls.folder = support.fresh_folder() / "cases"
        status, out, err = support.run("emit", SOFTMAX, "--to", cls.folder)
        assert status == 0, out + err
        # A few cases are enough: what is wrong stands in the first.
        cls.index = json.loads((cls.folder / "attest.json").read_text())
        cls.index["cases"] = cls.index["cases"][:5]
        (cls.folder / "attest.json").write_text(json.dumps(cls.index))
        cls.cases = {
            entry["folder"]: json.loads((cls.folder / entry["folder"] / "case.json").read_text())
            for entry in cls.index["cases"]
        }

    def setUp(self):
        """Right shape and dtype everywhere, wrong values; the tests look at the first case."""
        for name, case in self.cases.items():
            for tensor in case["outputs"]:
                count = 1
                for extent in tensor["shape"]:
                    count *= extent
                (self.folder / name / tensor["file"]).write_bytes(npy("<f4", tuple(tensor["shape"]), bytes(4 * count)))
        self.name = "case-001"
        self.case = self.cases[self.name]
        self.output = next(tensor for tensor in self.case["outputs"] if not tensor["optional"])
        self.path = self.folder / self.name / self.output["file"]
        self.shape = tuple(self.output["shape"])
        self.bytes = self.path.read_bytes()

    def message(self):
        status, text, report = support.report_of("judge", self.folder)
        self.assertEqual(status, 1, text)
        self.assertEqual(report["status"], "FAIL")
        messages = [
            failure["message"] for failure in report["rows"][0]["failures"] if failure["query"] == self.case["query"]
        ]
        self.assertEqual(len(messages), 1, text)
        return messages[0]

    def names_the_file(self, *words):
        message = self.message()
        self.assertIn(str(self.path), message)
        for word in words:
            self.assertIn(word, message)

    def test_wrong_values(self):
        self.assertIn("times the bound", self.message())

    def test_missing_output(self):
        self.path.unlink()
        self.names_the_file("is missing")

    def test_output_is_a_folder(self):
        self.path.unlink()
        self.path.mkdir()
        self.addCleanup(self.path.rmdir)
        self.names_the_file()

    def test_wrong_shape(self):
        for shape in (
            self.shape[::-1] + (1,),
            self.shape + (1,),
            (1,) + self.shape,
            (),
            (self.shape[0] + 1, *self.shape[1:]),
        ):
            with self.subTest(shape=shape):
                count = 1
                for extent in shape:
                    count *= extent
                self.path.write_bytes(npy("<f4", shape, bytes(4 * count)))
                self.names_the_file("has shape", "expected [" + ", ".join(map(str, self.shape)) + "]")

    def test_wrong_dtype(self):
        count = (len(self.bytes) - 128) // 4
        for descr, width, word in (("<f8", 8, "f64"), ("<f2", 2, "f16"), ("<i8", 8, "i64"), ("|V2", 2, "bf16")):
            with self.subTest(descr=descr):
                self.path.write_bytes(npy(descr, self.shape, bytes(width * count)))
                self.names_the_file(f"has dtype {word}, expected f32")

    def test_unknown_dtype(self):
        for descr in ("<i4", "<c8", "|O", "<U3"):
            with self.subTest(descr=descr):
                self.path.write_bytes(npy(descr, self.shape, bytes(64)))
                self.names_the_file("dtype")

    def test_big_endian(self):
        self.path.write_bytes(npy(">f4", self.shape, self.bytes[128:]))
        self.names_the_file("big-endian")

    def test_truncated(self):
        for size in (0, 3, 9, 60, len(self.bytes) - 1):
            with self.subTest(size=size):
                self.path.write_bytes(self.bytes[:size])
                self.names_the_file()

    def test_trailing_bytes(self):
        self.path.write_bytes(self.bytes + b"\0")
        self.names_the_file("1 ", "bytes")

    def test_not_an_array(self):
        self.path.write_bytes(b"these are no numbers\n" * 40)
        self.names_the_file("not an .npy file")

    def test_header_that_lies(self):
        self.path.write_bytes(npy("<f4", (2**62, 2**62), b""))
        self.names_the_file()

    def test_extra_files_do_no_harm(self):
        (self.path.parent / "notes.txt").write_text("mine")
        self.assertIn("times the bound", self.message())


class WrongFolders(unittest.TestCase):
    def is_usage(self, *arguments, words=()):
        status, out, err = support.run(*arguments)
        self.assertEqual(status, 2, out + err)
        self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, err)

    def test_emit_into_a_folder_with_files(self):
        folder = support.fresh_folder()
        (folder / "mine.txt").write_text("precious")
        self.is_usage("emit", SOFTMAX, "--to", folder, words=(str(folder), "not empty"))
        self.assertEqual([path.name for path in folder.iterdir()], ["mine.txt"])
        self.assertEqual((folder / "mine.txt").read_text(), "precious")

    def test_emit_onto_a_file(self):
        path = support.fresh_folder() / "file"
        path.write_text("precious")
        self.is_usage("emit", SOFTMAX, "--to", path, words=(str(path),))
        self.assertEqual(path.read_text(), "precious")

    def test_emit_below_a_file(self):
        path = support.fresh_folder() / "file"
        path.write_text("precious")
        status, out, err = support.run("emit", SOFTMAX, "--to", path / "below")
        self.assertNotEqual(status, 0, out + err)
        self.assertIn(str(path), err)

    def test_emit_with_wrong_words(self):
        folder = support.fresh_folder() / "new"
        self.is_usage("emit", "attention.softmacks", "--to", folder, words=("attention.softmax",))
        self.is_usage("emit", SOFTMAX, "--to", folder, "--profile", "f31", words=("no profile is called 'f31'", "f32"))
        self.is_usage("emit", SOFTMAX, "--to", folder, "--layout", "hbdn")
        self.is_usage("emit", SOFTMAX, "--to", folder, "--capabilities", "d in {64, ", words=("capabilities of",))
        self.is_usage("emit", SOFTMAX, "--to", folder, "--capabilities", "length == 3", words=("'length' is neither",))
        self.is_usage("emit", SOFTMAX)
        self.assertFalse(folder.exists())

    def test_judge_of_a_folder_that_was_not_emitted(self):
        folder = support.fresh_folder()
        self.is_usage("judge", folder, words=(str(folder), "attest emit"))
        self.is_usage("judge", folder / "nothing", words=(str(folder), "attest emit"))

    def test_judge_of_a_damaged_index(self):
        for text in (
            "",
            "{",
            "[]",
            "{}",
            '"cases 1"',
            '{"attest": "cases 1"}',
            '{"attest": "cases 2", "cases": []}',
            '{"attest": "cases 1", "equation": "attention.softmacks", "profile": "f32", "layout": "nd", '
            '"capabilities": "", "cases": []}',
            '{"attest": "cases 1", "equation": "attention.softmax", "profile": "f31", "layout": "nd", '
            '"capabilities": "", "cases": []}',
            '{"attest": "cases 1", "equation": "attention.softmax", "profile": "f32", "layout": "nd", '
            '"capabilities": "", "cases": [1]}',
            '{"attest": "cases 1", "equation": "attention.softmax", "profile": "f32", "layout": "nd", '
            '"capabilities": "", '
            '"cases": [{"query": "garbage", "folder": "case-000"}]}',
        ):
            with self.subTest(text=text):
                folder = support.fresh_folder()
                (folder / "attest.json").write_text(text)
                self.is_usage("judge", folder)

    def test_judge_of_an_index_without_cases_is_invalid(self):
        folder = support.fresh_folder()
        (folder / "attest.json").write_text(
            json.dumps(
                {
                    "attest": "cases 1",
                    "equation": SOFTMAX,
                    "profile": "f32",
                    "layout": "nd",
                    "capabilities": "",
                    "cases": [],
                }
            )
        )
        status, out, err = support.run("judge", folder)
        self.assertEqual(status, 3, out + err)
        self.assertIn("INVALID", out)

    def test_index_that_asks_for_the_cases_of_another_equation(self):
        folder = support.fresh_folder() / "cases"
        status, out, err = support.run("emit", SOFTMAX, "--to", folder)
        self.assertEqual(status, 0, out + err)
        index = json.loads((folder / "attest.json").read_text())
        index["cases"][0]["query"] = "attest:attention.scaled_dot_product:f32;n=1;s=1;d=1;m=1;flag=random;seed=1"
        (folder / "attest.json").write_text(json.dumps(index))
        status, out, err = support.run("judge", folder)
        self.assertIn(status, (1, 2), out + err)


class WrongWords(unittest.TestCase):
    GOOD = "attest:attention.scaled_dot_product:f32;n=3;s=5;d=4;m=2;flag=random;seed=2"

    # query, words of the message
    QUERIES = [
        (
            "attest:attention.scaled_dot_produkt:f32;n=3;s=5;d=4;m=2;flag=random;seed=2",
            ["scaled_dot_produkt'", "attention.scaled_dot_product"],
        ),
        (GOOD + ";sale=1", ["unknown key 'sale'", "scale"]),
        (GOOD.replace("n=3", "n=three"), ["n='three'", "integer"]),
        (GOOD.replace("n=3", "n=-1"), ["n"]),
        (GOOD.replace("n=3", "n=3.5"), ["n='3.5'", "integer"]),
        (GOOD.replace("n=3", "n="), ["n=''", "integer"]),
        (GOOD.replace("n=3", "n=99999999999999999999"), ["n="]),
        (GOOD.replace("n=3", "n=999999999"), ["n=999999999", "2^24"]),
        (
            GOOD.replace("n=3;s=5", "n=5;s=3") + ";causal=true",
            ["causal attention needs at least as many keys as queries"],
        ),
        (GOOD + ";causal=yes", ["causal='yes'", "true or false"]),
        (GOOD + ";scale=big", ["scale='big'", "a number"]),
        (GOOD + ";empty_row=zeros", ["zeros", "zero"]),
        (GOOD + ";block=0", ["block"]),
        (GOOD.replace("flag=random", "flag=randon"), ["no flag 'randon'", "random"]),
        (GOOD.replace("d=4;", ""), ["d"]),
        (GOOD.replace("seed=2", "seed=-2"), ["seed"]),
        (GOOD + ";with=masc", ["masc"]),
        (GOOD + ";exact=f8", ["exact='f8'"]),
        (GOOD.replace(":f32", ":f31"), ["no profile is called 'f31'", "f32"]),
        ("garbage", ["attest:EQUATION:PROFILE"]),
        ("", ["attest:EQUATION:PROFILE"]),
        (";;;", ["attest:EQUATION:PROFILE"]),
        ("attest:attention.scaled_dot_product", ["attest:EQUATION:PROFILE"]),
        ("attest:attention.scaled_dot_product:f32;n", ["key=value"]),
        (GOOD + ";", ["key=value"]),
    ]

    @classmethod
    def setUpClass(cls):
        cls.plugin = support.compile_plugin("attention.c")

    def test_the_query_is_good_before_it_is_spoilt(self):
        status, out, err = support.run("reproduce", self.GOOD, self.plugin)
        self.assertEqual(status, 0, out + err)

    def test_wrong_query(self):
        for query, words in self.QUERIES:
            with self.subTest(query=query):
                status, out, err = support.run("reproduce", query, self.plugin)
                self.assertEqual(status, 2, out + err)
                self.assertEqual(out, "")
                self.assertTrue(err.strip())
                for word in words:
                    self.assertIn(word, err)

    def test_query_for_a_missing_candidate(self):
        status, out, err = support.run("reproduce", self.GOOD, support.fresh_folder() / "none.so")
        self.assertEqual(status, 3, out + err)
        self.assertIn("there is no such file", err)

    def test_wrong_command_line(self):
        plugin = self.plugin
        for arguments in (
            [],
            ["chekc"],
            ["check"],
            ["check", plugin, "--onyl", "x"],
            ["check", plugin, "extra"],
            ["check", plugin, "--laws", "many"],
            ["check", plugin, "--laws", "-1"],
            ["check", plugin, "--time-limit", "0"],
            ["check", plugin, "--profile", "f31"],
            ["show"],
            ["show", "attention.softmacks"],
            ["golden"],
            ["golden", "burn"],
            ["judge"],
            ["reproduce"],
            ["emit"],
            ["golden", "regenerate", "--only", "nothing.*", "--into", support.fresh_folder()],
            ["list", "more"],
            ["--frobnicate"],
        ):
            with self.subTest(arguments=[str(argument) for argument in arguments]):
                status, out, err = support.run(*arguments)
                self.assertEqual(status, 2, out + err)
                self.assertTrue((out + err).strip())

    def test_near_name_is_offered(self):
        status, out, err = support.run("show", "attention.softmacks")
        self.assertEqual(status, 2, out + err)
        self.assertIn("attention.softmax", err)

    def test_report_that_cannot_be_written(self):
        path = support.fresh_folder() / "missing" / "report.json"
        status, out, err = support.run("check", self.plugin, "--laws", "0", "--json", path)
        self.assertNotEqual(status, 0, out + err)
        self.assertIn(str(path), err)


class FailingDisk(unittest.TestCase):
    def setUp(self):
        self.folder = support.fresh_folder() / "golden"
        status, out, err = self.regenerate(self.folder)
        self.assertEqual(status, 0, out + err)

    def contents(self):
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def regenerate(self, into, **options):
        return support.run("golden", "regenerate", "--only", "attention.softmax*", "--into", into, **options)

    def test_regenerating_gives_the_stored_bytes(self):
        for name, data in self.contents().items():
            self.assertEqual(data, (support.PROJECT / "golden" / name).read_bytes(), name)

    def test_full_disk_leaves_every_old_file(self):
        before = self.contents()
        for limit in (0, 100, 4096, len(before["attention/softmax.safetensors"]) - 1):
            with self.subTest(limit=limit):

                def little_room():
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

                status, out, err = self.regenerate(self.folder, preexec_fn=little_room)
                self.assertNotEqual(status, 0, out + err)
                self.assertIn("File too large", err)
                self.assertIn(str(self.folder), err)
                self.assertEqual(self.contents(), before)  # the same names too: nothing temporary stays

    def test_end_by_a_signal_leaves_every_old_file(self):
        before = self.contents()

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

        status, _, _ = self.regenerate(self.folder, preexec_fn=little_room)
        self.assertNotEqual(status, 0)
        after = self.contents()
        self.assertEqual({name: after.get(name) for name in before}, before)

    def test_missing_parents_are_made(self):
        into = support.fresh_folder() / "a" / "b"
        status, out, err = self.regenerate(into)
        self.assertEqual(status, 0, out + err)
        self.assertTrue((into / "attention/softmax.manifest.toml").is_file())

    def test_parent_is_a_file(self):
        path = support.fresh_folder() / "file"
        path.write_text("precious")
        status, out, err = self.regenerate(path / "golden")
        self.assertNotEqual(status, 0, out + err)
        self.assertIn(str(path), err)
        self.assertEqual(path.read_text(), "precious")

    def test_read_only_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        before = self.contents()
        folders = [self.folder, self.folder / "attention"]
        for folder in folders:
            folder.chmod(0o555)
        try:
            status, out, err = self.regenerate(self.folder)
        finally:
            for folder in folders:
                folder.chmod(0o755)
        self.assertNotEqual(status, 0, out + err)
        self.assertIn("Permission denied", err)
        self.assertEqual(self.contents(), before)

    def test_folder_that_no_one_may_write(self):
        status, out, err = self.regenerate("/proc/attest")
        self.assertNotEqual(status, 0, out + err)
        self.assertIn("/proc/attest", err)


if __name__ == "__main__":
    unittest.main()
