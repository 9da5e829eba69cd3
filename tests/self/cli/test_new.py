# SPDX-License-Identifier: MIT
"""`attest new`: writes the files of a planned equation, all or none, and they are files that configure accepts."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tomllib
import unittest

import support

BUILD = pathlib.Path(os.environ["ATTEST_BUILD_DIR"]) if os.environ.get("ATTEST_BUILD_DIR") else None
ROOMS = ("specs", "reference/include/attest/reference", "tests/faults", "tests/properties", "optimized")
OPTIMIZED = ("optimized/openmp", "optimized/cuda")
ALWAYS = ["reference/include/attest/reference/{}.hpp", "specs/{}.toml", "tests/faults/{}.hpp"]


def tree():
    """The folders that are written to, and those that the command reads, copied from the project, but for the files of
    PLANNED."""
    copy = support.fresh_folder("tree")
    for folder in (*ROOMS, "tools/cli/skeleton"):
        shutil.copytree(support.PROJECT / folder, copy / folder)
    for equation in PLANNED:
        for file in copy.glob(f"**/{equation.replace('.', '/')}.*"):
            file.unlink()
    return copy


def new(copy, *words):
    return support.run("new", *words, env={"ATTEST_PROJECT_DIR": str(copy)})


def generate(copy):
    """Reads every spec, as the first step of a build does; returns exit status and errors."""
    generator = BUILD / "specs/attest_specgen" if BUILD else None
    if generator is None or not generator.exists():
        raise unittest.SkipTest("no build folder")
    laws = sorted(path.stem for path in (support.PROJECT / "tests/laws").glob("*.hpp"))
    result = subprocess.run([generator, copy / "specs", copy / "generated", *laws], capture_output=True, text=True)
    return result.returncode, result.stderr


def compiled(copy, source, like):
    """Checks a file of the copy as the build compiles others; returns exit status and errors."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    words = shlex.split(next(one["command"] for one in entries if re.search(like, one["command"])))
    kept, own = [], []
    for word, before in zip(words, ["", *words]):
        if word in ("-include", "-o", "-c", "-Winvalid-pch") or before in ("-include", "-o", "-c"):
            continue
        kept.append(word)
        for root in (BUILD, support.PROJECT):
            if word.startswith(f"-I{root}/"):
                own.append("-I" + str(copy / word.removeprefix(f"-I{root}/")))
                break
    result = subprocess.run(
        [kept[0], *own, *kept[1:], "-fsyntax-only", copy / source], capture_output=True, text=True, cwd=BUILD
    )
    return result.returncode, result.stderr


def files(copy):
    return {str(path.relative_to(copy)): path.read_bytes() for path in copy.rglob("*") if path.is_file()}


# The folders that the units of an equation include headers from, beside its generated contract.
INCLUDED = ("tests", "tools/judge/include", *(f"{one}/include" for one in ("reference", *OPTIMIZED)))
CATALOGUE = tomllib.loads((support.PROJECT / "specs/catalogue.toml").read_text())
# Every equation has its spec; in the copies these have none.
PLANNED = {f"{family}.{stem}": row for family in ("content", "rl") for stem, row in CATALOGUE[family].items()}


def planned():
    """One of them that has several forms: its id and its row."""
    return next((equation, row) for equation, row in PLANNED.items() if len(row.get("forms", [])) > 1)


