# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.fixed_pattern"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def row64(q, k, v, scale):
    l = (d64(k) @ d64(q)) * scale
    w = np.exp(l - l.max())
    return w @ d64(v) / w.sum()


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def dense(q, k, v, mask, scale, empty=0.0):
    return rows(q, k, v, lambda i: np.flatnonzero(mask[i]), scale, row64, empty)


def _mask(n, l, c, part):
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    a, b = i // l == j // l, j % l >= l - c
    return ((a | b) if part == "both" else a if part == "first" else b) & (j <= i)


@kernel(
    "correct",
    "summary keys of the blocks before are carried along in a running (maximum, sum, accumulator) per query, then "
    "the own block follows; base 2, float64",
)
def summaries_then_block(q, k, v, period=4, summary=1, part="both", scale=None):
    n, l = q.shape[0], period
    f = sc(scale, q.shape[1]) / math.log(2)
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        own = i // l * l
        far = [j for b in range(0, own, l) for j in range(b + l - summary, b + l)] if part != "first" else []
        near = range(own, i + 1) if part != "second" else range(own + l - summary, i + 1)
        m, z, acc = -np.inf, 0.0, np.zeros(v.shape[1])
        for j in [*far, *near]:
            x = f * float(d64(q[i]) @ d64(k[j]))
            g = max(m, x)
            r, e = (2.0 ** (m - g) if z else 0.0), 2.0 ** (x - g)
            m, z, acc = g, z * r + e, acc * r + e * d64(v[j])
        if z:
            o[i] = acc / z
    return out(o)


@kernel(
    "wrong",
    "A2 alone also shows a query its own key where it would see nothing, so the first block gets values instead of 0",
)
def own_when_empty(q, k, v, period=4, summary=1, part="both", scale=None):
    m = _mask(q.shape[0], period, summary, part)
    e = np.flatnonzero(~m.any(1))
    m[e, e] = True
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel("wrong", "a summary of more than one key takes the first keys of each block beside the last one")
def summary_from_start(q, k, v, period=4, summary=1, part="both", scale=None):
    n = q.shape[0]
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    a, b = i // period == j // period, (j % period == period - 1) | (j % period < summary - 1)
    m = ((a | b) if part == "both" else a if part == "first" else b) & (j <= i)
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel("wrong", "part = second leaves out the summary keys of the query's own block")
def second_excludes_block(q, k, v, period=4, summary=1, part="both", scale=None):
    n = q.shape[0]
    m = _mask(n, period, summary, part)
    if part == "second":
        b = np.arange(n) // period
        m &= b[:, None] != b[None]
    return dense(q, k, v, m, sc(scale, q.shape[1]))
