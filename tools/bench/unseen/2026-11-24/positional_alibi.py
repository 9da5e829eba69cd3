# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.alibi"

F32 = np.float32
F64 = np.float64


def _bf(a):
    b = np.ascontiguousarray(a, dtype=F32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)


def _slopes(heads, first=0):
    c = 1
    while 2 * c <= heads:
        c *= 2
    a = [2.0 ** (-8.0 * (h + 1) / c) for h in range(c)]
    twice = [2.0 ** (-8.0 * (h + 1) / (2 * c)) for h in range(2 * c)]
    return np.array(a + twice[first::2][: heads - c])


def _plain(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0, hook=""):
    heads, n, d = q.shape
    s = k.shape[1]
    a = _slopes(heads, 1 if hook == "second_slopes" else 0) if slopes is None else np.asarray(slopes)
    a = a.astype(q.dtype)[:, None, None]
    far = (np.arange(n)[:, None] + (s - n + query_offset) - np.arange(s)[None]).astype(q.dtype)
    if hook == "next_head_in_tail":
        tail = (np.arange(n) >= n // 32 * 32) & (n > 32)
        a = np.where(tail[None, :, None], np.roll(a, -1, 0), a)
    if symmetric:
        bias = -a * (np.maximum(far, 0) if hook == "nothing_ahead" else np.abs(far))
    else:
        bias = -a * far
    if hook == "bias_in_bfloat16":
        bias = _bf(bias)
    l = np.einsum("hid,hjd->hij", q, k) * (1 / math.sqrt(d) if scale is None else float(scale)) + bias
    if not symmetric:
        l = np.where(far < 0, q.dtype.type(-np.inf), l)
    e = np.exp(l - l.max(-1, keepdims=True, initial=-1e30))
    return np.einsum("hij,hjm->him", e / e.sum(-1, keepdims=True), v)


# category 5
@kernel(
    "wrong",
    "heads that are no power of two: the heads beyond the first c take the second, fourth .. slope of 2c "
    "heads in place of the first, third ..",
)
def second_slopes(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    return _plain(q, k, v, slopes, scale, symmetric, query_offset, "second_slopes")


# category 1
@kernel(
    "wrong",
    "symmetric: keys ahead of their query get the bias 0 (the distance is cut at 0 and not taken by magnitude)",
    profile="f64",
)
def nothing_ahead(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    return _plain(q, k, v, slopes, scale, symmetric, query_offset, "nothing_ahead")


# category 3
@kernel(
    "wrong",
    "tiles of 32 queries: the last partial tile reads the slope of the next head (its pointer has moved "
    "on; n > 32 and heads > 1)",
)
def next_head_in_tail(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    return _plain(q, k, v, slopes, scale, symmetric, query_offset, "next_head_in_tail")


# category 2
@kernel("wrong", "the bias a_h times distance is rounded to bfloat16 before it is added, in a float32 kernel")
def bias_in_bfloat16(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    return _plain(q, k, v, slopes, scale, symmetric, query_offset, "bias_in_bfloat16")


@kernel(
    "correct",
    "causal: the bias is + a_h times (j - last key), since what depends on the query alone cancels; "
    "weights decay over odd tiles of 15 keys from the nearest to the farthest; base 2; slopes by repeated"
    " square roots; double",
)
def bias_of_keys_alone(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    heads, n, d = q.shape
    s, m = v.shape[1:]
    L2E = math.log2(math.e)
    sc = (1 / math.sqrt(d) if scale is None else float(scale)) * L2E
    if slopes is None:
        c = 1 << (heads.bit_length() - 1)
        a = [2.0 ** (-8.0 / c * (h + 1)) if h < c else 2.0 ** (-4.0 / c * (2 * (h - c) + 1)) for h in range(heads)]
    else:
        a = [float(x) for x in slopes]
    o = np.zeros((heads, n, m))
    at = np.arange(n) + (s - n + int(query_offset))
    for h in range(heads):
        Q, K, V = q[h].astype(F64), k[h].astype(F64), v[h].astype(F64)
        top, den, num = np.full(n, -np.inf), np.zeros(n), np.zeros((n, m))
        for hi in range(s, 0, -15):
            j = np.arange(max(hi - 15, 0), hi)
            l = sc * (Q @ K[j].T)
            if symmetric:
                l -= (a[h] * L2E) * np.abs(at[:, None] - j[None])
            else:
                l += (a[h] * L2E) * (j - (s - 1))[None]
                l = np.where(j[None] > at[:, None], -np.inf, l)
            new = np.maximum(top, l.max(1))
            base = np.where(np.isfinite(new), new, 0)
            r, e = np.exp2(top - base), np.exp2(l - base[:, None])
            den, num, top = den * r + e.sum(1), num * r[:, None] + e @ V[j], new
        o[h] = num / den[:, None]
    return o.astype(F32)
