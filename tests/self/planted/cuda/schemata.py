#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schemata.py FOLDER: writes to FOLDER the files of optimized/cuda that mutants patch, with all mistakes in them, each
chosen at run time (mutant schemata; Untch, Offutt and Harrold 1993), and what a plugin of them needs:
attest/cuda/planted.hpp and table.cpp. Without FOLDER it prints the names of those files and the equations that have
mutants.

What differs between a mutant's old and new text is widened until there can be a choice between both: to an expression,

    (planted(Mutant::name) ? kept<decltype(old)>(new) : (old))

or else to whole statements, `if (planted(Mutant::name)) {new} else {old}`; from a declaration on to the end of its
block. Where one such choice lies in the old text of another it stays there. A mutant whose file or text is gone has no
choice: plant.py says so."""

import contextlib
import difflib
import json
import pathlib
import re
import sys

import plant

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|"""
    r"""[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|'?[\w.])*|->|::|&&|\|\||\+\+|--|<<|[-+*/%&|^=!<>]=|\S""",
    re.DOTALL | re.MULTILINE,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
STATEMENTS = {";", "if", "for", "while", "do", "else", "return", "continue", "break"}
DECLARATION = re.compile(
    r"(?:(?:const|constexpr|static) )*(?!return|else|case|goto|delete|throw|using)(?:[A-Za-z_]\w* :: )*[A-Za-z_]\w* "
    r"(?:< .*? > )?(?:[&*] )*[A-Za-z_]\w* [=;{(\[,]"
)

KERNEL = ("equation", "form", "reading", "layout", "profile")


class Code:
    """The tokens of a text, without comments and lines of the preprocessor, and the brackets around them."""

    def __init__(self, text):
        self.text = text
        found = [match for match in TOKEN.finditer(text) if not match[0].lstrip().startswith(("//", "/*", "#"))]
        self.tokens = [match[0] for match in found]
        self.spans = [match.span() for match in found]
        self.mate, self.around, opened, self.balanced = {}, [], [], True
        for i, token in enumerate(self.tokens):
            if token in OPENING.values():
                if not opened or OPENING[self.tokens[opened[-1]]] != token:
                    self.balanced = False
                else:
                    self.mate[i] = opened[-1]
                    self.mate[opened.pop()] = i
            self.around.append(opened[-1] if opened else -1)
            if token in OPENING:
                opened.append(i)
        self.balanced &= not opened

    def index(self, position):
        """The first token that begins at the position or behind it."""
        return next((i for i, span in enumerate(self.spans) if span[0] >= position), len(self.tokens))

    def between(self, front, back):
        """Where the tokens are but for some at both ends."""
        spans = self.spans[front : len(self.spans) - back]
        return (spans[0][0], spans[-1][1]) if spans else (self.spans[front - 1][1] if front else 0,) * 2

    def top(self):
        """The tokens outside of all brackets of this text, with those."""
        return [token for i, token in enumerate(self.tokens) if self.around[i] < 0]

    def is_block(self, i):
        """Whether a { begins statements, not the values of an object."""
        return (
            i > 0
            and self.tokens[i] == "{"
            and self.tokens[i - 1] in {")", "]", "else", "do", "const", "noexcept", "mutable", ";", "{", "}"}
        )

    def ends_statement(self, i):
        if self.tokens[i] == ";":
            return True
        behind = self.tokens[i + 1] if i + 1 < len(self.tokens) else ""
        return (
            self.tokens[i] == "}"
            and i in self.mate
            and self.is_block(self.mate[i])
            and behind not in {")", ",", ";", ".", "("}
        )

    def balance(self, a, b):
        """[a, b) widened until every bracket has its other one in it."""
        while True:
            mates = [self.mate[i] for i in range(a, b) if i in self.mate]
            wider = min([a, *mates]), max([b, *(mate + 1 for mate in mates)])
            if wider == (a, b):
                return a, b
            a, b = wider

    def enclosing(self, a):
        """The bracket in which there is a place in front of token a."""
        return (
            self.mate.get(a, -1)
            if a < len(self.tokens) and self.tokens[a] in OPENING.values()
            else self.around[a]
            if a < len(self.tokens)
            else -1
        )

    def statement_begin(self, a):
        outer = self.enclosing(a)
        while True:
            i = a - 1
            while i > outer and not self.ends_statement(i):
                i = self.mate[i] - 1 if self.tokens[i] in OPENING.values() else i - 1
            if i < 0 or self.tokens[i + 1] != "else":
                return i + 1
            a = i  # its `if` is another statement's begin

    def statement_end(self, a, b):
        """Behind the statement whose token b - 1 is."""
        i = max(b - 1, a)
        while True:
            if self.tokens[i] in OPENING:
                i = self.mate[i]
            if self.ends_statement(i) and not (i + 1 < len(self.tokens) and self.tokens[i + 1] == "else"):
                return i + 1
            i += 1

    def statements(self, a, b):
        """Where the statements in [a, b) begin and end."""
        while a < b:
            end = self.statement_end(a, a)
            yield a, end
            a = end

    def declares(self, a, b):
        return any(DECLARATION.match(" ".join(self.tokens[begin:end])) for begin, end in self.statements(a, b))

    def expression(self, a, b):
        """The expression in which [a, b) is, None where it is more than that."""
        while True:
            a, b = self.balance(a, b)
            outer = self.enclosing(a)
            i = a - 1
            while i > outer and self.tokens[i] not in {",", ";", "return"} | ASSIGNMENTS:
                if self.tokens[i] == "}" and self.is_block(self.mate[i]):
                    return None
                i = self.mate[i] - 1 if self.tokens[i] in OPENING.values() else i - 1
            if outer < 0 or self.is_block(outer) and (i == outer or self.tokens[i] == ";"):
                return None
            end = b
            while self.tokens[end] not in {",", ";"} | set(OPENING.values()):
                if self.tokens[end] in ASSIGNMENTS:
                    return None
                end = self.mate[end] + 1 if self.tokens[end] in OPENING else end + 1
            if "," not in [self.tokens[k] for k in range(i + 1, end) if self.around[k] == outer]:
                return i + 1, end
            a, b = outer, self.mate[outer] + 1


