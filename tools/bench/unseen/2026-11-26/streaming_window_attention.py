# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.window_attention"

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


def _old(p, w, seen, order):
    return p % w if order == "ring" else p - max(0, seen - w)


def _store(x, cache, seen, order):
    w, total = cache.shape[0], seen + x.shape[0]
    new = cache.copy()
    for p in range(max(0, total - w), total):
        new[_old(p, w, total, order)] = x[p - seen] if p >= seen else cache[_old(p, w, seen, order)]
    return new


def _run(q, k, v, cache_k, cache_v, scale, seen, order, lo=None, row=row64, old=_old):
    w = cache_k.shape[0]
    scale = sc(scale, q.shape[1])
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        t = seen + i
        a = max(0, t - w + 1) if lo is None else lo(t, w)
        js = range(a, t + 1)
        kk = np.array([k[j - seen] if j >= seen else cache_k[old(j, w, seen, order)] for j in js])
        vv = np.array([v[j - seen] if j >= seen else cache_v[old(j, w, seen, order)] for j in js])
        o[i] = row(q[i], kk, vv, scale)
    return out(o), _store(k, cache_k, seen, order), _store(v, cache_v, seen, order)


@kernel(
    "correct",
    "an online softmax over tiles of three keys, newest tile first, float32 throughout with the scale folded into "
    "the query",
)
def newest_first_online(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    return _run(
        q, k, v, cache_k, cache_v, scale, seen, cache_order, row=lambda a, b, c, s: row_online32(a, b[::-1], c[::-1], s)
    )


@kernel(
    "correct",
    "base-2 exponentials with scale log2(e) folded into the query, float64 inside; weights are divided before they "
    "meet the values",
)
def base_two(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    return _run(q, k, v, cache_k, cache_v, scale, seen, cache_order, row=row_exp2)


@kernel(
    "wrong",
    "a query whose window reaches into the cache sees w + 1 tokens, the one just behind the window too, where the "
    "cache still holds it",
)
def one_more_from_cache(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        scale,
        seen,
        cache_order,
        lo=lambda t, w: max(0, seen - w, t - w) if t - w < seen and t >= seen else max(0, t - w + 1),
    )


@kernel(
    "wrong",
    "the online softmax does not rescale the sum of values when a later block of keys raises the maximum, only the "
    "sum of weights",
)
def values_not_rescaled(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    def row(a, b, c, s):
        m, z, acc = -math.inf, 0.0, np.zeros(c.shape[1])
        for x in range(0, len(b), block):
            l = s * (d64(b[x : x + block]) @ d64(a))
            g = max(m, l.max())
            z = z * (math.exp(m - g) if z else 0.0) + np.exp(l - g).sum()
            acc = acc + np.exp(l - g) @ d64(c[x : x + block])
            m = g
        return acc / z

    return _run(q, k, v, cache_k, cache_v, scale, seen, cache_order, row=row)


@kernel("wrong", "oldest_first: rows of a cache that is not full yet are taken to be at its end (row w - seen + p)")
def right_aligned(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    def old(p, w, seen, order):
        return p % w if order == "ring" else p - (seen - w)

    return _run(q, k, v, cache_k, cache_v, scale, seen, cache_order, old=old)


@kernel("wrong", "float64 inputs, but exponentials are those of float32 (a fast exponential)", "f64")
def float32_exponentials(q, k, v, cache_k, cache_v, scale=None, seen=0, cache_order="ring", block=8):
    w, n, d = cache_k.shape[0], q.shape[0], q.shape[1]
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        t = seen + i
        js = range(max(0, t - w + 1), t + 1)
        kk = np.array([k[j - seen] if j >= seen else cache_k[_old(j, w, seen, cache_order)] for j in js])
        vv = np.array([v[j - seen] if j >= seen else cache_v[_old(j, w, seen, cache_order)] for j in js])
        l = sc(scale, d) * (kk @ q[i])
        e = np.exp((l - l.max()).astype(F32)).astype(F64)
        o[i] = e @ vv / e.sum()
    return o, _store(k, cache_k, seen, cache_order), _store(v, cache_v, seen, cache_order)
