# SPDX-License-Identifier: MIT
"""Compares what a page shows with what a program prints.

Words and whole numbers are the same everywhere. A number is measured when it stands on the right of "z =", "c =" or
"+-", or has a point or an exponent: it depends on how the processor rounds and is compared as a number."""

import itertools
import re

MEASURED = re.compile(
    r"(?<![\w.;=-])(?:(?<=c = )|(?<=z = )|(?<=\+- )|(?=[+-]?\d+(?:\.|e[+-])\d))"
    r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\.?\w)"
)
# In a row of `attest check` the largest error and the effective bits stand before the verdict.
VERDICT = r" (?:PASS|FAIL|CRASH|INVALID)\b"
RATIO, BITS = re.compile(r" \d+\.\d" + VERDICT), re.compile(VERDICT)


def within(share):
    return lambda a, b: abs(a - b) <= share * max(abs(a), abs(b))


ALLOWED = {
    "number": within(0.05),
    "error of a fit": within(1.0),  # it has one digit
    "error as a share of its bound": within(0.5),
    "effective bits": lambda a, b: abs(a - b) <= 0.5,
    "largest score": lambda a, b: abs(a - b) <= 0.15 or within(0.05)(a, b),  # it has one digit behind the point
}


def difference(shown, printed):
    """The first difference, in words; "" where there is none. How lines are wrapped is no difference."""
    for (word, kind), (got, other) in itertools.zip_longest(parts(shown), parts(printed), fillvalue=("", None)):
        if kind != other or (kind is None and word != got) or (kind and not ALLOWED[kind](word, got)):
            return f"shown: {word!r}\nprinted: {got!r}\n"
    return ""


def parts(text):
    """(words, None) and (number, its kind), in turn."""
    text = " ".join(text.split())
    end = 0
    for found in MEASURED.finditer(text):
        yield text[end : found.start()], None
        end = found.end()
        yield float(found[0]), kind_of(text, found)
    yield text[end:], None


def kind_of(text, found):
    if text[: found.start()].endswith("+- "):
        return "error of a fit"
    if re.search(r" \d+, $", text[: found.start()]):  # `attest mutants` prints it behind the number of judgements
        return "largest score"
    if RATIO.match(text, found.end()):
        return "error as a share of its bound"
    if BITS.match(text, found.end()):
        return "effective bits"
    return "number"
