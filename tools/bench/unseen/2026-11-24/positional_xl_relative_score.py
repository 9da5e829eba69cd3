# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.xl_relative_score"

F32 = np.float32
F64 = np.float64


def _places(n, s):
    return np.arange(n)[:, None] + (s - n) - np.arange(s)[None]


def _distance(rows, behind, ahead, o):
    """Products with r_o for every pair out of those with each row of r (and of r_ahead)."""
    near = np.take_along_axis(behind, np.maximum(o, 0), 1)
    if ahead is None:
        return np.where(o < 0, 0, near)
    return np.where(o < 0, np.take_along_axis(ahead, np.maximum(-o, 0), 1), near)


def _clean(r_ahead, n):
    if r_ahead is None:
        return None
    r = np.array(r_ahead)
    r[:1] = 0
    r[n:] = 0
    return r


def _scores(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale, o=None, half=False, place=None):
    n, s = len(x_q), len(x_k)
    a = 1 / math.sqrt(w_q.shape[1]) if scale is None else float(scale)
    q, k = x_q @ w_q, x_k @ w_e
    o = _places(n, s) if o is None else o
    R = r @ w_r
    if half:
        R = R.astype(np.float16).astype(F32)
    B = (q + v) @ R.T
    A = None if r_ahead is None else (q + v) @ (_clean(r_ahead, n) @ w_r).T
    t = _distance(q, B, A, o) if place is None else place(B, A, o)
    out = ((q + u) @ k.T + t) * a
    return out if r_ahead is not None else np.where(_places(n, s) < 0, 0, out).astype(out.dtype)


def _plain(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    return _scores(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale)


# category 7
@kernel("wrong", "with r_ahead its rows are read one too early: a key p places ahead gets row p - 1")
def ahead_one_early(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    if r_ahead is not None:
        rows = np.array(r_ahead)
        rows[1:] = r_ahead[:-1]
        r_ahead = rows
    return _scores(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale)


# category 1
@kernel(
    "wrong",
    "without r_ahead a key ahead of its query keeps what the skewing trick leaves there: the distance "
    "terms are 0 but the content terms stay",
    profile="f64",
)
def content_ahead_stays(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    if r_ahead is not None:
        return _plain(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale)
    return _scores(x_q, x_k, w_q, w_e, w_r, u, v, r, np.zeros_like(r), scale)


# category 1
@kernel("wrong", "u is added to the queries in place, so that distances meet q + u + v in place of q + v")
def u_stays_in_queries(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    n = len(x_q)
    extra = F32(1 / math.sqrt(w_q.shape[1]) if scale is None else scale)
    a = _plain(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale)
    o = _places(n, len(x_k))
    B = np.repeat((u @ (r @ w_r).T)[None], n, 0)
    A = None if r_ahead is None else np.repeat((u @ (_clean(r_ahead, n) @ w_r).T)[None], n, 0)
    return (a + extra * _distance(n, B, A, o)).astype(F32)


# category 2
@kernel("wrong", "the projected distances r w_r are float16 in a float32 kernel")
def half_distances(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    return _scores(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead, scale, half=True)


@kernel(
    "correct",
    "diagonal by diagonal: for each distance o the vector w_q (w_e x_j + w_r r_o) of the keys on it is "
    "dotted with x_i, biases as one number per key and per distance, double",
    profile="f64",
)
def by_diagonals(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    n, s = len(x_q), len(x_k)
    a = 1 / math.sqrt(w_q.shape[1]) if scale is None else float(scale)
    back_k, back_r = w_q @ w_e.T, w_q @ w_r.T
    content, of_u, of_v = x_k @ back_k.T, x_k @ (w_e @ u), w_r @ v
    out = np.zeros((n, s))
    for o in range(-(n - 1), s):
        if o < 0 and r_ahead is None:
            continue
        row = r[o] if o >= 0 else r_ahead[-o]
        i = np.arange(max(0, o - (s - n)), min(n, o + n))
        i = i[(i + (s - n) - o >= 0) & (i + (s - n) - o < s)]
        if not len(i):
            continue
        j = i + (s - n) - o
        out[i, j] = a * (np.einsum("if,if->i", x_q[i], content[j] + back_r @ row) + of_u[j] + row @ of_v)
    return out
