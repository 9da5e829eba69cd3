# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.positive_features"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


@kernel(
    "correct",
    "e^(w.x - |x|^2/2) as e^(-|x - w|^2/2 + |w|^2/2): squares of differences, and ln sqrt(c) in the exponent; float64",
)
def completed_square(x, w, hyperbolic=False, shift=0.0):
    x, w = d64(x), d64(w)
    ww = 0.5 * (w * w).sum(1)

    def side(s):
        return ww[None] - 0.5 * ((x[:, None] - s * w[None]) ** 2).sum(2)

    e = np.concatenate([side(1.0), side(-1.0)], 1) if hyperbolic else side(1.0)
    return out(np.exp(e - shift - 0.5 * math.log(e.shape[1])))


def _run(x, w, hyperbolic, shift, count=None, order="blocks", half=0.5, exp=np.exp, second_shift=True):
    x, w = d64(x), d64(w)
    t, l = x @ w.T, half * (x * x).sum(1, keepdims=True)
    c = w.shape[0]
    if not hyperbolic:
        return out(exp(t - l - shift) / math.sqrt(c if count is None else count(c)))
    a, b = exp(t - l - shift), exp(-t - l - (shift if second_shift else 0))
    y = np.concatenate([a, b], 1) if order == "blocks" else np.stack([a, b], 2).reshape(len(x), -1)
    return out(y / math.sqrt(2 * c if count is None else count(c)))


@kernel("wrong", "hyperbolic features are divided by sqrt(c), not sqrt(2 c)")
def hyperbolic_root_c(x, w, hyperbolic=False, shift=0.0):
    return _run(x, w, hyperbolic, shift, count=lambda c: c)


@kernel("wrong", "the shift is taken from the features of w alone, those of -w have none")
def shift_first_half(x, w, hyperbolic=False, shift=0.0):
    return _run(x, w, hyperbolic, shift, second_shift=False)


@kernel("wrong", "the exponential is computed as (1 + x / 1024)^1024")
def limit_exponential(x, w, hyperbolic=False, shift=0.0):
    return _run(x, w, hyperbolic, shift, exp=lambda e: np.maximum(1 + e / 1024, 0) ** 1024)


@kernel("wrong", "the products w . x come from float16 inputs (the lengths are exact)")
def f16_products(x, w, hyperbolic=False, shift=0.0):
    t, l = d64(f16(x)) @ d64(f16(w)).T, 0.5 * (d64(x) ** 2).sum(1, keepdims=True)
    e = np.concatenate([t, -t], 1) if hyperbolic else t
    return out(np.exp(e - l - shift) / math.sqrt(e.shape[1]))
