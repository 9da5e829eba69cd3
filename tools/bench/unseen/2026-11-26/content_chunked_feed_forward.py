# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.chunked_feed_forward"

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


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


ERFC = np.vectorize(math.erfc, otypes=[float])


def between(a, b):
    """Phi(b) - Phi(a), a <= b"""
    h = math.sqrt(0.5)
    flip = (a + b) > 0
    lo, hi = np.where(flip, -b, a), np.where(flip, -a, b)
    return 0.5 * (ERFC(-hi * h) - ERFC(-lo * h))


def _act(u, activation):
    if activation == "relu":
        return np.maximum(u, 0)
    if activation == "identity":
        return u
    return 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def _f(u, w_1, b_1, w_2, b_2, activation, act=_act):
    h = d64(u) @ d64(w_1) + (0 if b_1 is None else d64(b_1))
    return act(h, activation) @ d64(w_2) + (0 if b_2 is None else d64(b_2))


@kernel(
    "correct",
    "hidden units in tiles of five and tokens in one piece (chunks change nothing of the result); the residual is "
    "added last; GELU as u sigma(2 c); float64",
)
def hidden_tiles(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    y = np.zeros(x_2.shape) + (0 if b_2 is None else d64(b_2))
    for a in range(0, w_1.shape[1], 5):
        u = d64(y_1) @ d64(w_1[:, a : a + 5])
        if b_1 is not None:
            u = u + d64(b_1[a : a + 5])
        if activation == "gelu_tanh":
            u = u * sig(2 * math.sqrt(2 / math.pi) * u * (1 + 0.044715 * u * u))
        elif activation == "relu":
            u = np.where(u > 0, u, 0)
        y += u @ d64(w_2[a : a + 5])
    return out(d64(x_2) + y)


@kernel("wrong", "chunks of floor(n / c) tokens: the tokens that are left over keep x_2 alone")
def remainder_skipped(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    y = d64(x_2).copy()
    m = len(y) // chunks * chunks
    y[:m] += _f(y_1[:m], w_1, b_1, w_2, b_2, activation)
    return out(y)


@kernel("wrong", "b_2 is added once per chunk to the whole stream, which is right for one chunk only")
def bias_per_chunk(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    y = d64(x_2) + _f(y_1, w_1, b_1, w_2, b_2, activation)
    return out(y if b_2 is None else y + (min(chunks, len(y)) - 1) * d64(b_2))


@kernel("wrong", "gelu_tanh is the one with the error function")
def erf_gelu(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    def act(u, a):
        return 0.5 * u * ERFC(-u / math.sqrt(2)) if a == "gelu_tanh" else _act(u, a)

    return out(d64(x_2) + _f(y_1, w_1, b_1, w_2, b_2, activation, act))


@kernel("wrong", "hidden units are stored as bfloat16 between the layers when there is more than one chunk")
def bf16_hidden(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    act = (lambda u, a: d64(bf16(_act(u, a)))) if chunks > 1 else _act
    return out(d64(x_2) + _f(y_1, w_1, b_1, w_2, b_2, activation, act))


@kernel("correct", "float32 everywhere, chunk by chunk with bounds floor(a n / c), hidden units of a chunk at once")
def float32_chunks(x_2, y_1, w_1, w_2, b_1=None, b_2=None, activation="relu", chunks=2):
    n = x_2.shape[0]
    y = np.array(x_2, F32)
    for a in range(chunks):
        lo, hi = a * n // chunks, (a + 1) * n // chunks
        if hi > lo:
            u = np.asarray(y_1[lo:hi], F32) @ np.asarray(w_1, F32)
            u = u if b_1 is None else u + np.asarray(b_1, F32)
            if activation == "relu":
                u = np.maximum(u, F32(0))
            elif activation == "gelu_tanh":
                t = F32(math.sqrt(2 / math.pi)) * (u + F32(0.044715) * u * u * u)
                u = F32(0.5) * u * (F32(1) + np.tanh(t))
            z = u @ np.asarray(w_2, F32)
            y[lo:hi] += z if b_2 is None else z + np.asarray(b_2, F32)
    return y
