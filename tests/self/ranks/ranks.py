# SPDX-License-Identifier: MIT
"""What tests of kernels of several ranks share."""

import os
import pathlib

import support

os.environ.setdefault("CC", "mpicc")
SOURCE = pathlib.Path(__file__).resolve().parent / "ranks.c"
QUICK = {"--strength": "1", "--laws": "1"}
LINEAR, SOFTMAX = "linear.causal", "attention.scaled_dot_product"
MEMORY = ["infini.memory_update_linear", "infini.memory_update_delta"]
SEGMENTS = "infini.segment_attention"


def check(candidate, *more, **options):
    quick = [word for option, value in QUICK.items() if option not in more for word in (option, value)]
    return support.report_of("check", candidate, *quick, *more, **options)


def stranger(*defines):
    return support.compile_plugin(SOURCE, *defines)
