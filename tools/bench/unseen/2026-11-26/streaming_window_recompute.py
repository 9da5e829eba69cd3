# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.window_recompute"

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


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _code(n, d, first=0):
    p = np.zeros((n, d))
    for a in range(d):
        w = 10000.0 ** (-(a - a % 2) / d)
        x = (first + np.arange(n)) * w
        p[:, a] = np.sin(x) if a % 2 == 0 else np.cos(x)
    return p


def _model(h, w_q, w_k, w_v, scale):
    for a in range(w_q.shape[0]):
        q, k, v = h @ d64(w_q[a]), h @ d64(w_k[a]), h @ d64(w_v[a])
        h = np.array([soft(scale * (k[: i + 1] @ q[i])) @ v[: i + 1] for i in range(len(h))])
    return h


@kernel(
    "correct",
    "the last layer computes its last row alone and folds w_q w_k^T and the values' projection to the end: "
    "softmax(scale h_i (w_q w_k^T) h^T) h w_v; float64",
)
def last_row_alone(x, w_q, w_k, w_v, window=4, position="none", scale=None):
    n, d = x.shape
    scale = sc(scale, d)
    o = np.zeros((n, d))
    top = w_q.shape[0] - 1
    for i in range(n):
        h = d64(x[max(0, i - window + 1) : i + 1])
        h = h + _code(len(h), d) if position == "sinusoidal" else h
        for a in range(top + 1):
            m = d64(w_q[a]) @ d64(w_k[a]).T
            rows = [len(h) - 1] if a == top else range(len(h))
            h = np.array([(soft(scale * (h[: r + 1] @ (h[r] @ m))) @ h[: r + 1]) @ d64(w_v[a]) for r in rows])
        o[i] = h[-1]
    return out(o)


@kernel("wrong", "positions count from the beginning of the text: the code of the token, not of its row in the window")
def absolute_positions(x, w_q, w_k, w_v, window=4, position="none", scale=None):
    n, d = x.shape
    scale = sc(scale, d)
    o = np.zeros((n, d))
    for i in range(n):
        f = max(0, i - window + 1)
        h = d64(x[f : i + 1])
        o[i] = _model(h + _code(len(h), d, f) if position == "sinusoidal" else h, w_q, w_k, w_v, scale)[-1]
    return out(o)


@kernel(
    "wrong",
    "deeper layers use the states of earlier tokens from their own windows (a cache): differs from two layers on, "
    "where the window has slid",
)
def cached_layers(x, w_q, w_k, w_v, window=4, position="none", scale=None):
    n, d = x.shape
    scale = sc(scale, d)
    if position == "sinusoidal":
        o = np.zeros((n, d))
        for i in range(n):
            f = max(0, i - window + 1)
            o[i] = _model(d64(x[f : i + 1]) + _code(i + 1 - f, d), w_q, w_k, w_v, scale)[-1]
        return out(o)
    h = d64(x)
    for a in range(w_q.shape[0]):
        q, k, v = h @ d64(w_q[a]), h @ d64(w_k[a]), h @ d64(w_v[a])
        h = np.array(
            [
                soft(scale * (k[max(0, i - window + 1) : i + 1] @ q[i])) @ v[max(0, i - window + 1) : i + 1]
                for i in range(n)
            ]
        )
    return out(h)


@kernel(
    "wrong",
    "attention inside of a window is not causal: in layers before the last, rows see later tokens of the window",
)
def not_causal(x, w_q, w_k, w_v, window=4, position="none", scale=None):
    n, d = x.shape
    scale = sc(scale, d)
    o = np.zeros((n, d))
    for i in range(n):
        h = d64(x[max(0, i - window + 1) : i + 1])
        h = h + _code(len(h), d) if position == "sinusoidal" else h
        for a in range(w_q.shape[0]):
            h = soft(scale * (h @ d64(w_q[a])) @ (h @ d64(w_k[a])).T) @ (h @ d64(w_v[a]))
        o[i] = h[-1]
    return out(o)
