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


def tree():
    """The project with specs, reference and kernels copied, so that files can be taken away; the rest are links."""
    copy = support.fresh_folder("tree")
    for entry in support.PROJECT.iterdir():
        if entry.name in ("specs", "reference", "optimized"):
            shutil.copytree(entry, copy / entry.name)
        elif entry.name not in ("build", ".git"):
            (copy / entry.name).symlink_to(entry)
    return copy


def configure(copy, *options):
    result = subprocess.run(
        ["cmake", "-S", copy, "-B", copy / "build", "-DATTEST_TESTS=OFF", *options], capture_output=True, text=True
    )
    return result.returncode, " ".join((result.stdout + result.stderr).split())


class Configure(unittest.TestCase):
    def test_the_tree_as_it_is(self):
        status, text = configure(tree())
        self.assertEqual(status, 0, text)

    def test_a_missing_partner_is_named(self):
        for partner in ("reference/include/attest/reference/linear/causal.hpp", "optimized/openmp/linear/causal.cpp"):
            with self.subTest(partner=partner):
                copy = tree()
                (copy / partner).unlink()
                status, text = configure(copy)
                self.assertNotEqual(status, 0)
                self.assertIn(f"specs/linear/causal.toml has no partner: expected {partner}", text)

    def test_an_orphan_is_named(self):
        for orphan in ("reference/include/attest/reference/linear/extra.hpp", "optimized/openmp/linear/extra.cpp"):
            with self.subTest(orphan=orphan):
                copy = tree()
                (copy / orphan).write_text("// nobody asks for this\n")
                status, text = configure(copy)
                self.assertNotEqual(status, 0)
                self.assertIn(f"{orphan} is an orphan", text)


class CudaUnits(unittest.TestCase):
    def test_every_unit_is_a_source_for_every_format(self):
        copy = tree()
        formats = copy / "optimized/cuda/include/attest/cuda/call.hpp"
        formats.write_text(
            formats.read_text().replace(
                "  instantiate(float, float) ", "  instantiate(double, float) \\\n  instantiate(float, float) "
            )
        )
        status, text = configure(copy, "-DATTEST_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
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
            ("#define SOMETHING(T)", "units/other.hpp says nothing that is to be compiled"),
        ):
            with self.subTest(content=content):
                copy = tree()
                (copy / "optimized/cuda/include/attest/cuda/units/other.hpp").write_text(
                    "// SPDX-License-Identifier: MIT\n" + content + "\n"
                )
                status, text = configure(copy, "-DATTEST_CUDA=OFF")
                self.assertNotEqual(status, 0)
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
