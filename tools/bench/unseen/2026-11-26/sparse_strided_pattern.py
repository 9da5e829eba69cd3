# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.strided_pattern"

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


def row_online32(q, k, v, scale, tile=3):
    q = np.asarray(q, F32) * F32(scale)
    top, total, acc = F32(-np.inf), F32(0), np.zeros(v.shape[1], F32)
    for a in range(0, k.shape[0], tile):
        l = np.asarray(k[a : a + tile], F32) @ q
        new = max(top, l.max())
        f = np.exp(top - new) if np.isfinite(top) else F32(0)
        w = np.exp(l - new)
        total = total * f + w.sum(dtype=F32)
        acc = acc * f + w @ np.asarray(v[a : a + tile], F32)
        top = new
    return acc / total


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def dense(q, k, v, mask, scale, empty=0.0):
    return rows(q, k, v, lambda i: np.flatnonzero(mask[i]), scale, row64, empty)


def _mask(n, l, window, part, reach=None):
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    a = (i - j <= (l if window == "inclusive" else l - 1)) if reach is None else i - j <= reach
    b = (i - j) % l == 0
    return ((a | b) if part == "both" else a if part == "first" else b) & (j <= i)


@kernel(
    "correct",
    "columns of keys: A2 walks backwards in steps of l from the query, A1 in steps of 1 skipping what A2 has had; "
    "weights are kept as logarithms and divided once; float64",
)
def walk_backwards(q, k, v, stride=4, window="inclusive", part="both", scale=None):
    n, scale = q.shape[0], sc(scale, q.shape[1])
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        js = [] if part == "first" else list(range(i, -1, -stride))
        if part != "second":
            low = max(0, i - stride + (window == "exclusive"))
            js += [j for j in range(i, low - 1, -1) if part == "first" or (i - j) % stride]
        l = scale * (d64(k[js]) @ d64(q[i]))
        o[i] = np.exp(l - l.max() - np.log(np.exp(l - l.max()).sum())) @ d64(v[js])
    return out(o)


@kernel(
    "wrong",
    "a key that both sets hold counts twice: the query's own and, with the inclusive window, the l-th before it",
)
def counted_twice(q, k, v, stride=4, window="inclusive", part="both", scale=None):
    n = q.shape[0]
    if part != "both":
        return dense(q, k, v, _mask(n, stride, window, part), sc(scale, q.shape[1]))
    a, b = _mask(n, stride, window, "first"), _mask(n, stride, window, "second")
    return rows(q, k, v, lambda i: np.concatenate([np.flatnonzero(a[i]), np.flatnonzero(b[i])]), sc(scale, q.shape[1]))


@kernel(
    "wrong", "A2 alone has the keys at multiples of l, counted from the beginning of the sequence, and the query's own"
)
def absolute_multiples(q, k, v, stride=4, window="inclusive", part="both", scale=None):
    n = q.shape[0]
    m = _mask(n, stride, window, part)
    if part == "second":
        i, j = np.arange(n)[:, None], np.arange(n)[None]
        m = ((j % stride == 0) | (i == j)) & (j <= i)
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel("wrong", "A2 stops 8 steps of the stride behind the query (a fixed number of slots): differs beyond 8 strides")
def eight_steps(q, k, v, stride=4, window="inclusive", part="both", scale=None):
    n = q.shape[0]
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    m = _mask(n, stride, window, part)
    if part != "first":
        far = (i - j > 8 * stride) & (i - j > stride)
        m &= ~far
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel(
    "correct",
    "float32 everywhere: an online softmax in tiles over the union in ascending order, the scale folded into the query",
)
def float32_union(q, k, v, stride=4, window="inclusive", part="both", scale=None):
    m = _mask(q.shape[0], stride, window, part)
    return rows(q, k, v, lambda i: np.flatnonzero(m[i]), sc(scale, q.shape[1]), row_online32)
