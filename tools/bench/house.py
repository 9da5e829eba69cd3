#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""house.py [REVISION|FOLDER]...: how long files, functions and lines of the project are (default: the work tree).

Of each: the longest function, file and line; the lines of README.md; the lines of three equations by folder, and how
many of them are boilerplate. Everything is read from the text, so that a revision needs no build.

A function of C++ or CUDA is a block in braces whose head ends in a parameter list and is no loop, branch or lambda; its
length is the lines from the head to the closing brace. Python's is that of its syntax tree. Boilerplate are, in the
spec and the code of an equation: lines of brackets and punctuation alone; the licence, #pragma and #include;
namespaces, using declarations and heads of templates; explicit instantiations; headers of tables; the head of a
function that takes the equation's tensors (In and Out) or a Context, the tables that register functions, and a line
that only forwards to another function. Empty lines and comments are not."""

import ast
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EQUATIONS = ("positional/learned", "linear/causal", "infini/segment_attention")
FOLDERS = {
    "specs": "specs/{}.toml",
    "reference": "reference/include/attest/reference/{}.hpp",
    "faults": "tests/faults/{}.hpp",
    "properties": "tests/properties/{}.hpp",
    "openmp": "optimized/openmp/{}.cpp",
    "cuda": "optimized/cuda/{}.cu",
}
CODE = (".cpp", ".hpp", ".c", ".h", ".cu", ".cuh")
WRITTEN_BY_PROGRAMS = re.compile(r"golden/.*|tools/bench/records/.*|LICENSE|build/.*|\.git/.*")

# A comment or a literal; what is in it is no brace. A digit separator is no literal.
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
NO_FUNCTION = re.compile(
    r"^\s*(if|for|while|switch|catch|else|do|return|namespace|extern)\b|[=\]]\s*(\([^{}]*\))?$|^\s*#"
)
HEAD = re.compile(r"\)\s*(const|noexcept|override|final|mutable|->[^{};]*|\s|:\s[^{};]*|requires[^{};]*)*$")

BOILERPLATE = re.compile(
    r"""\s*(
      | [\[\](){};,]+                                         # brackets alone
      | //\ SPDX.* | \#.*                                     # licence, directives, comments of TOML
      | (inline\ )?namespace\ .* | \}+\s*//\ namespace.* | using\ .*
      | template\ ?<[^>]*> | template\ .*\bvoid\ .*;          # heads of templates, instantiations
      | \[\[.*\]\] | \[\w+\]                                  # headers of tables
      | (inline|static)\ .*\b(In|Out|Context|Problem|Call)&.*\{.*
      | (static\ )?void\ \w+\(.*\b(In|Out|Call)(<T>)?&.*\{.*
      | std::vector<(Property|attest_kernel)>\ .* | return\ (\{|Kernels\().* | \{".*\},? | \.\w+(<.*>)?\(.*\)
      | struct\ (Value|Gradient)\ \{ | return\ [\w:]+\((in|c),.*\);
    )\s*""",
    re.VERBOSE,
)


def functions_of_cpp(text):
    """(lines, name) of each function."""
    blank = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    open_blocks = []  # (name, or "" where it is no function; first line)
    start = 0  # of the text in front of the next brace
    for at, character in enumerate(blank):
        if character == "{":
            head = blank[start:at].rstrip()
            first = start + len(head) - len(head.lstrip())
            named = HEAD.search(head) and not NO_FUNCTION.search(" ".join(head.split()))
            name = re.search(r"([\w:~]+|operator\S+)\s*\(", head) if named else None
            open_blocks.append((name[1] if name else "", blank.count("\n", 0, first)))
        elif character == "}" and open_blocks:
            name, first = open_blocks.pop()
            if name:
                yield blank.count("\n", 0, at) - first + 1, name
        if character in "{};":
            start = at + 1


def functions_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.end_lineno - node.lineno + 1, node.name


def functions(name, text):
    if name.endswith(CODE):
        return functions_of_cpp(text)
    return functions_of_python(text) if name.endswith(".py") else ()


def sources(folder):
    """(path, text) of what is written by hand."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not WRITTEN_BY_PROGRAMS.fullmatch(name):
            content = path.read_bytes()
            if b"\0" not in content:
                yield name, content.decode(errors="replace")


def longest(folder):
    """{what: the three longest, as (length, where)}"""
    found = collections.defaultdict(list)
    wide = 0
    for name, text in sources(folder):
        lines = text.splitlines()
        kind = "C++, CUDA" if name.endswith(CODE) else "Python" if name.endswith(".py") else None
        if kind:
            found[f"function, {kind}"] += [(length, f"{name}: {of}") for length, of in functions(name, text)]
            found[f"file, {kind}"].append((len(lines), name))
        found["line"] += [(len(line), f"{name}:{number}") for number, line in enumerate(lines, 1)]
        wide += sum(len(line) > 120 for line in lines)
    print(f"lines of more than 120 columns: {wide}")
    for what in ("function, C++, CUDA", "function, Python"):
        print(f"{what}: {sum(length > 60 for length, _ in found[what])} of {len(found[what])} have more than 60 lines")
    return {what: sorted(values, reverse=True)[:3] for what, values in sorted(found.items())}


def report(folder):
    for what, values in longest(folder).items():
        print(f"longest {what}: {'; '.join(f'{length} ({where})' for length, where in values)}")
    print(f"README.md: {len((folder / 'README.md').read_text().splitlines())} lines")
    for equation in EQUATIONS:
        counts, boilerplate, total = [], 0, 0
        for room, pattern in FOLDERS.items():
            path = folder / pattern.format(equation)
            lines = path.read_text().splitlines() if path.exists() else []
            counts.append(f"{room} {len(lines)}")
            total += len(lines)
            boilerplate += sum(bool(line) and BOILERPLATE.fullmatch(line) is not None for line in lines)
        print(f"{equation}: {total} lines ({', '.join(counts)}); {100 * boilerplate / total:.0f} % boilerplate")


def main():
    for argument in sys.argv[1:] or [str(ROOT)]:
        print(f"== {argument}")
        if pathlib.Path(argument).is_dir():
            report(pathlib.Path(argument))
            continue
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(["git", "-C", ROOT, "archive", argument], check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
            report(pathlib.Path(folder))


if __name__ == "__main__":
    main()
