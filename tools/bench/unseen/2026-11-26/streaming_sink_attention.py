# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.sink_attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _turn(x, angle, pairing):
    d = x.shape[-1]
    f = 10000.0 ** (-2.0 * np.arange(d // 2) / d) * angle
    y = np.empty(d)
    a, b = (slice(0, d, 2), slice(1, d, 2)) if pairing == "interleaved" else (slice(0, d // 2), slice(d // 2, d))
    y[a] = x[a] * np.cos(f) - x[b] * np.sin(f)
    y[b] = x[a] * np.sin(f) + x[b] * np.cos(f)
    return y


def _place(p, total, first, c, order):
    if p < first:
        return p
    return first + (p - first) % (c - first) if order == "ring" else p - max(0, total - c)


def _kept(total, first, c):
    return list(range(min(first, total))) + list(range(max(first, total - (c - first)), total))


def _store(x, cache, first, seen, order):
    c, total = cache.shape[0], seen + x.shape[0]
    new = cache.copy()
    for p in _kept(total, first, c):
        new[_place(p, total, first, c, order)] = x[p - seen] if p >= seen else cache[_place(p, seen, first, c, order)]
    return new


def _run(q, k, v, cache_k, cache_v, slope, sinks, scale, position, pairing, seen, order, far, see=None, store=_store):
    c, d = cache_k.shape
    scale = sc(scale, d)
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        t = seen + i
        l, vs = [], []
        for j in _kept(t + 1, sinks, c) if see is None else see(t):
            r = _place(j, seen, sinks, c, order)
            kj, vj = (k[j - seen], v[j - seen]) if j >= seen else (cache_k[r], cache_v[r])
            a = _turn(d64(q[i]), far(t, j), pairing) if position == "rotary" else d64(q[i])
            l.append(scale * float(a @ d64(kj)) - (float(slope) * far(t, j) if position == "alibi" else 0.0))
            vs.append(d64(vj))
        o[i] = soft(np.array(l)) @ np.array(vs)
    return out(o), store(k, cache_k, sinks, seen, order), store(v, cache_v, sinks, seen, order)


@kernel(
    "correct",
    "keys are turned by their row in a list of the kept tokens and the query by the number of the last row, in "
    "float64, then one "
    "product of matrices per token; the list itself is kept by appending and deleting",
)
def list_of_kept(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    sinks=4,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    c, d = cache_k.shape
    scale = sc(scale, d)
    ks = [d64(cache_k[_place(p, seen, sinks, c, cache_order)]) for p in _kept(seen, sinks, c)]
    vs = [d64(cache_v[_place(p, seen, sinks, c, cache_order)]) for p in _kept(seen, sinks, c)]
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        ks.append(d64(k[i]))
        vs.append(d64(v[i]))
        if len(ks) > c:
            del ks[sinks], vs[sinks]
        p = len(ks) - 1
        if position == "rotary":
            l = np.array([_turn(x, r, pairing) for r, x in enumerate(ks)]) @ _turn(d64(q[i]), p, pairing) * scale
        else:
            l = np.array(ks) @ d64(q[i]) * scale
        if position == "alibi":
            l = l - float(slope) * (p - np.arange(p + 1))
        o[i] = soft(l) @ np.array(vs)
    return out(o), _store(k, cache_k, sinks, seen, cache_order), _store(v, cache_v, sinks, seen, cache_order)


@kernel(
    "wrong",
    "sinks keep their distance in the text, t - j, once tokens have been evicted: positions of the text instead of "
    "the cache",
)
def text_positions(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    sinks=4,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    return _run(
        q, k, v, cache_k, cache_v, slope, sinks, scale, position, pairing, seen, cache_order, lambda t, j: t - j
    )


@kernel(
    "wrong",
    "positions in the cache are taken before the token itself is in it: from the first eviction on sinks are one "
    "further away",
)
def before_entering(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    sinks=4,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    c = cache_k.shape[0]
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        sinks,
        scale,
        position,
        pairing,
        seen,
        cache_order,
        lambda t, j: (t - max(0, t - c)) - j if j < sinks else t - j,
    )


@kernel(
    "wrong",
    "tokens of one call see all recent keys that the cache holds at the end of the call's eviction: one eviction "
    "per call, so early tokens of a long call lose keys",
)
def one_eviction_per_call(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    sinks=4,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    c = cache_k.shape[0]
    end = seen + q.shape[0]
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        sinks,
        scale,
        position,
        pairing,
        seen,
        cache_order,
        lambda t, j: (t - max(0, t + 1 - c)) - j if j < sinks else t - j,
        see=lambda t: [j for j in _kept(t + 1, sinks, c) if j < sinks or j >= min(end - (c - sinks), t)],
    )


@kernel(
    "wrong",
    "the ring of the outgoing cache starts at row p mod (c - sinks) + sinks with p counted from 0, not from the "
    "first token behind the sinks",
)
def ring_phase(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    sinks=4,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    c = cache_k.shape[0]

    def store(x, cache, first, seen, order):
        if order != "ring" or seen + x.shape[0] <= c:
            return _store(x, cache, first, seen, order)
        total, new = seen + x.shape[0], cache.copy()
        for p in _kept(total, first, c):
            r = p if p < first else first + p % (c - first)
            new[r] = x[p - seen] if p >= seen else cache[_place(p, seen, first, c, order)]
        return new

    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        sinks,
        scale,
        position,
        pairing,
        seen,
        cache_order,
        lambda t, j: (t - max(0, t + 1 - c)) - j if j < sinks else t - j,
        store=store,
    )
