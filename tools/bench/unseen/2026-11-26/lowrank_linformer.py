# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.linformer"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


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


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _run(q, k, v, e, f, scale, sharing, kf=None, mean=None, rnd=None):
    r, s = e.shape
    if sharing in ("none", "key_value"):
        a = d64(e) @ d64(k)
        b = d64(e if sharing == "key_value" else f) @ d64(v)
    else:
        x, y = d64(k).reshape(r, s // r, -1), d64(v).reshape(r, s // r, -1)
        a, b = (x.mean(1), y.mean(1)) if sharing == "mean_pool" else (x.max(1), y.max(1))
    a, b = (a, b) if rnd is None else rnd(a, b)
    return out(soft(sc(scale, q.shape[1]) * (d64(q) @ a.T)) @ b)


@kernel(
    "correct",
    "q E-side first: (q k^T) E^T, and weights times F before the values; pools by strided slices; rows of 1 / sum "
    "in base 2; float64",
)
def other_association(q, k, v, e, f=None, scale=None, sharing="none"):
    r, s = e.shape
    g = sc(scale, q.shape[1]) / math.log(2)
    if sharing in ("none", "key_value"):
        l = g * ((d64(q) @ d64(k).T) @ d64(e).T)
        w = np.exp2(l - l.max(1, keepdims=True))
        w /= w.sum(1, keepdims=True)
        return out((w @ d64(e if sharing == "key_value" else f)) @ d64(v))
    p = s // r
    a, b = d64(k[0::p]), d64(v[0::p])
    for t in range(1, p):
        if sharing == "max_pool":
            a, b = np.maximum(a, k[t::p]), np.maximum(b, v[t::p])
        else:
            a, b = a + d64(k[t::p]), b + d64(v[t::p])
    if sharing == "mean_pool":
        a, b = a / p, b / p
    l = g * (d64(q) @ a.T)
    w = np.exp2(l - l.max(1, keepdims=True))
    return out(w @ b / w.sum(1, keepdims=True))


@kernel(
    "wrong",
    "max_pool takes, for the values, the rows of the token with the largest key norm of its pool, not the largest "
    "entry of each column",
)
def argmax_values(q, k, v, e, f=None, scale=None, sharing="none"):
    r, s = e.shape

    def rnd(a, b):
        if sharing == "max_pool":
            x, y = d64(k).reshape(r, s // r, -1), d64(v).reshape(r, s // r, -1)
            b = y[np.arange(r), (x * x).sum(2).argmax(1)]
        return a, b

    return _run(q, k, v, e, f, scale, sharing, rnd=rnd)


@kernel("wrong", "the maximum of a pool starts from 0: pools of negative entries give 0")
def pool_from_zero(q, k, v, e, f=None, scale=None, sharing="none"):
    return _run(
        q,
        k,
        v,
        e,
        f,
        scale,
        sharing,
        rnd=lambda a, b: (np.maximum(a, 0), np.maximum(b, 0)) if sharing == "max_pool" else (a, b),
    )


@kernel("wrong", "mean_pool pools tokens r apart (strided), not tokens that follow each other")
def strided_pools(q, k, v, e, f=None, scale=None, sharing="none"):
    if sharing == "mean_pool":
        r, s = e.shape
        i = np.arange(s).reshape(s // r, r).T.reshape(-1)
        k, v = k[i], v[i]
    return _run(q, k, v, e, f, scale, sharing)


@kernel("wrong", "the projected keys are stored as float16: they overflow beyond 65504 and have 11 bits")
def f16_projected_keys(q, k, v, e, f=None, scale=None, sharing="none"):
    return _run(
        q, k, v, e, f, scale, sharing, rnd=lambda a, b: (d64(f16(a)), b) if sharing in ("none", "key_value") else (a, b)
    )


@kernel("correct", "float32 everywhere, slots in tiles of two by an online softmax, values projected tile by tile")
def float32_slots(q, k, v, e, f=None, scale=None, sharing="none"):
    r, s = e.shape
    f32 = lambda x: np.asarray(x, F32)  # noqa: E731
    p = s // r if r else 0
    m = np.full((q.shape[0], 1), -np.inf, F32)
    z, acc = np.zeros((q.shape[0], 1), F32), np.zeros((q.shape[0], v.shape[1]), F32)
    x = f32(q) * F32(sc(scale, q.shape[1]))
    for a in range(0, r, 2):
        b = min(r, a + 2)
        if sharing in ("none", "key_value"):
            kk, vv = f32(e[a:b]) @ f32(k), f32((e if sharing == "key_value" else f)[a:b]) @ f32(v)
        else:
            kk, vv = (f32(y[a * p : b * p]).reshape(b - a, p, -1) for y in (k, v))
            kk, vv = (
                (kk.mean(1, dtype=F32), vv.mean(1, dtype=F32)) if sharing == "mean_pool" else (kk.max(1), vv.max(1))
            )
        l = x @ kk.T
        g = np.maximum(m, l.max(1, keepdims=True))
        h, w = np.exp(m - g), np.exp(l - g)
        z, acc, m = z * h + w.sum(1, keepdims=True, dtype=F32), acc * h + w @ vv, g
    return acc / z