class New(unittest.TestCase):
    def expect_files(self, words, expected):
        copy = tree()
        before = files(copy)
        equation, row = planned()
        status, out, err = new(copy, equation, *words)
        self.assertEqual(status, 0, err)
        after = files(copy)
        written = sorted(after.keys() - before.keys())
        self.assertEqual(written, sorted(one.format(equation.replace(".", "/")) for one in expected))
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(sorted(line for line in out.splitlines() if line in written), written)
        for step in ("golden regenerate", "check reference", "mutants"):
            self.assertIn(f"tools/attest {step} --only ", out)
        for name in written:
            text = after[name].decode()
            self.assertNotIn("@", text)
            self.assertIn("To replace", text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 120, f"{name}: {line}")
            for header in re.findall(r'#include "(.*)"', text):
                contract = header == f"attest/spec/{equation.replace('.', '/')}.hpp"
                there = any(one.endswith("/" + header) for one in written) or any(
                    (support.PROJECT / folder / header).exists() for folder in INCLUDED
                )
                self.assertTrue(contract or there, f"{name} includes {header}")
        return copy, equation, row

    def test_the_files_of_an_equation(self):
        copy, equation, row = self.expect_files([], [*ALWAYS, "optimized/openmp/{}.cpp"])
        family, stem = equation.split(".")
        spec_text = (copy / f"specs/{family}/{stem}.toml").read_text()
        spec = tomllib.loads(spec_text)
        self.assertEqual(spec["id"], equation)
        self.assertEqual([form["name"] for form in spec["forms"]], row["forms"])
        self.assertEqual(list(spec["backends"]), ["openmp"])
        for name in row.get("invariants", []) + row.get("faults", []):
            self.assertIn(f'name = "{name}"', spec_text)
        reference = (copy / f"reference/include/attest/reference/{family}/{stem}.hpp").read_text()
        kernel = (copy / f"optimized/openmp/{family}/{stem}.cpp").read_text()
        for form in row["forms"]:
            self.assertIn(f"void {form}(", reference)
            self.assertEqual(kernel.count(f" {form}(const In<"), 3, "a template and two instances")

    def test_both_backends_and_properties(self):
        copy, equation, _ = self.expect_files(
            ["--backends", "openmp,cuda", "--properties"],
            [*ALWAYS, "optimized/openmp/{}.cpp", "optimized/cuda/{}.cu", "tests/properties/{}.hpp"],
        )
        self.assertIn(f'Kernels("{equation}")', (copy / f"optimized/cuda/{equation.replace('.', '/')}.cu").read_text())

    def test_a_backend_that_is_named_twice_is_written_once(self):
        self.expect_files(["--backends", "openmp,openmp"], [*ALWAYS, "optimized/openmp/{}.cpp"])

    def test_the_spec_of_every_planned_equation_can_be_read(self):
        """By the program that derives the contracts from the specs at build time."""
        copy = tree()
        for equation in PLANNED:
            status, _, err = new(copy, equation, "--backends", "cuda,openmp")
            self.assertEqual(status, 0, err)
        status, errors = generate(copy)
        self.assertEqual(status, 0, errors)
        for equation in PLANNED:
            contract = copy / f"generated/contract/attest/spec/{equation.replace('.', '/')}.hpp"
            self.assertIn("double factor", contract.read_text())

    def test_the_files_compile(self):
        copy = tree()
        equation, _ = planned()
        self.assertEqual(new(copy, equation)[0], 0)
        status, errors = generate(copy)
        self.assertEqual(status, 0, errors)
        kernel = f"optimized/openmp/{equation.replace('.', '/')}.cpp"
        for source, like in (
            (f"generated/reference/{equation}.cpp", "-o [^ ]*attest_equations.dir/[^ ]*[.]o "),
            (f"generated/faults/{equation}.cpp", "-o [^ ]*attest_faults.dir/[^ ]*[.]o "),
            (kernel, "-o [^ ]*openmp/positional/learned.cpp.o "),
        ):
            with self.subTest(source):
                status, errors = compiled(copy, source, like)
                self.assertEqual(status, 0, errors)

    def test_what_a_name_of_the_catalogue_lacks_is_said_when_the_spec_is_read(self):
        """Each name stands as a comment with what is left to say: a fault without what it changes or without the cases
        that reveal it is an error, and no fault points at the random cases before its author says so."""
        copy = tree()
        equation = next(id for id, row in PLANNED.items() if row.get("faults"))
        fault = PLANNED[equation]["faults"][0]
        self.assertEqual(new(copy, equation)[0], 0)
        spec = copy / f"specs/{equation.replace('.', '/')}.toml"
        line = f'{{ name = "{fault}", change = "", flag = "FLAG" }},'
        self.assertEqual(spec.read_text().count(f"# {line}"), 1)
        for replaced, status, *words in (
            (line, 1, "faults[1]", "'change' must not be empty"),
            (line.replace('""', '"a change"'), 1, f"fault '{fault}': flag 'FLAG' is not the flag of a", "random"),
            (line.replace('""', '"a change"').replace("FLAG", "labels"), 0),
        ):
            with self.subTest(replaced):
                text = spec.read_text()
                spec.write_text(text.replace(f"# {line}", replaced))
                got, errors = generate(copy)
                spec.write_text(text)
                self.assertEqual(got, status, errors)
                for word in words:
                    self.assertIn(word, errors)

    def test_a_law_without_a_header_stops_the_build(self):
        copy = tree()
        spec = copy / "specs/linear/causal.toml"
        text = spec.read_text().replace('law = "causal"', 'law = "casual"').replace('"law causal"', '"law casual"')
        spec.write_text(text)
        status, errors = generate(copy)
        self.assertEqual(status, 1)
        self.assertRegex(
            errors,
            r"^specs/linear/causal.toml: laws\[\d+\]: no law is called 'casual'; did you mean 'causal'\?; "
            "those of tests/laws: affine, causal, ",
        )

    def expect_refusal(self, copy, words, *parts):
        before = files(copy)
        status, _, err = new(copy, *words)
        self.assertEqual(status, 2, err)
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(files(copy), before, "something was written")

    def test_bad_ids(self):
        copy = tree()
        for bad in (
            "",
            "linear",
            "linear.",
            ".causal",
            "Linear.causal",
            "linear.causal.x",
            "../x.y",
            "linear/causal",
            "a.b c",
        ):
            with self.subTest(id=bad):
                self.expect_refusal(copy, [bad], "is no id of an equation", "family.stem")
        self.expect_refusal(copy, ["linear.nothing"], "has no entry [linear.nothing]")
        self.expect_refusal(copy, ["linear.causal", "--backends", "metal"], "metal")

    def test_an_equation_that_exists(self):
        self.expect_refusal(tree(), ["linear.causal"], "specs/linear/causal.toml exists", "nothing was written")

    def test_a_file_that_exists(self):
        equation, _ = planned()
        for room in (*ALWAYS, "optimized/openmp/{}.cpp"):
            with self.subTest(room=room):
                copy = tree()
                path = copy / room.format(equation.replace(".", "/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("mine\n")
                self.expect_refusal(copy, [equation], f"{path} exists")

    def test_nothing_is_left_when_a_file_cannot_be_written(self):
        equation, _ = planned()
        copy = tree()
        family = copy / "optimized/openmp" / equation.split(".")[0]
        shutil.rmtree(family, ignore_errors=True)
        family.write_text("a file where the folder of the last file should be\n")
        folders = sorted(path for path in copy.rglob("*") if path.is_dir())
        before = files(copy)
        status, _, err = new(copy, equation)
        self.assertNotEqual(status, 0)
        self.assertIn(str(family), err)
        self.assertEqual(files(copy), before)
        self.assertEqual(sorted(path for path in copy.rglob("*") if path.is_dir()), folders)

    def test_without_a_source_tree(self):
        empty = support.fresh_folder("empty")
        self.expect_refusal(empty, ["linear.causal"], "tools/cli/skeleton does not exist", "ATTEST_PROJECT_DIR")


if __name__ == "__main__":
    unittest.main()