def differences(source, mutant):
    """What differs, as (begin, end, new text) in the source: line by line where there are as many of them, argument by
    argument likewise."""
    old_begin, old_end = plant.place(source, mutant)
    begin, end = source.rfind("\n", 0, old_begin) + 1, source.find("\n", old_end - 1) + 1 or len(source)
    before = source[begin:end].splitlines(True)
    after = (source[begin:old_begin] + mutant["new"].strip() + source[old_end:end]).splitlines(True)
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        place = begin + sum(map(len, before[:i]))
        if tag == "equal":
            continue
        if i_end - i == j_end - j:
            for line, other in zip(before[i:i_end], after[j:j_end]):
                yield from trimmed(place, line, other)
                place += len(line)
        else:
            yield from trimmed(place, "".join(before[i:i_end]), "".join(after[j:j_end]))


def trimmed(place, before, after):
    """Without the tokens at both ends that are the same."""
    old, new = Code(before), Code(after)
    if old.tokens == new.tokens:
        return
    most = min(len(old.tokens), len(new.tokens))
    front = next((i for i in range(most) if old.tokens[i] != new.tokens[i]), most)
    back = next((i for i in range(most - front) if old.tokens[-1 - i] != new.tokens[-1 - i]), most - front)
    spans = [(old.between(front, i), new.between(front, i)) for i in range(back, -1, -1)]
    (begin, end), inserted = next(
        (pair for pair in spans if Code(before[slice(*pair[0])]).balanced and Code(after[slice(*pair[1])]).balanced),
        spans[0],
    )
    text = after[slice(*inserted)]
    pieces = arguments(before[begin:end]), arguments(text)
    if len(pieces[0]) == len(pieces[1]) > 1:
        for (first, last), (new_first, new_last) in zip(*pieces):
            yield place + begin + first, place + begin + last, text[new_first:new_last]
    else:
        yield place + begin, place + end, text


def arguments(text):
    """Where the parts of a text are that commas separate."""
    code = Code(text)
    if not code.balanced or STATEMENTS & set(code.tokens):
        return []
    commas = [code.spans[i] for i, token in enumerate(code.tokens) if token == "," and code.around[i] < 0]
    return list(zip([0, *(end for _, end in commas)], [*(begin for begin, _ in commas), len(text)]))


def choice(code, begin, end, text):
    """Where there must be a choice, and whether it is between expressions."""
    a, b = code.index(begin), code.index(end)
    removed, inserted = Code(code.text[begin:end]), Code(text)
    parts = [part for part in (removed, inserted) if part.tokens]
    whole = all(part.balanced and part.tokens[-1] in {";", "}"} for part in parts)
    if not (STATEMENTS & {*removed.top(), *inserted.top()}) and inserted.balanced and not whole:
        if found := code.expression(a, b):
            return code.spans[found[0]][0], code.spans[found[1] - 1][1], True
    if whole and code.statement_begin(a) == a:
        if not code.declares(a, b) and not inserted.declares(0, len(inserted.tokens)):
            return begin, end, False
    else:
        a, b = code.balance(a, b)
        while not code.is_block(code.enclosing(a)):
            if code.enclosing(a) < 0:
                raise plant.PlantingError(f"what is planted must be in a function:\n{code.text[begin:end]}")
            a, b = code.enclosing(a), code.mate[code.enclosing(a)] + 1
        a = code.statement_begin(a)
        b = code.statement_end(a, b)
        if not code.declares(a, b):
            return code.spans[a][0], code.spans[b - 1][1], False
    return code.spans[a][0], code.spans[code.mate[code.enclosing(a)] - 1][1], False


