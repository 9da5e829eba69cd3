# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.blockwise"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def bf16(x):
    x = np.asarray(x, F32)
    u = np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.uint64)
    u = (u + 0x7FFF + ((u >> 16) & 1)) & 0xFFFF0000
    r = u.astype(np.uint32).view(F32).reshape(x.shape)
    return np.where(np.isfinite(x), r, x).astype(F32)


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


@kernel(
    "correct",
    "blocks by their bounds ceil(a n / p), rows of a block together; keys of block pi(a) read backwards in an "
    "online float32 softmax",
)
def by_bounds(q, k, v, permutation, scale=None):
    n, p = q.shape[0], len(permutation)
    at = [-(-a * n // p) for a in range(p + 1)]
    o = np.zeros((n, v.shape[1]), F32)
    for a in range(p):
        e = int(permutation[a])
        kk, vv = k[at[e] : at[e + 1]][::-1], v[at[e] : at[e + 1]][::-1]
        for i in range(at[a], at[a + 1]):
            o[i] = row_online32(q[i], kk, vv, sc(scale, q.shape[1]))
    return o


@kernel(
    "wrong",
    "blocks are ceil(n / p) tokens long, the last shorter: differs where p does not divide n (a block beyond the "
    "end sees the last)",
)
def equal_blocks(q, k, v, permutation, scale=None):
    n, p = q.shape[0], len(permutation)
    size = -(-n // p)
    b = np.arange(n) // size
    return dense(q, k, v, np.minimum(np.asarray(permutation)[b], b[-1])[:, None] == b[None], sc(scale, q.shape[1]))


@kernel("wrong", "the inverse permutation is used: block a sees the block that pi sends to a")
def inverse_permutation(q, k, v, permutation, scale=None):
    n, p = q.shape[0], len(permutation)
    b = np.arange(n) * p // n
    return dense(q, k, v, b[:, None] == np.asarray(permutation)[b][None], sc(scale, q.shape[1]))


@kernel(
    "wrong",
    "the block of a token is floor(i r) with the quotient r = p / n rounded to bfloat16: where r is rounded down, "
    "a token on a bound falls into the block before",
)
def bf16_quotient(q, k, v, permutation, scale=None):
    n, p = q.shape[0], len(permutation)
    b = np.floor(np.arange(n) * float(bf16(p / n))).astype(int)
    b = np.minimum(b, p - 1)
    return dense(q, k, v, np.asarray(permutation)[b][:, None] == b[None], sc(scale, q.shape[1]))
