# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


def scale_of(scale, d, dtype=np.float32):
    return dtype(1.0 / np.sqrt(d) if scale is None else scale)


def turn(x):
    return np.swapaxes(x, -1, -2)


def weighted(p, v):
    """p @ v where a weight of 0 does not read its row."""
    ok = np.isfinite(v).all(-1)
    if ok.all():
        return p @ v
    out = p @ np.where(ok[..., None], v, 0).astype(v.dtype)
    for j in np.flatnonzero(~ok.reshape(-1, ok.shape[-1]).all(0)):
        w = p[..., j, None]
        row = np.where(ok[..., j, None], 0, v[..., j, :]).astype(v.dtype)
        out = out + np.where(w != 0, w * row[..., None, :], 0).astype(out.dtype)
    return out


EQUATION = "positional.shaw_relative"


def buckets(n, s, t, offset):
    c = (t - 1) // 2
    offset = s - n if offset is None else int(offset)
    return np.clip(np.arange(s)[None] - np.arange(n)[:, None] - offset, -c, c) + c


def gather(table, index):
    """table[i, index[i, j]] for every row i."""
    return np.take_along_axis(table, index, 1)


def spread(p, index, t):
    """Weights of a row summed by distance."""
    out = np.zeros((len(p), t), p.dtype)
    np.add.at(out, (np.arange(len(p))[:, None], index), p)
    return out


def weights(x, seen):
    x = np.where(seen, x, -np.inf).astype(np.float32)
    top = x.max(1, keepdims=True)
    p = np.exp(x - np.where(np.isfinite(top), top, 0).astype(np.float32))
    total = p.sum(1, keepdims=True)
    return p / np.where(total > 0, total, 1).astype(np.float32)


def everything(n, s, mask):
    return np.ones((n, s), bool) if mask is None else np.asarray(mask, bool)


@kernel(
    "correct",
    "by buckets: q p_k^T once (n x t) and gathered along the rows, weights summed by distance and "
    "multiplied with p_v (n x t times t x m), no tensor n x s x d",
)
def by_buckets(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = buckets(n, s, t, offset)
    qs = q * scale_of(scale, d)
    a = weights(qs @ k.T + gather(qs @ p_k.T, r), everything(n, s, mask))
    return weighted(a, v) + spread(a, r, t) @ p_v


@kernel(
    "correct",
    "float16 kernel: keys with their positions added first, k_j + p_k[r], a query at a time in float32, "
    "output rounded once",
    profile="f16",
)
def query_by_query_f16(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    kind = q.dtype
    q, k, v, p_k, p_v = map(f32, (q, k, v, p_k, p_v))
    n, d = q.shape
    r = buckets(n, len(k), len(p_k), offset)
    seen = everything(n, len(k), mask)
    o = np.zeros((n, v.shape[1]), np.float32)
    for i in range(n):
        j = np.flatnonzero(seen[i])
        if len(j):
            x = (k[j] + p_k[r[i, j]]) @ q[i] * scale_of(scale, d)
            p = np.exp(x - x.max())
            o[i] = p @ (v[j] + p_v[r[i, j]]) / p.sum()
    return o.astype(kind)


@kernel(
    "wrong",
    "distances are clipped to -c .. c - 1, so that the last row of the tables is never used; only for "
    "keys c or more ahead of their query",
    profile="bf16",
)
def last_row_unused(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    kind = q.dtype
    q, k, v, p_k, p_v = map(f32, (q, k, v, p_k, p_v))
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = np.minimum(buckets(n, s, t, offset), max(0, t - 2))
    qs = q * scale_of(scale, d)
    a = weights(qs @ k.T + gather(qs @ p_k.T, r), everything(n, s, mask))
    return (weighted(a, v) + spread(a, r, t) @ p_v).astype(kind)


@kernel(
    "wrong",
    "online over tiles of 16 keys: the accumulator of the values is rescaled at a new maximum, that of "
    "the distances (weights by bucket, multiplied with p_v at the end) is not; only for s > 16",
)
def buckets_not_rescaled(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = buckets(n, s, t, offset)
    qs = q * scale_of(scale, d)
    x = np.where(everything(n, s, mask), qs @ k.T + gather(qs @ p_k.T, r), -np.inf).astype(np.float32)
    top = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((n, v.shape[1]), np.float32)
    by = np.zeros((n, t), np.float32)
    for b in range(0, s, 16):
        y = x[:, b : b + 16]
        new = np.maximum(top, y.max(1))
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.exp(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
        p = np.exp(y - safe[:, None])
        total = total * keep + p.sum(1)
        acc = acc * keep[:, None] + weighted(p, v[b : b + 16])
        by = by + spread(p, r[:, b : b + 16], t)
        top = new
    return (acc + by @ p_v) / np.where(total > 0, total, 1).astype(np.float32)[:, None]


@kernel(
    "wrong",
    "the value table meets weights that were normalised before the mask: hidden keys still add a p_v[r]; "
    "keys and values themselves are masked rightly; only with a mask",
)
def positions_unmasked(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = buckets(n, s, t, offset)
    qs = q * scale_of(scale, d)
    x = qs @ k.T + gather(qs @ p_k.T, r)
    seen = everything(n, s, mask)
    full = weights(x, seen.any(1, keepdims=True) & np.ones((n, s), bool) & np.isfinite(x))
    return weighted(weights(x, seen), v) + spread(full, r, t) @ p_v


@kernel(
    "wrong", "the products of queries with the table of distances, q p_k^T, are stored in bfloat16 in a float32 kernel"
)
def distance_scores_bf16(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = buckets(n, s, t, offset)
    scale = scale_of(scale, d)
    a = weights((q @ k.T + gather(bf16(q @ p_k.T), r)) * scale, everything(n, s, mask))
    return weighted(a, v) + spread(a, r, t) @ p_v


@kernel("wrong", "the scale multiplies q.k only, and q.p_k is added unscaled; only for a scale other than 1")
def positions_unscaled(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    r = buckets(n, s, t, offset)
    a = weights((q @ k.T) * scale_of(scale, d) + gather(q @ p_k.T, r), everything(n, s, mask))
    return weighted(a, v) + spread(a, r, t) @ p_v


CATEGORIES.update(
    last_row_unused=1, buckets_not_rescaled=3, positions_unmasked=4, distance_scores_bf16=2, positions_unscaled=1
)
