# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.feed_forward"

F32 = np.float32
F64 = np.float64

C2 = 2.0 * math.sqrt(2.0 / math.pi)


def _act(u, activation):
    if activation == "relu":
        return np.maximum(u, 0)
    if activation == "identity":
        return u
    t = C2 * (u + 0.044715 * u * u * u)
    return u * (0.5 + 0.5 * np.tanh(0.5 * t))


def _plain(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    u = x @ w_1
    if b_1 is not None:
        u = u + b_1
    y = _act(u, activation) @ w_2
    return y if b_2 is None else y + b_2


# category 3
@kernel(
    "wrong",
    "hidden units come in tiles of 48; where 48 does not divide f (and f > 48) the last tile is shifted "
    "back to end at f and its overlap with the tile before is summed twice",
)
def shifted_hidden_tile(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    f = w_1.shape[1]
    y = np.zeros((x.shape[0], w_2.shape[1]), F32)
    for start in range(0, f, 48):
        lo = start if start + 48 <= f else max(f - 48, 0)
        u = x @ w_1[:, lo : lo + 48]
        if b_1 is not None:
            u = u + b_1[lo : lo + 48]
        y = y + _act(u, activation) @ w_2[lo : lo + 48]
    return y if b_2 is None else y + b_2


# category 5
@kernel("wrong", "gelu_tanh: the cubic coefficient is 0.04715 in place of 0.044715 (a digit lost)")
def gelu_digit_lost(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    u = x @ w_1
    if b_1 is not None:
        u = u + b_1
    if activation == "gelu_tanh":
        h = F32(0.5) * u * (F32(1) + np.tanh(F32(0.7978846) * (u + F32(0.04715) * u * u * u)))
    else:
        h = _act(u, activation)
    y = h @ w_2
    return y if b_2 is None else y + b_2


# category 4
@kernel(
    "wrong",
    "activation identity takes a fused path x (w_1 w_2) + b_2 that forgets b_1 when b_1 is given",
    profile="bf16",
)
def identity_forgets_b1(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    out = x.dtype
    x, w_1, w_2, b_1, b_2 = (None if t is None else t.astype(F32) for t in (x, w_1, w_2, b_1, b_2))
    if activation == "identity":
        y = x @ (w_1 @ w_2)
        return (y if b_2 is None else y + b_2).astype(out)
    return _plain(x, w_1, w_2, b_1, b_2, activation).astype(out)


# category 2
@kernel(
    "wrong", "the hidden activations are stored with a 10-bit mantissa (rounded to nearest) between the two products"
)
def hidden_ten_bits(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    u = x @ w_1
    if b_1 is not None:
        u = u + b_1
    h = np.ascontiguousarray(_act(u, activation), dtype=F32)
    bits = h.view(np.uint32)
    h = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(F32)
    y = h @ w_2
    return y if b_2 is None else y + b_2


@kernel(
    "correct",
    "transposed products, hidden units in odd tiles of 37 from the last to the first, double accumulators"
    " that start at b_2, gelu as u / (1 + 2^-t)",
)
def hidden_tiles_backwards(x, w_1, w_2, b_1=None, b_2=None, activation="relu", chunk=8):
    n, d = x.shape
    f = w_1.shape[1]
    xt = x.T.astype(F64)
    acc = np.zeros((d, n), F64)
    if b_2 is not None:
        acc += b_2.astype(F64)[:, None]
    for lo in reversed(range(0, f, 37)):
        hi = min(lo + 37, f)
        u = w_1[:, lo:hi].T.astype(F64) @ xt
        if b_1 is not None:
            u += b_1[lo:hi].astype(F64)[:, None]
        if activation == "relu":
            u = np.where(u > 0, u, 0.0)
        elif activation == "gelu_tanh":
            t = C2 * math.log2(math.e) * u * (1 + 0.044715 * u * u)
            u = u / (1 + np.exp2(np.minimum(-t, 1000.0)))
        acc += w_2[lo:hi].T.astype(F64) @ u
    return np.ascontiguousarray(acc.T).astype(F32)
