#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py --cxx COMPILER --cli FILE --folder FOLDER --objects FILE... [--names NAME...]: plants mistakes in the
attend engine of the OpenMP kernels and judges each by `attest check`, which must reject the forms that have it and pass
the others.

Of the plugin's objects that of attend_f32.cpp is compiled again, from a copy of the engine with one place changed."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[4]
ENGINE = PROJECT / "optimized/openmp"
FORMS = ("max_shift", "online_blocked", "split_k", "per_query")

# name: file of optimized/openmp/engine, text that occurs once, its replacement, the forms that are wrong by it.
MUTANTS = {
    "tile_skipped": (
        "attend-inl.hpp",
        "    each(key, next - key);\n",
        "    if (key / tile != 1) each(key, next - key);\n",
        FORMS,
    ),
    "maximum_not_carried": (
        "attend-inl.hpp",
        "hn::Store(in.exponential ? simd::HWY_NAMESPACE::exp<T>(hn::Sub(before, after)) : all(T(1)), d, factor + w);",
        "static_cast<void>(after), hn::Store(hn::IfThenElse(hn::Eq(before, all(kHidden<T>)), hn::Zero(d), all(T(1))),"
        " d, factor + w);",
        ("online_blocked", "split_k", "per_query"),
    ),
    "key_of_two_shards": (
        "attend_threads.hpp",
        "std::min(s, (i + 1) * length),",
        "std::min(s, (i + 1) * length + (i == 0 ? 1 : 0)),",
        ("split_k",),
    ),
    "tail_read": (
        "attend-inl.hpp",
        "for (; c < count; ++c) total += a[c] * b[c];",
        "for (; c < whole_vectors<T>(count); ++c) total += a[c] * b[c];",
        ("online_blocked", "split_k"),
    ),
    "wrong_with_avx512_alone": (
        "attend-inl.hpp",
        "    const auto top = finite_maximum<T>(hn::Load(d, maximum + w));\n    auto even",
        "    auto top = finite_maximum<T>(hn::Load(d, maximum + w));\n"
        "    if (HWY_TARGET == HWY_AVX3 && w > 0) top = hn::Mul(top, all(T(1.001)));\n    auto even",
        ("online_blocked", "split_k", "per_query"),
    ),
}


def build(name, options):
    """The plugin with a mutant."""
    file, old, new, _ = MUTANTS[name]
    folder = options.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ENGINE / "engine", folder / "openmp/engine")
    shutil.copy(ENGINE / "attend_f32.cpp", folder / "openmp")
    changed = folder / "openmp/engine" / file
    text = changed.read_text()
    if text.count(old) != 1:
        sys.exit(f"{name}: the text to be replaced occurs {text.count(old)} times in {file}")
    changed.write_text(text.replace(old, new))
    include = [f"-I{path}" for path in (folder, ENGINE / "include", PROJECT / "specs/include")]
    flags = "-std=c++20 -O1 -fopenmp -fPIC -fvisibility=hidden -ffp-contract=off -DATTEST_UNCHECKED_VIEWS".split()
    made, plugin = folder / "attend_f32.o", folder / "kernels.so"
    source = folder / "openmp/attend_f32.cpp"
    subprocess.run([options.cxx, *flags, *include, "-c", source, "-o", made], check=True)
    others = [path for path in options.objects if path.endswith(".o") and "attend_f32" not in path]
    subprocess.run([options.cxx, "-shared", "-fopenmp", "-o", plugin, made, *others], check=True)
    return plugin


def passes(plugin, form, options, simd):
    report = plugin.with_suffix(".json")
    command = [options.cli, "check", plugin, "--only", f"attention.scaled_dot_product.{form}", "--profile", "f32"]
    environment = {**os.environ, **({"ATTEST_SIMD": simd} if simd else {})}
    subprocess.run([*command, "--strength", "0", "--json", report], env=environment, capture_output=True)
    (row,) = json.loads(report.read_text())["rows"]
    return row["status"] == "PASS"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--objects", nargs="+", required=True)
    parser.add_argument("--names", nargs="+", default=list(MUTANTS))
    options = parser.parse_args()
    has_avx512 = "avx512dq" in pathlib.Path("/proc/cpuinfo").read_text()
    wrong = 0
    for name in options.names:
        narrow = name == "wrong_with_avx512_alone"
        if narrow and not has_avx512:
            print(f"{name}: this processor has no AVX-512")
            continue
        plugin = build(name, options)
        for form in FORMS:
            runs = [(None, form not in MUTANTS[name][3])] + ([("avx2", True)] if narrow else [])
            for simd, due in runs:
                passed = passes(plugin, form, options, simd)
                wrong += passed != due
                print(f"{name}, {form}{f', {simd}' if simd else ''}: {'passes' if passed else 'rejected'}", flush=True)
                if passed != due:
                    print(f"  it should have been {'passed' if due else 'rejected'}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
