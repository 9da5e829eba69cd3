# SPDX-License-Identifier: MIT
"""The comparison of pages with programs passes equal output and finds every difference that matters."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tools" / "documents"))
from same_output import difference  # noqa: E402

SHOWN = """linear.causal (f32): FAIL
  found by      T2 (39); 15 of 54 cases pass
  first wrong   o(0, 0): got -0.385309607, expected -0.142117758, error 0.243 is 3.54e+04 times
                the bound 6.87e-06
  looks like    scale_drift (off by 1 + c 2^-16): c = 0.0609 +- 0.0009, z = 65; factor 1.00000093
  reproduce     attest reproduce 'attest:linear.causal:f32;n=3;s=5;gain=1.5;flag=random;seed=2'
linear.causal chunked                          f32           50/50   16/16      0.18  24.0     PASS
f32         564/564      100.0 %   100.0 %       0             0               45980, 0.4
"""


@pytest.mark.parametrize(
    "text, other",
    [
        ("9607", "9541"),
        ("z = 65", "z = 66"),
        ("+- 0.0009", "+- 0.001"),
        ("c = 0.0609", "c = 0.061"),
        (" times\n                the", "\n                times the"),
        ("6.87e-06", "6.85e-06"),
        ("0.18  24.0", "0.1  23.6"),
        ("45980, 0.4", "45980, 0.5"),
    ],
)
def test_the_digits_of_a_processor_are_no_difference(text, other):
    assert SHOWN.replace(text, other) != SHOWN and difference(SHOWN, SHOWN.replace(text, other)) == ""


@pytest.mark.parametrize(
    "text, other",
    [
        ("15 of 54", "14 of 54"),
        ("(39)", "(38)"),
        ("n=3", "n=4"),
        ("gain=1.5", "gain=1.6"),
        ("o(0, 0)", "o(0, 1)"),
        ("z = 65", "beyond doubt"),
        ("z = 65", "z = 70"),
        ("-0.385", "0.385"),
        ("3.54e+04", "3.54e+05"),
        ("2^-16", "2^-10"),
        ("scale_drift", "scale_missing"),
        (SHOWN, ""),
        ("FAIL", "PASS"),
        ("0.18  24.0", "0.08  24.0"),
        ("0.18  24.0", "0.38  24.0"),
        ("0.18  24.0", "0.18  23.4"),
        ("45980, 0.4", "45980, 0.6"),
        ("45980", "45981"),
        ("16/16", "15/16"),
        ("100.0 %   100.0 %", "90.0 %   100.0 %"),
        ("(f32)", "(f64)"),
    ],
)
def test_everything_else_is(text, other):
    assert SHOWN.replace(text, other) != SHOWN and difference(SHOWN, SHOWN.replace(text, other))
