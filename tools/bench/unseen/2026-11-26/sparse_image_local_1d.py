# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.image_local_1d"

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


def _mask(n, lq, lm, causal):
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    b = i // lq
    return (j >= b * lq - lm) & ((j <= i) if causal else (j < (b + 1) * lq))


@kernel(
    "correct",
    "keys in strips of the extension and the block, each with a log-sum-exp of its own that are joined at the end; "
    "float64, scale folded into the keys",
)
def two_strips(q, k, v, query_block=4, extension=3, causal=True, scale=None):
    n = q.shape[0]
    ks = d64(k) * sc(scale, q.shape[1])
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        b = i // query_block * query_block
        end = i + 1 if causal else min(n, b + query_block)
        parts = []
        for lo, hi in ((max(0, b - extension), b), (b, end)):
            if hi > lo:
                l = ks[lo:hi] @ d64(q[i])
                w = np.exp(l - l.max())
                parts.append((l.max(), w.sum(), w @ d64(v[lo:hi])))
        top = max(p[0] for p in parts)
        o[i] = sum(math.exp(p[0] - top) * p[2] for p in parts) / sum(math.exp(p[0] - top) * p[1] for p in parts)
    return out(o)


@kernel("wrong", "the memory of a query is a sliding one: `extension` pixels before the query, not before its block")
def sliding(q, k, v, query_block=4, extension=3, causal=True, scale=None):
    n = q.shape[0]
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    m = _mask(n, query_block, extension, causal) & (j >= i - extension)
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel(
    "wrong", "not causal: a last block that is shorter is filled up with keys of zeros, whose logits of 0 take weight"
)
def zero_padding(q, k, v, query_block=4, extension=3, causal=True, scale=None):
    n = q.shape[0]
    p = -n % query_block
    kk, vv = (np.concatenate([x, np.zeros((p, x.shape[1]), x.dtype)]) for x in (k, v))
    m = _mask(n + p, query_block, extension, causal)[:n]
    return dense(q, kk, vv, m, sc(scale, q.shape[1]))


@kernel("wrong", "the extension is capped at the length of a block (it takes the block before, and no more)")
def one_block_before(q, k, v, query_block=4, extension=3, causal=True, scale=None):
    return dense(q, k, v, _mask(q.shape[0], query_block, min(extension, query_block), causal), sc(scale, q.shape[1]))


@kernel(
    "correct",
    "float32 everywhere, an online softmax in tiles of three keys that begin at multiples of three of the "
    "sequence, not of the memory",
)
def float32_tiles(q, k, v, query_block=4, extension=3, causal=True, scale=None):
    m = _mask(q.shape[0], query_block, extension, causal)
    return rows(q, k, v, lambda i: np.flatnonzero(m[i]), sc(scale, q.shape[1]), row_online32)
