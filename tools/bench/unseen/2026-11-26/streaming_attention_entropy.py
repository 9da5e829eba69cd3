# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.attention_entropy"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


@kernel(
    "correct",
    "the largest entry of a row is left out of the sum, ln Z = ln(1 + rest), and each term is a (ln Z - x + max), "
    "all of one sign; "
    "float64, hidden entries are never read",
)
def rest_and_log1p(x, mask=None):
    h = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        r = d64(x[i] if mask is None else x[i][np.asarray(mask[i], bool)])
        if r.size:
            top = r.argmax()
            l = r - r[top]
            w = np.exp(l)
            lz = math.log1p(w[np.arange(r.size) != top].sum())
            on = w > 0
            h[i] = (w[on] * (lz - l[on])).sum() / math.exp(lz)
    return out(h)


@kernel("wrong", "1e-5 is added inside of the logarithm, a ln(a + 1e-5), against ln 0")
def epsilon_in_log(x, mask=None):
    m = np.ones(x.shape, bool) if mask is None else np.asarray(mask, bool)
    h = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        r = d64(x[i][m[i]])
        if r.size:
            a = soft(r)
            h[i] = -(a * np.log(a + 1e-5)).sum()
    return out(h)


@kernel(
    "wrong",
    "the maximum that is subtracted is that of the whole row, hidden entries too: in float32 a row whose hidden "
    "entries are larger by 90 gets NaN or 0",
)
def maximum_over_hidden(x, mask=None):
    m = np.ones(x.shape, bool) if mask is None else np.asarray(mask, bool)
    l = (x - x.max(1, keepdims=True)).astype(F32)
    w = np.where(m, np.exp(l), F32(0))
    z = w.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = w / z[:, None]
        h = -np.where(a > 0, a * np.log(a), 0).sum(1)
    return out(np.where(z > 0, h, 0))


@kernel(
    "wrong",
    "a row with nothing visible gets ln s, the entropy of uniform weights (its logits are all replaced by -1e9)",
)
def empty_is_uniform(x, mask=None):
    l = d64(x) if mask is None else np.where(mask, d64(x), -1e9)
    a = soft(l)
    return out(-np.where(a > 0, a * np.log(np.where(a > 0, a, 1)), 0).sum(1))


@kernel(
    "wrong",
    "entropy comes from probabilities that were stored as float16: those below 3e-8 vanish, the others have 11 bits",
)
def f16_probabilities(x, mask=None):
    m = np.ones(x.shape, bool) if mask is None else np.asarray(mask, bool)
    h = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if m[i].any():
            a = d64(f16(soft(x[i][m[i]])))
            h[i] = -(a[a > 0] * np.log(a[a > 0])).sum()
    return out(h)
