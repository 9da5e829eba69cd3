# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 2
"""`attest bench`: a right kernel is timed beside its peers, a wrong one gets no time, and every mistake has its exit
status."""

import ctypes
import json
import os
import pathlib
import shlex
import subprocess
import sys
import unittest

import support

try:
    import numpy  # noqa: F401

    MISSING = None
except ImportError as error:
    MISSING = f"needs numpy: {error}"

PYTHON = {"ATTEST_PYTHON": sys.executable}
TINY = ("--tokens", "80", "--width", "8", "--heads", "2", "--rounds", "3", "--seconds", "5")


def bench(plugin, *more, env=None, **options):
    return support.run("bench", plugin, *more, env={**PYTHON, **(env or {})}, **options)


def record_of(plugin, *more):
    path = support.fresh_folder("bench") / "record.json"
    status, out, err = bench(plugin, *more, "--json", path)
    return status, out + err, json.loads(path.read_text()) if path.exists() else None


def subjects(record, kind, **keys):
    return [
        row
        for case in record["cases"]
        for row in case["subjects"]
        if row["kind"] == kind and all(case.get(key) == value for key, value in keys.items())
    ]


@unittest.skipIf(MISSING, MISSING)
class Timed(unittest.TestCase):
    def test_openmp(self):
        status, text, record = record_of("openmp", *TINY, "--batch", "2")
        self.assertEqual(status, 0, text)
        self.assertEqual([line for line in text.splitlines() if len(line) > 100], [])
        self.assertEqual(
            [case["equation"] for case in record["cases"]],
            ["linear.causal", "linear.causal_step", *["attention.scaled_dot_product"] * 2, "positional.rotary"],
        )
        self.assertEqual((record["plugin"]["name"], record["device"]["kind"]), ("attest openmp", "cpu"))
        self.assertEqual(len(record["plugin"]["sha256"]), 64)
        for key in ("date", "system", "versions", "settings", "device_after", "command"):
            self.assertIn(key, record)
        case = record["cases"][0]
        # 2 sequences of 2 heads of 80 tokens of width 8 in float32: q, k, v are read and o is written.
        self.assertEqual((case["flops"], case["bytes"]), (2 * 2 * 80 * (4 * 64 + 3 * 8 + 8), 4 * 2 * 2 * 80 * 8 * 4))
        names = {row["name"]: row for row in case["subjects"]}
        self.assertLessEqual({"chunked", "recurrent", "two_level", "NumPy", "PyTorch chunked", "fla chunk"}, set(names))
        everyone, causal, rotary = record["cases"][2:]
        self.assertEqual(
            (everyone["flops"], causal["flops"], rotary["flops"]),
            (4 * 80 * 80 * 4 * 8, 4 * 80 * 81 // 2 * 4 * 8, 4 * 80 * 3 * 8),
        )
        self.assertEqual([case["parameters"]["causal"] for case in (everyone, causal)], [0, 1])
        self.assertEqual(rotary["bytes"], 2 * 4 * 80 * 8 * 4 + 2 * 80 * 8)
        kernels, ceilings = subjects(record, "kernel"), subjects(record, "ceiling")
        for row in kernels + ceilings + [names["NumPy"]]:
            self.assertEqual((row["status"], len(row["seconds"])), ("timed", 3), row)
            self.assertTrue(0 < min(row["seconds"]) <= row["median"] <= max(row["seconds"]), row)
        for row in kernels:
            self.assertLess(row["error"], 1e-4)
            self.assertAlmostEqual(row["flops_per_second"] * row["median"] / row["flops"], 1)
            self.assertIn(f"  {row['name'][:33]} ", text)
        for case in record["cases"]:
            self.assertIn(1, [row["ratio"] for row in case["subjects"] if row["kind"] == "kernel"])
        for row in subjects(record, "peer"):
            self.assertTrue(row["status"] == "timed" or row["reason"], row)
        absent = sum(row["status"] == "absent" for row in subjects(record, "peer"))
        self.assertIn(f"{absent} not installed", text)

    def test_a_plugin_of_others_in_two_dtypes_and_both_passes(self):
        status, text, record = record_of(support.compile_plugin("causal.c"), *TINY)
        self.assertEqual(status, 0, text)
        self.assertEqual(
            [(case["reading"], case["dtype"]) for case in record["cases"]],
            [("value", "bf16"), ("value", "f32"), ("gradient", "bf16"), ("gradient", "f32")],
        )
        for dtype, bound in (("f32", 1e-5), ("bf16", 1e-2)):
            for row in subjects(record, "kernel", dtype=dtype):
                self.assertEqual(row["status"], "timed", row)
                self.assertLess(row["error"], bound)
            (backward,) = (case for case in record["cases"] if (case["dtype"], case["reading"]) == (dtype, "gradient"))
            self.assertEqual(backward["bytes"], 7 * 2 * 80 * 8 * (4 if dtype == "f32" else 2))

    def test_softmax_attention_forward_and_backward(self):
        status, text, record = record_of(
            "cuda-emulated", *TINY, "--equation", "attention.*", "--dtype", "f32", "--rounds", "1"
        )
        self.assertEqual(status, 0, text)
        self.assertEqual(
            [(case["reading"], case["parameters"]["causal"]) for case in record["cases"]],
            [("value", 0), ("value", 1), ("gradient", 0), ("gradient", 1)],
        )
        forward, _, backward, _ = record["cases"]
        self.assertEqual((backward["flops"], backward["bytes"]), (forward["flops"] // 2 * 5, 7 * 2 * 80 * 8 * 4))
        for case in record["cases"]:
            errors = {
                row["name"]: row["error"]
                for row in case["subjects"]
                if row["status"] == "timed" and row["kind"] == "kernel"
            }
            self.assertTrue(errors)
            for name, error in errors.items():
                self.assertLess(error, 1e-2 if name.endswith(" tf32") else 1e-4, name)
            self.assertTrue(any(name.endswith(" tf32") for name in errors))

    def test_what_is_timed_by_default_differs_from_the_first_in_one_list(self):
        plugin = support.compile_plugin("causal.c")
        lists = ("--list", "--tokens", "32,16", "--width", "8,4")
        titles = [
            [line for line in bench(plugin, *lists, *more)[1].splitlines() if "n = " in line]
            for more in ((), ("--all",), ("--quick",))
        ]
        self.assertEqual(
            [len(found) for found in titles], [2 * 4, 2 * 8, 2]
        )  # of two passes; the other dtype, 16, 4 are one thing each
        self.assertEqual(titles[2], [titles[0][0], titles[0][4]])
        self.assertTrue(set(titles[0]) < set(titles[1]))
        self.assertIn("n = 32, c = m = 8", titles[2][0])

    def test_quick_and_a_glob_limit_it(self):
        plugin = support.compile_plugin("causal.c")
        status, text, record = record_of(plugin, *TINY, "--tokens", "32,16", "--quick", "--equation", "*.causal")
        self.assertEqual(status, 0, text)
        self.assertEqual(
            [(case["reading"], case["dtype"], case["sizes"]["n"]) for case in record["cases"]],
            [("value", "bf16", 32), ("gradient", "bf16", 32)],
        )
        self.assertEqual({len(row["seconds"]) for row in subjects(record, "kernel")}, {3})


@unittest.skipIf(MISSING, MISSING)
class RefusedATime(unittest.TestCase):
    def refused(self, define, status, words, *more):
        got, text, record = record_of(support.compile_plugin("causal.c", define), *TINY, *more)
        self.assertEqual(got, 1, text)
        rows = subjects(record, "kernel")
        self.assertEqual({row["status"] for row in rows}, {status})
        for row in rows:
            self.assertIn(words, row["reason"])
            self.assertNotIn("seconds", row)
        self.assertFalse(any("seconds" in row for row in subjects(record, "peer")))  # nothing to compare them with
        self.assertIn("has no time", text)

    def test_what_is_wrong_everywhere(self):
        self.refused("FORGETS", "wrong", "of the small problem")

    def test_what_is_wrong_at_the_timed_size_only(self):
        self.refused("FORGETS_LATE", "wrong", "in the last rows", "--tokens", "500", "--dtype", "f32")

    def test_what_answers_from_memory(self):
        self.refused("REMEMBERS", "wrong", "inputs that changed in place", "--equation", "*.causal", "--quick")

    def test_what_does_nothing_in_timed_calls(self):
        # One call of the small problem, one of the timed one, three to warm up, three rounds.
        self.refused("RESTS", "wrong", "of a timed call", "--equation", "*.causal", "--quick", "--dtype", "f32")

    def test_what_answers_after_its_time(self):
        self.refused("LATER", "wrong", "of a timed call", "--equation", "*.causal", "--quick", "--dtype", "f32")

    def test_what_ends_the_process(self):
        plugin = support.compile_plugin("causal.c", "EXITS")
        status, out, err = bench(plugin, *TINY, "--quick")
        self.assertEqual(status, 3, out + err)
        self.assertIn("CRASH: the kernel ended its process with status 0", err)

    def test_what_returns_an_error(self):
        self.refused("FAILS", "failed", "the kernel returned 7: no such tile")


class Invalid(unittest.TestCase):
    def expect(self, plugin, status, *words, arguments=TINY, **options):
        got, out, err = bench(plugin, *arguments, **options)
        self.assertEqual(got, status, out + err)
        for word in words:
            self.assertIn(word, err)
        self.assertNotIn("Traceback", err)

    def test_plugin(self):
        self.expect("nonesuch", 3, "INVALID: there is no plugin nonesuch", "openmp")
        self.expect("./nonesuch.so", 3, "./nonesuch.so does not exist")
        self.expect(__file__, 3, "cannot be loaded")
        self.expect(
            "libm.so.6", 3, "libm.so.6 does not exist"
        )  # a name with a dot is a path, and no library of the system
        self.expect(support.compile_plugin("causal.c", "VERSION=9"), 3, "interface version 9")
        self.expect(
            support.compile_plugin("causal.c"),
            3,
            "has no kernel of positional.rotary in",
            "it has linear.causal",
            arguments=("--equation", "positional.rotary"),
        )
        self.expect(
            "openmp",
            3,
            "has no kernel of linear.causal in bf16",
            "linear.causal value f64",
            arguments=("--equation", "linear.causal", "--dtype", "bf16"),
        )

    @unittest.skipIf(MISSING, MISSING)
    def test_plugin_that_crashes(self):
        self.expect(support.compile_plugin("causal.c", "CRASHES"), 3, "CRASH", "SEGV")

    @unittest.skipIf(MISSING, MISSING)
    def test_plugin_that_cannot_do_any_case(self):
        for define, words in (("NARROW", "outside its capabilities: c == 32"), ("FLAT", "layout nd; bhnd is timed")):
            got, out, err = bench(support.compile_plugin("causal.c", define), *TINY)
            self.assertEqual(got, 3, out + err)
            self.assertIn(words, " ".join(out.split()))
            self.assertIn("no kernel could be timed", err)

    @unittest.skipIf(MISSING, MISSING)
    def test_capabilities_are_decided_as_everywhere(self):
        def with_capabilities(text):
            return support.compile_plugin("causal.c", f'CAPABILITIES="{text}"')

        quick = (*TINY, "--quick", "--dtype", "f32")
        got, out, err = bench(with_capabilities("m in {8, 16} and not c == 4; chunk == default; mask"), *quick)
        self.assertEqual(got, 3)
        self.assertIn("'mask' is neither a size, a parameter", err)
        got, out, err = bench(with_capabilities("m in {8, 16} and not c == 4; chunk == default"), *quick)
        self.assertEqual(got, 0, out + err)
        got, out, err = bench(with_capabilities("align == 64; n % 64 == 0"), *quick)
        self.assertEqual(got, 3)
        self.assertIn("outside its capabilities: n % 64 == 0", " ".join(out.split()))
        for text, words in (
            ("__import__('os')", "capabilities of linear.causal"),
            ("c ==", "capabilities of linear.causal"),
        ):
            self.expect(with_capabilities(text), 3, "INVALID", words, arguments=quick)

    @unittest.skipIf(MISSING, MISSING)
    def test_without_the_command_capabilities_cannot_be_decided(self):
        program = support.PROJECT / "tools/bench/kernels.py"
        environment = {key: value for key, value in os.environ.items() if key != "ATTEST_CLI"}
        done = subprocess.run(
            [sys.executable, program, support.compile_plugin("causal.c"), *TINY, "--quick"],
            capture_output=True,
            text=True,
            env={**environment, "PATH": str(support.fresh_folder("nothing"))},
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the attest command decides capabilities", done.stderr)

    def test_usage(self):
        self.expect(
            "openmp",
            2,
            "'linear.cuasal' matches nothing",
            "linear.causal_step",
            arguments=("--equation", "linear.cuasal"),
        )
        self.expect("openmp", 2, "invalid positive integer value: '0'", arguments=("--rounds", "0"))
        self.expect("openmp", 2, "at least 16", arguments=("--tokens", "8"))
        self.expect("openmp", 2, "dtype (of f64, f32, f16, bf16)", arguments=("--dtype", "f31"))
        self.expect("openmp", 2, "cannot start", arguments=TINY, env={"ATTEST_PYTHON": "/nonesuch/python3"})
        status, out, err = support.run("bench", env=PYTHON)
        self.assertEqual(status, 2)
        self.assertIn("NAME|PATH", err)

    @unittest.skipIf(MISSING, MISSING)
    def test_record_that_cannot_be_written_is_known_before_anything_is_timed(self):
        self.expect("openmp", 2, "cannot be written", arguments=(*TINY, "--json", "/nonesuch/record.json"))

    def test_without_numpy(self):
        folder = support.fresh_folder("modules")
        (folder / "numpy.py").write_text("raise ImportError('planted')\n")
        self.expect("openmp", 2, "need NumPy", "planted", "ATTEST_PYTHON", env={"PYTHONPATH": str(folder)})

    def test_without_the_program(self):
        project = support.fresh_folder("project")
        os.symlink(support.PROJECT / "golden", project / "golden")
        self.expect(
            "openmp", 2, "kernels.py does not exist", "ATTEST_PROJECT_DIR", env={"ATTEST_PROJECT_DIR": str(project)}
        )


# Runs the program with a line that replaces one of its parts: argv is the line, then the program's arguments.
PATCHED = f"""
import sys
sys.path.insert(0, {str(support.PROJECT / "tools/bench")!r})
sys.dont_write_bytecode = True
from attest_bench import host, main, measure, peers
from attest_bench.equations import linear
exec(sys.argv.pop(1))
sys.exit(main.exit_status())
"""


@unittest.skipIf(MISSING, MISSING)
class CutShort(unittest.TestCase):
    def patched(self, line):
        path = support.fresh_folder("bench") / "record.json"
        library = pathlib.Path(os.environ["ATTEST_BUILD_DIR"]) / "plugins/libattest_openmp.so"
        done = subprocess.run(
            [sys.executable, "-c", PATCHED, line, library, *TINY, "--json", path], capture_output=True, text=True
        )
        return done.returncode, done.stderr, json.loads(path.read_text())

    MEASURE = """
measured = measure.measure
def once(plugin, memory, case, options):
    if case.equation == "linear.causal_step":
        raise {}
    return measured(plugin, memory, case, options)
measure.measure = once"""

    def test_a_device_that_gives_up_leaves_what_was_measured(self):
        status, err, record = self.patched(self.MEASURE.format("RuntimeError('an illegal memory access')"))
        self.assertEqual(status, 3)
        self.assertIn("the device gave up after 1 of 5 cases: an illegal memory access", err)
        self.assertEqual([case["equation"] for case in record["cases"]], ["linear.causal"])
        self.assertIn("gave_up", record)

    def test_an_interrupt_leaves_what_was_measured(self):
        status, err, record = self.patched(self.MEASURE.format("KeyboardInterrupt"))
        self.assertEqual((status, err), (130, ""))
        self.assertEqual(
            ([case["equation"] for case in record["cases"]], record["interrupted"]), (["linear.causal"], True)
        )

    def test_inputs_that_do_not_fit_are_a_case_without_times(self):
        status, err, record = self.patched("def draw(self, tensor): raise MemoryError\nhost.Host.draw = draw")
        self.assertIn("no kernel could be timed", err)
        self.assertEqual({case["reason"] for case in record["cases"]}, {"its inputs do not fit into memory"})

    def test_a_peer_that_computes_something_else_or_fails_has_no_time(self):
        for line, status, words in (
            ("lambda: {'o': inputs['v']}, lambda x: x", "wrong", "of the small problem"),
            ("lambda: {'o': inputs['v'][..., :4]}, lambda x: x", "wrong", "o has shape"),
            ("lambda: 1 / 0, None", "failed", "ZeroDivisionError"),
        ):
            _, err, record = self.patched(
                f"peers.peer(linear.Causal, name='planted')(lambda memory, case, inputs: ({line}))"
            )
            (row,) = (row for row in record["cases"][0]["subjects"] if row["name"] == "planted")
            self.assertEqual((row["status"], "median" in row), (status, False), err)
            self.assertIn(words, row["reason"])


# Prints the size of each structure, the offset and the size of each field as JSON.
LAYOUT = """
#include <stdio.h>
#include <attest/attest_kernel.h>
int main(void) {{
  printf("{{");
{lines}
  printf("\\"\\": 0}}");
  return 0;
}}
"""


class Interface(unittest.TestCase):
    """The interface in Python is read out of the C header."""

    def setUp(self):
        sys.path.insert(0, str(support.PROJECT / "tools/bench"))
        self.addCleanup(sys.path.remove, sys.path[0])
        sys.dont_write_bytecode = True
        from attest_bench import interface

        self.interface = interface

    def layout_in_c(self, structures):
        def line(key, value):
            return f'  printf("\\"%s\\": %zu,", "{key}", {value});'

        lines = []
        for name, structure in structures.items():
            lines.append(line(name, f"sizeof({name})"))
            for field, *_ in structure._fields_:
                lines.append(line(f"{name}.{field}", f"offsetof({name}, {field})"))
                lines.append(line(f"size of {name}.{field}", f"sizeof((({name}*)0)->{field})"))
        program = support.fresh_folder("layout") / "layout"
        source = program.with_suffix(".c")
        source.write_text(LAYOUT.format(lines="\n".join(lines)))
        dlpack = os.environ.get("ATTEST_DLPACK_INCLUDE")
        includes = [f"-I{support.PROJECT / 'specs/include'}", *([f"-isystem{dlpack}"] if dlpack else [])]
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, "-std=c11", "-Werror", *includes, source, "-o", program], check=True)
        return json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)

    def test_sizes_and_offsets_are_those_of_the_c_compiler(self):
        of_dlpack = {name: getattr(self.interface, name) for name in ("DLDevice", "DLDataType", "DLTensor")}
        structures = {**self.interface.STRUCTURES, **of_dlpack}
        for name in ("attest_tensor", "attest_parameter", "attest_call", "attest_kernel", "attest_plugin"):
            self.assertIn(name, structures)
        in_c = self.layout_in_c(structures)
        for name, structure in structures.items():
            self.assertEqual(ctypes.sizeof(structure), in_c[name], name)
            for field, *_ in structure._fields_:
                found = getattr(structure, field)
                self.assertEqual(found.offset, in_c[f"{name}.{field}"], f"{name}.{field}")
                self.assertEqual(found.size, in_c[f"size of {name}.{field}"], f"{name}.{field}")

    def test_a_field_of_another_kind_is_an_error(self):
        for declaration in ("unsigned flags", "int shape[4]", "attest_call* calls"):
            with self.assertRaisesRegex(ValueError, "attest_new: cannot read the declaration"):
                self.interface.structures(f"typedef struct attest_new {{\n  {declaration};\n}} attest_new;")


class Pages(unittest.TestCase):
    def test_list_names_kernels_cases_and_peers(self):
        status, out, err = bench("openmp", "--list")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("n = 4096, c = m = 64: parallel_masked recurrent chunked scan two_level", out)
        self.assertIn("peers of linear.causal value: fla chunk,", out)
        self.assertNotIn("torch.compile", out)
        self.assertIn("torch.compile", bench("openmp", "--list", "--compile")[1])

    def test_a_reader_who_stops_reading(self):
        done = subprocess.run(
            f"'{support.CLI}' bench openmp --list | true",
            shell=True,
            capture_output=True,
            text=True,
            env={**os.environ, **PYTHON},
        )
        self.assertEqual(done.stderr, "")

    def test_help(self):
        status, out, _ = support.run("bench", "--help", env=PYTHON)
        self.assertEqual(status, 0)
        self.assertIn("usage: attest bench", out)

    def test_the_program_runs_without_the_command(self):
        program = support.PROJECT / "tools/bench/kernels.py"
        (library,) = pathlib.Path(os.environ["ATTEST_BUILD_DIR"]).glob("plugins/libattest_openmp.so")
        done = subprocess.run([sys.executable, program, library, "--list"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("attest openmp", done.stdout)


if __name__ == "__main__":
    unittest.main()
