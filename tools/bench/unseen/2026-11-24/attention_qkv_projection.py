# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.qkv_projection"

F32 = np.float32
F64 = np.float64


def _plain(x, x_kv, w_q, w_k, w_v):
    return x @ w_q, x_kv @ w_k, x_kv @ w_v


def _bf(a):
    b = np.ascontiguousarray(a, dtype=F32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)


# category 7 (stale buffer)
@kernel(
    "wrong",
    "tiles of 20 input columns in a buffer: in the last, partial tile the v projection multiplies the "
    "buffer's unfilled columns of the tile before by weight rows that it wraps to the first ones (f > 20,"
    " 20 does not divide f)",
)
def v_reads_stale_columns(x, x_kv, w_q, w_k, w_v):
    f = x.shape[1]
    v = np.zeros((len(x_kv), w_v.shape[1]), F32)
    buffer = np.zeros((len(x_kv), 20), F32)
    for lo in range(0, f, 20):
        part = x_kv[:, lo : lo + 20]
        buffer[:, : part.shape[1]] = part
        if f > 20:
            rows = np.arange(lo, lo + 20) % f
            v = v + buffer @ w_v[rows]
        else:
            v = v + part @ w_v[lo : lo + 20]
    return x @ w_q, x_kv @ w_k, v


# category 4
@kernel(
    "wrong",
    "where s > n, the key rows from n on are made of x_kv rows j - n (the grid is n rows and the second pass restarts)",
)
def keys_wrap_at_n(x, x_kv, w_q, w_k, w_v):
    n, s = len(x), len(x_kv)
    rows = np.arange(s) % n if n else np.arange(s)
    return x @ w_q, x_kv[rows] @ w_k, x_kv @ w_v


# category 2
@kernel(
    "wrong",
    "the sum over f is split in two halves and the first half's partial queries wait in bfloat16",
    profile="f32",
)
def split_sum_waits_in_bfloat16(x, x_kv, w_q, w_k, w_v):
    h = x.shape[1] // 2
    return _bf(x[:, :h] @ w_q[:h]) + x[:, h:] @ w_q[h:], x_kv @ w_k, x_kv @ w_v


# category 6
@kernel("wrong", "sparse path for w_v: weights of magnitude below 1/32 count as 0")
def small_weights_pruned(x, x_kv, w_q, w_k, w_v):
    return x @ w_q, x_kv @ w_k, x_kv @ np.where(np.abs(w_v) < 0.03125, F32(0), w_v)


@kernel(
    "correct",
    "one product for keys and values with the weights side by side, the input columns from the last to "
    "the first in odd tiles of 19, transposed, double accumulators",
)
def side_by_side(x, x_kv, w_q, w_k, w_v):
    f, d = w_q.shape
    both = np.concatenate([w_v, w_k], 1).astype(F64)
    kv = np.zeros((both.shape[1], len(x_kv)), F64)
    q = np.zeros((d, len(x)), F64)
    for lo in range((f - 1) // 19 * 19, -1, -19):
        t = slice(lo, lo + 19)
        kv += both[t].T @ x_kv[:, t].T.astype(F64)
        q += w_q[t].T.astype(F64) @ x[:, t].T.astype(F64)
    m = w_v.shape[1]
    return {"q": q.T.astype(F32), "k": kv[m:].T.astype(F32), "v": kv[:m].T.astype(F32)}
