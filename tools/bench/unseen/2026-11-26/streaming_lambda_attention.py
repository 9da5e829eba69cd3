# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.lambda_attention"

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


def _run(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    starts,
    ceiling,
    scale,
    position,
    pairing,
    seen,
    order,
    see=None,
    dist=None,
    rnd=None,
):
    c, d = cache_k.shape
    scale = sc(scale, d)
    top = ceiling if ceiling > 0 else c - starts
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        t = seen + i
        js = [j for j in range(t + 1) if j < starts or t - j < c - starts] if see is None else see(t)
        l, vs = [], []
        for j in js:
            r = _place(j, seen, starts, c, order)
            kj, vj = (k[j - seen], v[j - seen]) if j >= seen else (cache_k[r], cache_v[r])
            far = min(t - j, top) if dist is None else dist(t, j, top)
            a = d64(q[i])
            if position == "rotary":
                a = _turn(a, far, pairing)
                a = a if rnd is None else d64(rnd(a))
            x = scale * float(a @ d64(kj))
            l.append(x - float(slope) * far if position == "alibi" else x)
            vs.append(d64(vj))
        o[i] = soft(np.array(l)) @ np.array(vs)
    return out(o), _store(k, cache_k, starts, seen, order), _store(v, cache_v, starts, seen, order)


@kernel(
    "correct",
    "one token at a time through the cache, as decoding does: each token is written to its ring row first and "
    "attention then reads "
    "the rows that hold a token, in the order of the rows, by an online softmax in float64",
)
def through_the_cache(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    starts=1,
    ceiling=0,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    c, d = cache_k.shape
    w = c - starts
    top = ceiling if ceiling > 0 else w
    scale = sc(scale, d)
    owner = {}
    ck, cv = cache_k.copy(), cache_v.copy()
    for p in _kept(seen, starts, c):
        a, b = _place(p, seen, starts, c, cache_order), _place(p, 0, starts, c, "ring")
        ck[b], cv[b] = cache_k[a], cache_v[a]
        owner[b] = p
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        t = seen + i
        b = _place(t, 0, starts, c, "ring")
        ck[b], cv[b], owner[b] = k[i], v[i], t
        m, z, acc = -math.inf, 0.0, np.zeros(v.shape[1])
        for b, p in owner.items():
            far = min(t - p, top)
            x = _turn(d64(q[i]), far, pairing) if position == "rotary" else d64(q[i])
            l = scale * float(x @ d64(ck[b])) - (float(slope) * far if position == "alibi" else 0.0)
            n = max(m, l)
            f, e = (math.exp(m - n) if z else 0.0), math.exp(l - n)
            m, z, acc = n, z * f + e, acc * f + e * d64(cv[b])
        o[i] = acc / z
    return out(o), _store(k, cache_k, starts, seen, cache_order), _store(v, cache_v, starts, seen, cache_order)


@kernel(
    "wrong", "without a ceiling of its own the distance is bounded by c, the rows of the cache, instead of c - starts"
)
def ceiling_is_the_cache(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    starts=1,
    ceiling=0,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        starts,
        ceiling if ceiling else cache_k.shape[0],
        scale,
        position,
        pairing,
        seen,
        cache_order,
    )


@kernel(
    "wrong",
    "the bound of the distance holds for the first tokens only; recent ones beyond the ceiling keep their true "
    "distance",
)
def ceiling_for_starts_only(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    starts=1,
    ceiling=0,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        starts,
        ceiling,
        scale,
        position,
        pairing,
        seen,
        cache_order,
        dist=lambda t, j, top: min(t - j, top) if j < starts else t - j,
    )


@kernel(
    "wrong",
    "a first token that the window reaches, too, is taken twice: once from the first rows and once as a recent one",
)
def start_twice(
    q,
    k,
    v,
    cache_k,
    cache_v,
    slope,
    starts=1,
    ceiling=0,
    scale=None,
    position="none",
    pairing="interleaved",
    seen=0,
    cache_order="ring",
):
    w = cache_k.shape[0] - starts
    return _run(
        q,
        k,
        v,
        cache_k,
        cache_v,
        slope,
        starts,
        ceiling,
        scale,
        position,
        pairing,
        seen,
        cache_order,
        see=lambda t: list(range(min(starts, t + 1))) + list(range(max(0, t - w + 1), t + 1)),
    )
