# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.coordinate_2d"

F32 = np.float32
F64 = np.float64


def _angles(numbers, d, base):
    w = float(base) ** (-2.0 * np.arange((d + 1) // 2) / d)
    return np.outer(numbers, w)


def _waves(angles, d):
    out = np.empty((len(angles), d))
    out[:, 0::2] = np.sin(angles)
    out[:, 1::2] = np.cos(angles[:, : d // 2])
    return out


def _plain(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    p = _waves(_angles(position_start + np.arange(n), d, base), d)
    s = _waves(_angles(step_start + np.arange(t), d, base), d)
    return (x + (p[None] + s[:, None]).astype(x.dtype)).astype(x.dtype)


# category 4
@kernel("wrong", "odd width: the last column gets cosines of its frequency in place of sines")
def odd_column_cosine(x, position_start=0, step_start=1, base=10000.0):
    y = np.array(_plain(x, position_start, step_start, base))
    t, n, d = x.shape
    if d % 2:
        p = _angles(position_start + np.arange(n), d, base)[:, -1]
        s = _angles(step_start + np.arange(t), d, base)[:, -1]
        y[:, :, -1] = x[:, :, -1] + (np.cos(p)[None] + np.cos(s)[:, None]).astype(F32)
    return y


# category 5
@kernel("wrong", "ln(base) is the constant 9.21 of base 10000 (a digit short, 9.2103), whatever base is")
def constant_logarithm(x, position_start=0, step_start=1, base=10000.0):
    return _plain(x, position_start, step_start, math.exp(9.21))


# category 2
@kernel(
    "wrong", "angles of positions are float16 numbers (p w_m rounded before its sine and cosine), in a float32 kernel"
)
def half_angles(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    p = _waves(_angles(position_start + np.arange(n), d, base).astype(np.float16).astype(F64), d)
    s = _waves(_angles(step_start + np.arange(t), d, base), d)
    return x + (p[None] + s[:, None]).astype(F32)


# category 1
@kernel(
    "wrong",
    "the cosines of the step have the frequency base^(-(2m+1)/d) of their own column; those of the "
    "position share the sine's",
)
def step_cosines_own_frequency(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    y = np.array(_plain(x, position_start, step_start, base))
    w = float(base) ** (-np.arange(1, d, 2) / d)
    p = np.cos(_angles(position_start + np.arange(n), d, base)[:, : d // 2])
    s = np.cos(np.outer(step_start + np.arange(t), w))
    y[:, :, 1::2] = x[:, :, 1::2] + (p[None] + s[:, None]).astype(F32)
    return y


@kernel(
    "correct",
    "sums to products: sin A + sin B = 2 sin((A + B) / 2) cos((A - B) / 2) and the like for cosines, "
    "column by column, in double",
    profile="f64",
)
def sums_to_products(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    y = np.empty((t, n, d), F64)
    p = (position_start + np.arange(n)).astype(F64)[None]
    s = (step_start + np.arange(t)).astype(F64)[:, None]
    for col in range(d):
        w = math.pow(float(base), -(col - col % 2) / d)
        half, diff = 0.5 * (p * w + s * w), 0.5 * (p * w - s * w)
        y[:, :, col] = x[:, :, col] + 2.0 * (np.cos(half) if col % 2 else np.sin(half)) * np.cos(diff)
    return y
