# SPDX-License-Identifier: MIT
"""The specs are the only list of equations: configure stops at a room that does not keep up with them, and a kernel
cannot reach into the reference. A build without CUDA says why it has none."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import support

BUILD = pathlib.Path(os.environ.get("ATTEST_BUILD_DIR", "")) if os.environ.get("ATTEST_BUILD_DIR") else None


def copied(folder, copy, changed):
    """Makes `copy` like the folder, of links; what may be changed, and the folders above it, are copies."""
    copy.mkdir()
    for entry in folder.iterdir():
        name = str(entry.relative_to(support.PROJECT))
        if name in ("build", ".git"):
            continue
        if name in changed:
            shutil.copytree(entry, copy / entry.name)
        elif any(path.startswith(name + "/") for path in changed):
            copied(entry, copy / entry.name, changed)
        else:
            (copy / entry.name).symlink_to(entry)


MUTANTS = "tests/self/mutants/cuda"
CHANGED = ("specs", "reference", "optimized", "tests/faults", "tests/properties", MUTANTS, "golden/linear")


def tree():
    """The project with what the tests change copied; the rest are links."""
    copy = support.fresh_folder("tree") / "project"
    copied(support.PROJECT, copy, CHANGED)
    return copy


def configure(copy, *options):
    result = subprocess.run(
        ["cmake", "-S", copy, "-B", copy / "build", "-DATTEST_TESTS=OFF", *options], capture_output=True, text=True
    )
    return result.returncode, " ".join((result.stdout + result.stderr).split())


PARTNERS_ALONE = """
cmake_minimum_required(VERSION 3.25)
project(attest LANGUAGES NONE)
include(tools/cmake/Equations.cmake)
"""


def configure_partners(copy):
    """Only the part of a configuration that compares the folders, which takes no compiler and no libraries."""
    (copy / "CMakeLists.txt").unlink(missing_ok=True)
    (copy / "CMakeLists.txt").write_text(PARTNERS_ALONE)
    return configure(copy)


class Configure(unittest.TestCase):
    def test_the_tree_as_it_is(self):
        status, text = configure(tree())
        self.assertEqual(status, 0, text)

    def test_a_missing_partner_stops_it(self):
        copy = tree()
        (copy / "optimized/openmp/linear/causal.cpp").unlink()
        status, text = configure(copy)
        self.assertNotEqual(status, 0)
        self.assertIn("specs/linear/causal.toml has no OpenMP kernels", text)


class Partners(unittest.TestCase):
    def stops(self, copy, *words):
        status, text = configure_partners(copy)
        self.assertNotEqual(status, 0)
        for word in words:
            self.assertIn(word, text)

    def test_a_missing_partner_is_named_with_what_to_do(self):
        partners = (
            "reference/include/attest/reference/linear/causal.hpp",
            "tests/faults/linear/causal.hpp",
            "optimized/openmp/linear/causal.cpp",
            "optimized/cuda/linear/causal.cu",
        )
        copy = tree()
        for partner in partners:
            (copy / partner).unlink()
        status, text = configure_partners(copy)
        self.assertNotEqual(status, 0)
        for partner, what in zip(partners, ("reference", "faults", "OpenMP kernels", "CUDA kernels")):
            self.assertRegex(
                text,
                rf"specs/linear/causal.toml has no {what}[^:]*: write {re.escape(partner)} "
                r"\((step \d+ of )?specs/README.md; `tools/attest new linear.causal` writes a skeleton\)",
            )
        self.assertIn("linear.causal` writes a skeleton", text)

    def test_the_step_is_the_one_of_the_page(self):
        copy = tree()
        (copy / "tests/faults/linear/causal.hpp").unlink()
        page = copy / "specs/README.md"
        page.write_text("17. **`tests/faults/family/stem.hpp`**: a function per fault.\n")
        self.stops(copy, "tests/faults/linear/causal.hpp (step 17 of specs/README.md;")
        page.write_text("Nothing of it.\n")
        self.stops(copy, "tests/faults/linear/causal.hpp (specs/README.md;")

    def test_an_orphan_is_named_with_what_to_do(self):
        orphans = (
            "reference/include/attest/reference/linear/extra.hpp",
            "tests/faults/linear/extra.hpp",
            "tests/properties/linear/extra.hpp",
            "optimized/openmp/linear/extra.cpp",
            "optimized/cuda/linear/extra.cu",
            "golden/linear/extra.safetensors",
        )
        copy = tree()
        for orphan in orphans:
            (copy / orphan).write_text("// nobody asks for this\n")
        self.stops(
            copy, *(f"{name} is an orphan: there is no specs/linear/extra.toml; rename the file" for name in orphans)
        )

    def test_a_kernel_of_a_backend_that_the_spec_does_not_declare_is_named(self):
        copy = tree()
        spec = copy / "specs/linear/causal.toml"
        spec.write_text(re.sub(r"(?m)^openmp = .*\n", "", spec.read_text()))
        self.stops(
            copy,
            "optimized/openmp/linear/causal.cpp is an orphan: specs/linear/causal.toml does not ask for it; "
            "add openmp to its [backends]",
        )

    def test_a_spec_of_a_wrong_name_or_place_is_named(self):
        copy = tree()
        spec = copy / "specs/linear/causal.toml"
        spec.write_text(spec.read_text().replace('id = "linear.causal"', 'id = "linear.casual"', 1))
        (copy / "specs/extra.toml").write_text("")
        (copy / "specs/linear/Extra.toml").write_text("")
        self.stops(
            copy,
            "specs/linear/causal.toml has 'id = \"linear.casual\"': the id spells the path",
            "specs/extra.toml: a spec is specs/FAMILY/STEM.toml",
            "specs/linear/Extra.toml: a spec is specs/FAMILY/STEM.toml",
        )

    def test_a_mutant_of_an_equation_without_cuda_kernels_is_named(self):
        copy = tree()
        (copy / MUTANTS / "extra.toml").write_text('equation = "linear.casual"\n')
        self.stops(
            copy, f"{MUTANTS}/extra.toml has 'equation = \"linear.casual\"': no spec of this id has CUDA kernels"
        )

    def test_a_missing_golden_file_is_said_and_stops_nothing(self):
        copy = tree()
        (copy / "golden/linear/causal.safetensors").unlink()
        status, text = configure_partners(copy)
        self.assertEqual(status, 0, text)
        self.assertIn(
            "linear/causal.safetensors is missing: `tools/attest golden regenerate --only linear.causal`", text
        )


class CudaUnits(unittest.TestCase):
    def test_every_unit_is_a_source_for_every_format(self):
        copy = tree()
        formats = copy / "optimized/cuda/include/attest/cuda/call.hpp"
        formats.write_text(
            formats.read_text().replace(
                "  instantiate(float, float) ", "  instantiate(double, float) \\\n  instantiate(float, float) "
            )
        )
        status, text = configure(
            copy, "-DATTEST_CUDA=OFF", "-DATTEST_JOIN_UNITS=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        )
        self.assertEqual(status, 0, text)
        compiled = {
            pathlib.Path(entry["file"]).name for entry in json.loads((copy / "build/compile_commands.json").read_text())
        }
        for header in (copy / "optimized/cuda/include/attest/cuda/units").iterdir():
            units = re.findall(r"^#define ATTEST_CUDA_UNIT_(\w+)\(([^)]*)\)", header.read_text(), re.M)
            self.assertTrue(units, header)
            for name, arguments in units:
                for source in {
                    "": [""],
                    "T": ["_double", "_float"],
                    "T, Factor": ["_double_float", "_float_float", "_float_Tf32"],
                }[arguments]:
                    self.assertTrue(
                        f"{header.stem}_{name}{source}.cu" in compiled,
                        f"{header.stem}_{name}{source}.cu is not compiled",
                    )

    def test_a_unit_of_something_else_and_a_header_without_one_are_named(self):
        for content, complaint in (
            ("#define ATTEST_CUDA_UNIT_other(T, U) x", "ATTEST_CUDA_UNIT_other takes (T, U)"),
            ("#define SOMETHING(T)", "no #define ATTEST_CUDA_UNIT_NAME(...)"),
        ):
            with self.subTest(content=content):
                copy = tree()
                (copy / "optimized/cuda/include/attest/cuda/units/other.hpp").write_text(
                    "// SPDX-License-Identifier: MIT\n" + content + "\n"
                )
                status, text = configure(copy, "-DATTEST_CUDA=OFF")
                self.assertNotEqual(status, 0)
                self.assertIn("optimized/cuda/include/attest/cuda/units/other.hpp", text)
                self.assertIn(complaint, text)


class WithoutCuda(unittest.TestCase):
    def test_cuda_is_left_out_and_says_why(self):
        for options, reason in (
            (["-DATTEST_CUDA=OFF"], "configured with ATTEST_CUDA=OFF"),
            (["-DATTEST_CUDA=AUTO", "-DATTEST_NVCC=OFF"], "no nvcc was found"),
        ):
            with self.subTest(options=options):
                copy = tree()
                status, text = configure(copy, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options)
                self.assertEqual(status, 0, text)
                commands = json.loads((copy / "build/compile_commands.json").read_text())
                self.assertFalse([entry["file"] for entry in commands if "nvcc" in shlex.split(entry["command"])[0]])
                (entry,) = (entry for entry in commands if entry["file"].endswith("cuda/absent/plugin.cpp"))
                words = shlex.split(entry["command"])
                words.remove("-c")
                plugin = copy / "plugin.so"
                words[words.index("-o") + 1] = str(plugin)
                subprocess.run([*words, "-shared"], cwd=entry["directory"], check=True)
                status, out, err = support.run("check", plugin)
                self.assertEqual((status, out), (3, ""), err)
                self.assertIn(reason, err)


class Direction(unittest.TestCase):
    @unittest.skipIf(BUILD is None, "needs ATTEST_BUILD_DIR, a configured build folder")
    def test_a_kernel_that_includes_the_reference_does_not_compile(self):
        kernel = support.PROJECT / "optimized/openmp/linear/causal.cpp"
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        entry = next(entry for entry in commands if pathlib.Path(entry["file"]) == kernel)
        for include, compiles in (
            ("attest/view.hpp", True),
            ("attest/reference/vocabulary.hpp", False),
            ("attest/golden/case.hpp", False),
        ):
            with self.subTest(include=include):
                source = support.fresh_folder() / "kernel.cpp"
                source.write_text(f'#include "{include}"\n' + kernel.read_text())
                words = shlex.split(entry["command"])
                words[words.index("-c") + 1] = str(source)
                words[words.index("-o") : words.index("-o") + 2] = ["-fsyntax-only"]
                result = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
                self.assertEqual(result.returncode == 0, compiles, result.stderr)


if __name__ == "__main__":
    unittest.main()
