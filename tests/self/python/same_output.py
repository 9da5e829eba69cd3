# SPDX-License-Identifier: MIT
"""Compares what a document shows with what a program prints. Words and whole numbers are the same everywhere; what is
measured, on the right of "z =", "c =" or "+-" or with a point or an exponent, depends on the processor's rounding and
is compared as a number."""

import itertools
import re

MEASURED = re.compile(
    r"(?<![\w.;=-])(?:(?<=c = )|(?<=z = )|(?<=\+- "
    r")|(?=[+-]?\d+(?:\.|e[+-])\d))[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\.?\w)"
)
ALLOWED = 0.05  # of a number; the errors of c have one digit
ONE_DIGIT = 1.0


def difference(shown, printed):
    """Returns the first difference in words, "" where there is none. How lines are wrapped is no difference."""
    for (word, number, error), (got, other, _) in itertools.zip_longest(
        parts(shown), parts(printed), fillvalue=("", None, False)
    ):
        if (number is None) != (other is None) or (number is None and word != got):
            return f"shown: {word!r}\nprinted: {got!r}\n"
        if number is not None and abs(number - other) > (ONE_DIGIT if error else ALLOWED) * max(
            abs(number), abs(other)
        ):
            return f"shown: {number}\nprinted: {other}\n"
    return ""


def parts(text):
    """(words, None, False) and ("", number, whether it is the error of a fit), in turn."""
    text = " ".join(text.split())
    end = 0
    for found in MEASURED.finditer(text):
        yield text[end : found.start()], None, False
        yield "", float(found[0]), text[: found.start()].endswith("+- ")
        end = found.end()
    yield text[end:], None, False
