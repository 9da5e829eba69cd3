# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.span_penalty"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


@kernel("correct", "the coefficient is shared out over heads before the sum, which is exact (fsum)")
def shared_coefficient(z, coefficient=1.0, reduce="mean"):
    f = float(coefficient) / (len(z) if reduce == "mean" else 1)
    return out(math.fsum(f * abs(float(x)) for x in z))


@kernel("wrong", "heads with span 0 are not counted in the mean")
def mean_of_active(z, coefficient=1.0, reduce="mean"):
    s = np.abs(d64(z)).sum()
    return out(coefficient * s / (max(int((np.asarray(z) != 0).sum()), 1) if reduce == "mean" else 1))


@kernel("wrong", "no absolute value: negative spans lower the penalty")
def signed_sum(z, coefficient=1.0, reduce="mean"):
    return out(coefficient * d64(z).sum() / (len(z) if reduce == "mean" else 1))


@kernel("wrong", "the coefficient is left out under reduce = sum")
def sum_without_coefficient(z, coefficient=1.0, reduce="mean"):
    s = np.abs(d64(z)).sum()
    return out(coefficient * s / len(z) if reduce == "mean" else s)
