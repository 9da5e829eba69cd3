# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.ponder_cost"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def bf16(x):
    x = np.asarray(x, F32)
    u = np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.uint64)
    u = (u + 0x7FFF + ((u >> 16) & 1)) & 0xFFFF0000
    r = u.astype(np.uint32).view(F32).reshape(x.shape)
    return np.where(np.isfinite(x), r, x).astype(F32)


@kernel(
    "correct",
    "whole steps are summed as integers, remainders exactly (fsum), and both are joined and weighed at the end",
)
def integers_and_fsum(steps, remainders, tau=0.01):
    return out(tau * (int(np.sum(np.asarray(steps, np.int64))) + math.fsum(d64(remainders))))


@kernel("wrong", "the mean over tokens")
def mean_over_tokens(steps, remainders, tau=0.01):
    return out(tau * (d64(steps) + d64(remainders)).mean() if len(steps) else 0.0)


@kernel("wrong", "steps count from 0: a token that halts after its first step costs only its remainder")
def steps_from_zero(steps, remainders, tau=0.01):
    return out(tau * (d64(steps) - 1 + d64(remainders)).sum())


@kernel("wrong", "a running sum in bfloat16, rounded after each token")
def bf16_sum(steps, remainders, tau=0.01):
    s = 0.0
    for a, b in zip(steps, remainders):
        s = float(bf16(s + float(a) + float(b)))
    return out(tau * s)