def choices(code, name, mutant):
    """Where a mutant's choices are, none in another of its own, and what it changes there."""
    changes = list(differences(code.text, mutant))
    found = [choice(code, *change) for change in changes]
    for begin, end, expression in dict.fromkeys(found):
        if any(other[:2] != (begin, end) and other[0] <= begin and end <= other[1] for other in found):
            continue
        inside = [change for change, place in zip(changes, found) if begin <= place[0] and place[1] <= end]
        text, last = "", begin
        for first, behind, new in sorted(inside):
            text, last = text + code.text[last:first] + new, behind
        yield begin, end, expression, name, text + code.text[last:end]


def with_choices(code, begin, end, all_choices):
    """The text from begin to end with what may be chosen there."""
    text, rest = "", sorted(all_choices, key=lambda c: (c[0], -c[1]))
    while rest:
        first, last, expression = rest[0][:3]
        same = [c for c in rest if c[:3] == rest[0][:3]]
        inner = [c for c in rest if c not in same and c[0] >= first and c[1] <= last and first != last]
        rest = [c for c in rest if c not in same and c not in inner]
        if crossing := [c for c in rest if c[0] < last]:
            raise plant.PlantingError(
                f"{same[0][3]} and {crossing[0][3]} overlap: neither of what they change lies within the other's"
            )
        old = with_choices(code, first, last, inner)
        text += code.text[begin:first]
        chosen = [(f"planted(Mutant::{name})", new) for *_, name, new in same]
        if expression:
            kept = f"kept<decltype({code.text[first:last]}\n)>"
            text += "(" + "".join(f"{name} ? {kept}({new}\n) : " for name, new in chosen) + f"({old}\n))"
        else:
            text += "\n" + "".join(f"if ({name}) {{\n{new}\n}} else " for name, new in chosen) + f"{{\n{old}\n}}\n"
        begin = last
    return text + code.text[begin:end]


def header(every):
    """attest/cuda/planted.hpp: the mutants, what is planted where, and who asks for it."""
    rows = "".join(
        f"    {{{', '.join(json.dumps(text) for text in (name, *(mutant[key] for key in KERNEL)))}}},\n"
        for name, mutant in every.items()
    )
    return f"""// Generated.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

namespace attest::cuda {{

enum class Mutant {{ none, {", ".join(every)} }};
extern Mutant chosen;
[[gnu::always_inline]] constexpr bool planted(Mutant mutant) {{
  return !std::is_constant_evaluated() && mutant == chosen;
}}
/// A mistake's value, beside which the honest one keeps its type.
template <class Old, class New>
[[gnu::always_inline]] constexpr New&& kept(New&& value) {{
  using Honest = std::remove_cvref_t<Old>;
  static_assert(std::is_same_v<std::common_type_t<Honest, std::remove_cvref_t<New>>, Honest>);
  return std::forward<New>(value);
}}

/// The kernels that mutants are judged by, in the order of Mutant.
struct Planted {{
  std::string_view name, {", ".join(KERNEL)};
}};
inline constexpr Planted kPlanted[] = {{
{rows}}};

}}  // namespace attest::cuda
"""


def table(every):
    """The kernels of the equations in which something is planted."""
    spaces = [mutant["equation"].replace(".", "::") for mutant in every.values()]
    declared = "".join(
        f"namespace {space} {{\nstd::vector<attest_kernel> kernels();\n}}\n" for space in dict.fromkeys(spaces)
    )
    added = "".join(
        f"  for (const auto& kernel : {space}::kernels()) all.push_back(kernel);\n" for space in dict.fromkeys(spaces)
    )
    return f"""// Generated.
#include "attest/cuda/plugin.hpp"

namespace attest::cuda {{

{declared}
std::vector<attest_kernel> all_kernels() {{
  std::vector<attest_kernel> all;
{added}  return all;
}}

}}  // namespace attest::cuda
"""


def with_all(file, every):
    """A file with the choices of its mutants. plant.py tells of those whose text is not in it."""
    code = Code((plant.CUDA / file).read_text())
    found = []
    for name, mutant in every.items():
        if mutant["file"] == file:
            with contextlib.suppress(plant.PlantingError):
                found += choices(code, name, mutant)
    text = with_choices(code, 0, len(code.text), found)
    return re.sub(r"(?m)^#include ", '#include "attest/cuda/planted.hpp"\n#include ', text, count=1)


def main():
    every = plant.mutants()
    files = sorted({mutant["file"] for mutant in every.values() if (plant.CUDA / mutant["file"]).exists()})
    if len(sys.argv) == 1:
        print(";".join(files))
        print(";".join(sorted({mutant["equation"] for mutant in every.values()})))
        return
    folder = pathlib.Path(sys.argv[1])
    texts = {file: with_all(file, every) for file in files}
    texts |= {"include/attest/cuda/planted.hpp": header(every), "table.cpp": table(every)}
    for file, text in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    try:
        main()
    except plant.PlantingError as error:
        sys.exit(str(error))
