#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py --cxx COMPILER --cli FILE --folder FOLDER --objects FILE... [--names NAME...]: plants mistakes in the
engines of the OpenMP kernels and judges each by `attest check`, which must reject the forms that have it and pass the
others.

Of the plugin's objects that of the engine for float is compiled again, from a copy with one place changed."""

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

# An equation of each engine and its forms.
JUDGED = {
    "attend": ("attention.scaled_dot_product", FORMS),
    "recur": ("linear.causal", ("parallel_masked", "recurrent", "chunked", "scan", "two_level")),
    "rows": ("positional.rotary", ("pairs", "matrix", "complex", "rotate_half")),
}

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
    "tile_not_stored": (
        "recur-inl.hpp",
        "    if (keep || at + tokens < first + count) store(in, keys, state, ahead);",
        "    if ((keep || at + tokens < first + count) && at != first + tile) store(in, keys, state, ahead);",
        ("recurrent", "chunked", "two_level"),
    ),
    "pair_on_the_diagonal_lost": (
        "recur-inl.hpp",
        "add(0, count_, [&](Index end) { return std::min(end, keys.count); });",
        "add(0, count_, [&](Index end) { return std::min(end - 1, keys.count); });",
        ("parallel_masked", "recurrent", "chunked", "two_level"),
    ),
    "span_not_summed": (
        "recur_threads.hpp",
        "for (Index t = 1; t <= count_; ++t) {\n      const T* before",
        "for (Index t = 1; t <= count_; ++t) {\n      if (t == 2) continue;\n      const T* before",
        ("parallel_masked", "two_level"),
    ),
    "scan_without_its_way_down": (
        "recur-inl.hpp",
        "for (reach /= 2; reach >= 1; reach /= 2)",
        "for (reach /= 2; reach >= 2; reach /= 2)",
        ("scan",),
    ),
    "jump_of_positions_missed": (
        "rows-inl.hpp",
        "in.positions(i) != in.positions(i - 1) + 1",
        "in.positions(i) <= in.positions(i - 1)",
        ("pairs", "complex", "rotate_half"),
    ),
    "recur_wrong_with_avx512_alone": (
        "recur-inl.hpp",
        "hn::StoreU(hn::Div(hn::LoadU(d, row + b), all(sum)), d, row + b);",
        "hn::StoreU(hn::Div(hn::LoadU(d, row + b), all(HWY_TARGET == HWY_AVX3 && i == 3 ? sum * T(1.001) : sum)), d,"
        " row + b);",
        ("parallel_masked", "chunked", "two_level"),
    ),
    "wrong_with_avx512_alone": (
        "attend-inl.hpp",
        "    const auto top = finite_maximum<T>(hn::Load(d, maximum + w));\n    auto even",
        "    auto top = finite_maximum<T>(hn::Load(d, maximum + w));\n"
        "    if (HWY_TARGET == HWY_AVX3 && w > 0) top = hn::Mul(top, all(T(1.001)));\n    auto even",
        ("online_blocked", "split_k", "per_query"),
    ),
}


def engine_of(name):
    file = MUTANTS[name][0]
    return next(engine for engine in JUDGED if file.startswith(engine))


def build(name, options):
    """The plugin with a mutant."""
    file, old, new, _ = MUTANTS[name]
    unit = f"{engine_of(name)}_f32"
    folder = options.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ENGINE / "engine", folder / "openmp/engine")
    shutil.copy(ENGINE / f"{unit}.cpp", folder / "openmp")
    changed = folder / "openmp/engine" / file
    text = changed.read_text()
    if text.count(old) != 1:
        sys.exit(f"{name}: the text to be replaced occurs {text.count(old)} times in {file}")
    changed.write_text(text.replace(old, new))
    include = [f"-I{path}" for path in (folder, ENGINE / "include", PROJECT / "specs/include")]
    flags = "-std=c++20 -O1 -fopenmp -fPIC -fvisibility=hidden -ffp-contract=off -DATTEST_UNCHECKED_VIEWS".split()
    made, plugin = folder / f"{unit}.o", folder / "kernels.so"
    source = folder / f"openmp/{unit}.cpp"
    subprocess.run([options.cxx, *flags, *include, "-c", source, "-o", made], check=True)
    others = [path for path in options.objects if path.endswith(".o") and unit not in path]
    subprocess.run([options.cxx, "-shared", "-fopenmp", "-o", plugin, made, *others], check=True)
    return plugin


def passes(plugin, equation, form, options, simd):
    report = plugin.with_suffix(".json")
    command = [options.cli, "check", plugin, "--only", f"{equation}.{form}", "--profile", "f32"]
    environment = {**os.environ, **({"ATTEST_SIMD": simd} if simd else {})}
    subprocess.run([*command, "--strength", "0", "--json", report], env=environment, capture_output=True)
    statuses = {row["status"] == "PASS" for row in json.loads(report.read_text())["rows"]}  # a row per layout
    if len(statuses) != 1:
        sys.exit(f"{equation}.{form}: under one layout it passes and under another it does not, see {report}")
    return statuses.pop()


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
        narrow = "avx512" in name
        if narrow and not has_avx512:
            print(f"{name}: this processor has no AVX-512")
            continue
        plugin = build(name, options)
        equation, forms = JUDGED[engine_of(name)]
        for form in forms:
            runs = [(None, form not in MUTANTS[name][3])] + ([("avx2", True)] if narrow else [])
            for simd, due in runs:
                passed = passes(plugin, equation, form, options, simd)
                wrong += passed != due
                print(f"{name}, {form}{f', {simd}' if simd else ''}: {'passes' if passed else 'rejected'}", flush=True)
                if passed != due:
                    print(f"  it should have been {'passed' if due else 'rejected'}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
