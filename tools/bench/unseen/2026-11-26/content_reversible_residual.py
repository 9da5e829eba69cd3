# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.reversible_residual"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


ERFC = np.vectorize(math.erfc, otypes=[float])


def between(a, b):
    """Phi(b) - Phi(a), a <= b"""
    h = math.sqrt(0.5)
    flip = (a + b) > 0
    lo, hi = np.where(flip, -b, a), np.where(flip, -a, b)
    return 0.5 * (ERFC(-hi * h) - ERFC(-lo * h))


def _attend(u, w_q, w_k, w_v, causal=False):
    q, k, v = u @ d64(w_q), u @ d64(w_k), u @ d64(w_v)
    l = q @ k.T / math.sqrt(u.shape[1])
    if causal:
        l = np.where(np.tril(np.ones(l.shape, bool)), l, -np.inf)
    return soft(l) @ v


def _net(u, w_1, w_2):
    return np.maximum(u @ d64(w_1), 0) @ d64(w_2)


def _run(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction, order=None, fwd=None):
    a, b = d64(s_1), d64(s_2)
    l = w_q.shape[0]
    for i in range(l) if direction == "forward" else reversed(range(l)) if order is None else order(l):
        if direction == "forward":
            if fwd is not None:
                a, b = fwd(i, a, b)
                continue
            a = a + _attend(b, w_q[i], w_k[i], w_v[i])
            b = b + _net(a, w_1[i], w_2[i])
        else:
            b = b - _net(a, w_1[i], w_2[i])
            a = a - _attend(b, w_q[i], w_k[i], w_v[i])
    return out(a), out(b)


@kernel(
    "correct",
    "attention through u (w_q w_k^T) u^T and (weights u) w_v, one query at a time; hidden units one tile of four "
    "after the other; both directions by one loop with a sign; float64",
)
def one_signed_loop(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction="forward"):
    l, d, f = w_1.shape
    streams = [d64(s_1).copy(), d64(s_2).copy()]
    sign = 1.0 if direction == "forward" else -1.0
    steps = [(i, p) for i in range(l) for p in (0, 1)]
    for i, p in steps if sign > 0 else steps[::-1]:
        u = streams[1 - p]
        if p == 0:
            m = d64(w_q[i]) @ d64(w_k[i]).T / math.sqrt(d)
            add = np.array([soft(u @ (r @ m)) @ u for r in u]) @ d64(w_v[i])
        else:
            add = sum(np.maximum(u @ d64(w_1[i][:, a : a + 4]), 0) @ d64(w_2[i][a : a + 4]) for a in range(0, f, 4))
        streams[p] = streams[p] + sign * add
    return out(streams[0]), out(streams[1])


@kernel("wrong", "G reads x_1, the first stream before the attention was added, in forward direction")
def stale_first_stream(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction="forward"):
    def fwd(i, a, b):
        return a + _attend(b, w_q[i], w_k[i], w_v[i]), b + _net(a, w_1[i], w_2[i])

    return _run(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction, fwd=fwd)


@kernel("wrong", "the inverse goes through the blocks in forward order")
def inverse_in_order(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction="forward"):
    return _run(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction, order=lambda l: range(l))


@kernel("wrong", "the streams are kept in float16 between blocks (not within one), so one block alone is exact")
def f16_between_blocks(s_1, s_2, w_q, w_k, w_v, w_1, w_2, direction="forward"):
    a, b = s_1, s_2
    l = w_q.shape[0]
    for n, i in enumerate(range(l) if direction == "forward" else range(l - 1, -1, -1)):
        a, b = _run(a, b, w_q[i : i + 1], w_k[i : i + 1], w_v[i : i + 1], w_1[i : i + 1], w_2[i : i + 1], direction)
        if n < l - 1:
            a, b = f16(a), f16(b)
    return a, b
