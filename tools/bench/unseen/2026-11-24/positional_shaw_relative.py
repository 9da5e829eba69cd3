# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.shaw_relative"

F32 = np.float32
F64 = np.float64


def _weights(q, k, p_k, mask, scale, r, position_scaled=True):
    n, s = len(q), len(k)
    ok = np.ones((n, s), bool) if mask is None else mask
    a = 1 / math.sqrt(q.shape[1]) if scale is None else float(scale)
    position = np.take_along_axis(q @ p_k.T, r, 1)
    l = (q @ k.T) * a + position * (a if position_scaled else 1 / math.sqrt(q.shape[1]))
    l = np.where(ok, l, q.dtype.type(-np.inf))
    top = l.max(1, keepdims=True, initial=-np.inf)
    e = np.exp(l - np.where(np.isfinite(top), top, 0).astype(q.dtype))
    t = e.sum(1, keepdims=True)
    return e / np.where(t == 0, 1, t).astype(q.dtype), ok


def _rows(n, s, t, offset):
    c = t // 2
    offset = s - n if offset is None else int(offset)
    return np.clip(np.arange(s)[None] - np.arange(n)[:, None] - offset, -c, c) + c


def _mix(w, ok, v):
    if np.isfinite(v).all():
        return w @ v
    return np.stack([w[i, ok[i]] @ v[ok[i]] for i in range(len(w))])


def _values(w, p_v, r):
    return np.einsum("ij,ijm->im", w, p_v[r])


def _plain(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    r = _rows(len(q), len(k), len(p_k), offset)
    w, ok = _weights(q, k, p_k, mask, scale, r)
    return _mix(w, ok, v) + _values(w, p_v, r)


# category 1
@kernel("wrong", "keys whose distance was clipped (more than c away) get no vector p_v; p_k they get")
def clipped_without_value(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, s, c = len(q), len(k), len(p_k) // 2
    r = _rows(n, s, len(p_k), offset)
    w, ok = _weights(q, k, p_k, mask, scale, r)
    far = np.abs(np.arange(s)[None] - np.arange(n)[:, None] - (s - n if offset is None else int(offset))) > c
    return _mix(w, ok, v) + _values(np.where(far, F32(0), w), p_v, r)


# category 7
@kernel(
    "wrong",
    "p_v is indexed from the other end: its row for distance i - j, while p_k has that for j - i",
    profile="bf16",
)
def value_rows_reversed(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    out = q.dtype
    q, k, v, p_k, p_v = (t.astype(F32) for t in (q, k, v, p_k, p_v))
    r = _rows(len(q), len(k), len(p_k), offset)
    w, ok = _weights(q, k, p_k, mask, scale, r)
    return (_mix(w, ok, v) + _values(w, p_v, len(p_v) - 1 - r)).astype(out)


# category 3
@kernel(
    "wrong",
    "tiles of 32 keys: in the last partial tile the distances are counted from the tile's first key as key 0 (s > 32)",
)
def tail_distances_local(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, s = len(q), len(k)
    r = _rows(n, s, len(p_k), offset)
    if s > 32 and s % 32:
        lo = s // 32 * 32
        r = np.concatenate([r[:, :lo], _rows(n, s - lo, len(p_k), s - n if offset is None else offset)], 1)
    w, ok = _weights(q, k, p_k, mask, scale, r)
    return _mix(w, ok, v) + _values(w, p_v, r)


# category 4
@kernel("wrong", "a scale that is given applies to the products with keys alone; those with positions keep 1/sqrt(d)")
def position_keeps_default_scale(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    r = _rows(len(q), len(k), len(p_k), offset)
    w, ok = _weights(q, k, p_k, mask, scale, r, False)
    return _mix(w, ok, v) + _values(w, p_v, r)


@kernel(
    "correct",
    "query by query: keys and position vectors added before the product, the weights summed per table row"
    " (a histogram) before they meet p_v, in double, visible keys alone",
    profile="f64",
)
def histogram_of_weights(q, k, v, p_k, p_v, mask=None, scale=None, offset=None):
    n, d = q.shape
    s, t = len(k), len(p_k)
    c = (t - 1) // 2
    a = (1 / math.sqrt(d) if scale is None else float(scale)) * math.log2(math.e)
    shift = s - n if offset is None else int(offset)
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        j = np.arange(s)[::-1] if mask is None else np.flatnonzero(mask[i])[::-1]
        if not len(j):
            continue
        r = np.minimum(np.maximum(j - i - shift, -c), c) + c
        l = a * ((k[j] + p_k[r]) @ q[i])
        e = np.exp2(l - l.max())
        o[i] = (v[j].T @ e + p_v.T @ np.bincount(r, weights=e, minlength=t)) / e.sum()
    return o
