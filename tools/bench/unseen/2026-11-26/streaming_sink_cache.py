# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.sink_cache"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


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


def _ends(kept, c):
    a = np.full(c, -1, np.int64)
    a[: len(kept)] = kept
    return a, np.where(a >= 0, np.arange(c), -1)


@kernel(
    "correct",
    "tokens come one at a time; a full cache moves its recent rows up by one and writes the newest into the last",
)
def shift_by_one(x, cache, sinks=4, seen=0):
    new = cache.copy()
    c = cache.shape[0]
    kept = list(range(min(sinks, seen))) + list(range(max(sinks, seen - (c - sinks)), seen))
    for i in range(x.shape[0]):
        if len(kept) == c:
            new[sinks : c - 1] = new[sinks + 1 : c].copy()
            kept.pop(sinks)
        new[len(kept)] = x[i]
        kept.append(seen + i)
    return (new, *_ends(kept, c))


@kernel(
    "wrong",
    "where a call is longer than c - sinks and fills the sinks as well (seen < sinks), the sinks come from the end "
    "of the call",
)
def long_first_call(x, cache, sinks=4, seen=0):
    c, n = cache.shape[0], x.shape[0]
    total = seen + n
    kept = list(range(min(sinks, total))) + list(range(max(sinks, total - (c - sinks)), total))
    new = cache.copy()
    for r, p in enumerate(kept):
        old = p if seen <= c or p < sinks else p - (seen - c)
        new[r] = x[p - seen] if p >= seen else cache[old]
        if n > c - sinks and seen < sinks and p >= seen and r < sinks and total > c:
            new[r] = x[n - c + r] if n >= c else x[r]
    return (new, *_ends(kept, c))


@kernel("wrong", "positions of the kept tokens are their places in the text")
def positions_are_places(x, cache, sinks=4, seen=0):
    c, total = cache.shape[0], seen + x.shape[0]
    kept = list(range(min(sinks, total))) + list(range(max(sinks, total - (c - sinks)), total))
    new = cache.copy()
    for r, p in enumerate(kept):
        new[r] = x[p - seen] if p >= seen else cache[p if seen <= c or p < sinks else p - (seen - c)]
    a = _ends(kept, c)[0]
    return new, a, a.copy()


@kernel(
    "wrong",
    "rows are moved up in place in ascending blocks of two, of which the second reads a row that the first has "
    "overwritten (only when more than one token is evicted in a call)",
)
def overlapping_move(x, cache, sinks=4, seen=0):
    c, n = cache.shape[0], x.shape[0]
    total = seen + n
    kept = list(range(min(sinks, total))) + list(range(max(sinks, total - (c - sinks)), total))
    new = cache.copy()
    out_by = max(0, total - c) - max(0, seen - c)
    stay = [p for p in kept if p < seen]
    for r in range(len(stay) - 1, -1, -1):
        if r >= sinks:
            new[r] = new[min(r + out_by, c - 1)] if out_by > 1 else cache[min(r + out_by, c - 1)]
    for r, p in enumerate(kept):
        if p >= seen:
            new[r] = x[p - seen]
    return (new, *_ends(kept, c))


@kernel("wrong", "rows that hold no token yet are set to zero")
def clears_empty_rows(x, cache, sinks=4, seen=0):
    c, total = cache.shape[0], seen + x.shape[0]
    kept = list(range(min(sinks, total))) + list(range(max(sinks, total - (c - sinks)), total))
    new = np.zeros_like(cache)
    for r, p in enumerate(kept):
        new[r] = x[p - seen] if p >= seen else cache[p if seen <= c or p < sinks else p - (seen - c)]
    return (new, *_ends(kept, c))


@kernel(
    "correct",
    "which token each row holds is computed for all rows at once, and rows are gathered from [cache; x] by one index",
)
def one_gather(x, cache, sinks=4, seen=0):
    c, n = cache.shape[0], x.shape[0]
    total = seen + n
    r = np.arange(c)
    token = np.where(r < sinks, r, r + max(0, total - c))
    held = r < total
    before = np.where(token < sinks, token, token - max(0, seen - c))
    source = np.where(token >= seen, c + token - seen, before)
    both = np.concatenate([cache, x])
    new = cache.copy()
    new[held] = both[source[held]]
    return new, np.where(held, token, -1), np.where(held, r, -1)
