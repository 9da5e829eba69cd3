# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.dynamic_span"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


@kernel(
    "correct",
    "S / (1 + e^-x) as S (1 + tanh(x / 2)) / 2 for small x and by the exponential of -|x| otherwise; dot products "
    "in float64",
)
def by_tanh(x, v, b, s=1024.0):
    a = d64(x) @ d64(v) + float(b)
    return out(s * np.where(np.abs(a) < 1, 0.5 + 0.5 * np.tanh(0.5 * a), sig(a)))


@kernel("wrong", "spans are rounded down to whole tokens where they exceed half of the largest span")
def whole_tokens(x, v, b, s=1024.0):
    z = s * sig(d64(x) @ d64(v) + float(b))
    return out(np.where(z > s / 2, np.floor(z), z))


@kernel("wrong", "the dot product is accumulated in float16, entry by entry")
def f16_accumulation(x, v, b, s=1024.0):
    a = np.zeros(x.shape[0], np.float16)
    for i in range(x.shape[1]):
        a = a + np.float16(1) * (x[:, i] * v[i]).astype(np.float16)
    return out(s * sig(a.astype(F64) + float(b)))


@kernel("wrong", "the bias is scaled by the largest span and added behind the sigmoid")
def bias_behind(x, v, b, s=1024.0):
    return out(np.clip(s * (sig(d64(x) @ d64(v)) + 0.25 * float(b)), 0, s))


@kernel("wrong", "logits are clipped to -8 .. 8 before the sigmoid, so that spans stay away from 0 and S")
def clipped_logit(x, v, b, s=1024.0):
    return out(s * sig(np.clip(d64(x) @ d64(v) + float(b), -8, 8)))


@kernel("correct", "float32 everywhere: S / (1 + e^-a) for a above 0, S e^a / (1 + e^a) otherwise")
def float32_span(x, v, b, s=1024.0):
    a = np.asarray(x, F32) @ np.asarray(v, F32) + F32(b)
    e = np.exp(-np.abs(a))
    return (F32(s) * (np.where(a > 0, F32(1), e) / (F32(1) + e))).astype(F32)
