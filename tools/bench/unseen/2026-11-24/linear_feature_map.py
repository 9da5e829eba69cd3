# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.feature_map"

F32 = np.float32
F64 = np.float64


def _plain(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else np.array(x)


# category 6
@kernel(
    "wrong", "elu_plus_one for x <= 0 is expm1(x) + 1: small features lose their digits, and phi(-20) is 0 and not 2e-9"
)
def expm1_plus_one(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + F32(1)
    return _plain(x, kind)


# category 3
@kernel(
    "wrong",
    "vectors of 4 over the flat array: in the scalar tail (the last n d mod 4 entries) elu_plus_one is x "
    "+ 1 for x <= 0 too, at least 0",
)
def tail_is_linear(x, kind="elu_plus_one"):
    y = np.array(_plain(x, kind))
    if kind == "elu_plus_one":
        flat, src = y.reshape(-1), np.ascontiguousarray(x).reshape(-1)
        t = flat.size // 4 * 4
        flat[t:] = np.maximum(src[t:] + F32(1), F32(0))
    return y


# category 5
@kernel("wrong", "kind exp is 2^(1.44 x): log2 e is cut after two digits")
def log2e_cut(x, kind="elu_plus_one"):
    return np.exp2(F32(1.44) * x) if kind == "exp" else _plain(x, kind)


# category 1
@kernel("wrong", "elu_plus_one changes its branch at 1 and not at 0: e^x for x <= 1")
def branch_at_one(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 1, x + F32(1), np.exp(np.minimum(x, F32(1))))
    return _plain(x, kind)


@kernel(
    "correct",
    "elu_plus_one without a branch, as max(x, 0) + e^min(x, 0), whose other term is 0 or 1; exponentials "
    "as 2^i times 2^f",
    profile="bf16",
)
def without_a_branch(x, kind="elu_plus_one"):
    y = x.astype(F64)

    def power(u):
        t = u * math.log2(math.e)
        i = np.floor(np.clip(t, -1000, 1000))
        return np.ldexp(np.exp2(np.clip(t, -1000, 1000) - i), i.astype(int))

    if kind == "elu_plus_one":
        y = np.maximum(y, 0) + power(np.minimum(y, 0))
    elif kind == "relu":
        y = 0.5 * (y + np.abs(y))
    elif kind == "exp":
        y = power(y)
    return y.astype(F32).astype(x.dtype)
