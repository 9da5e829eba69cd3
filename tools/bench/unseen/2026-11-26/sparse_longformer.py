# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.longformer"

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


def row_exp2(q, k, v, scale):
    l = d64(k) @ (d64(q) * (scale * 1.4426950408889634))
    w = np.exp2(l - l.max())
    return (w / w.sum()) @ d64(v)


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def _mask(n, glob, r, g, causal, symmetric):
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    m = (np.abs(i - j) <= r * g) & ((i - j) % g == 0)
    if glob is not None:
        m |= np.asarray(glob, bool)[:, None]
        if symmetric:
            m |= np.asarray(glob, bool)[None]
    return m & (j <= i) if causal else m


def _run(q, k, v, glob, q_g, k_g, v_g, m, scale, mix=None):
    n = q.shape[0]
    o = np.zeros((n, v.shape[1]), F32)
    for i in range(n):
        on = glob is not None and bool(glob[i])
        a = q_g if on and q_g is not None else q
        b = k_g if on and k_g is not None else k
        c = v_g if on and v_g is not None else v
        if mix is not None:
            a, b, c = mix(i, on, a, b, c)
        j = np.flatnonzero(m[i])
        o[i] = row64(a[i], b[j], c[j], sc(scale, q.shape[1]))
    return o


@kernel(
    "correct",
    "diagonals of the window one after the other for all rows at once, then global columns that are not in the "
    "window, then global rows anew; float64 with running maxima",
)
def by_diagonals(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    n, scale = q.shape[0], sc(scale, q.shape[1])
    m, z, acc = np.full(n, -np.inf), np.zeros(n), np.zeros((n, v.shape[1]))
    glob = np.zeros(n, bool) if globals is None else np.asarray(globals, bool)

    def take(i, j):
        if not i.size:
            return
        l = scale * (d64(q[i]) * d64(k[j])).sum(1)
        g = np.maximum(m[i], l)
        f, e = np.exp(m[i] - g), np.exp(l - g)
        m[i], z[i], acc[i] = g, z[i] * f + e, acc[i] * f[:, None] + e[:, None] * d64(v[j])

    rows_ = np.arange(n)
    for o in range(-radius, 1 if causal else radius + 1):
        j = rows_ + o * dilation
        i = rows_[(j >= 0) & (j < n) & ~glob]
        take(i, i + o * dilation)
    if symmetric:
        for j in np.flatnonzero(glob):
            far = rows_ - j
            out_of = (np.abs(far) > radius * dilation) | (far % dilation != 0)
            i = rows_[out_of & ~glob & ((far >= 0) | (not causal))]
            take(i, np.full(i.size, j))
    with np.errstate(invalid="ignore"):
        o = acc / z[:, None]
    for i in np.flatnonzero(glob):
        e = i + 1 if causal else n
        o[i] = row_exp2(
            (q if q_g is None else q_g)[i], (k if k_g is None else k_g)[:e], (v if v_g is None else v_g)[:e], scale
        )
    return out(o)


@kernel("wrong", "q_g, k_g and v_g are used only where all three are given")
def all_three_or_none(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    if q_g is None or k_g is None or v_g is None:
        q_g = k_g = v_g = None
    return _run(q, k, v, globals, q_g, k_g, v_g, _mask(q.shape[0], globals, radius, dilation, causal, symmetric), scale)


@kernel("wrong", "global keys outside of the window are seen by causal rows also where they are later")
def global_ignores_causal(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    m = _mask(q.shape[0], globals, radius, dilation, causal, symmetric)
    if globals is not None and symmetric:
        m |= np.asarray(globals, bool)[None]
    return _run(q, k, v, globals, q_g, k_g, v_g, m, scale)


@kernel("wrong", "with dilation the window reaches radius tokens, not radius * dilation")
def undilated_reach(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    n = q.shape[0]
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    m = _mask(n, globals, 0, dilation, causal, symmetric) | (
        (np.abs(i - j) <= radius) & ((i - j) % dilation == 0) & ((j <= i) | (not causal))
    )
    return _run(q, k, v, globals, q_g, k_g, v_g, m, scale)


@kernel(
    "wrong",
    "rows that are not global take the key of a global token from k_g where they see it outside of their window",
)
def global_columns_from_kg(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    n = q.shape[0]
    m = _mask(n, globals, radius, dilation, causal, symmetric)
    near = _mask(n, None, radius, dilation, causal, symmetric)

    def mix(i, on, a, b, c):
        if not on and k_g is not None and globals is not None:
            b = np.where((np.asarray(globals, bool) & ~near[i])[:, None], k_g, b)
        return a, b, c

    return _run(q, k, v, globals, q_g, k_g, v_g, m, scale, mix)


@kernel("correct", "row by row in float32 with base-2 exponentials, keys from the last to the first")
def float32_backwards(
    q, k, v, globals=None, q_g=None, k_g=None, v_g=None, radius=2, dilation=1, causal=False, symmetric=True, scale=None
):
    n, f = q.shape[0], F32(sc(scale, q.shape[1]) * 1.4426950408889634)
    m = _mask(n, globals, radius, dilation, causal, symmetric)
    o = np.zeros((n, v.shape[1]), F32)
    for i in range(n):
        on = globals is not None and bool(globals[i])
        a = q_g if on and q_g is not None else q
        b = k_g if on and k_g is not None else k
        c = v_g if on and v_g is not None else v
        j = np.flatnonzero(m[i])[::-1]
        l = (np.asarray(b[j], F32) @ np.asarray(a[i], F32)) * f
        w = np.exp2(l - l.max())
        o[i] = (w @ np.asarray(c[j], F32)) / w.sum(dtype=F32)
    return o
