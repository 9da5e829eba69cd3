# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.compressive_attention_reconstruction"

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


def _attend(h, x, w_q, w_k, w_v, scale, causal=False):
    q, k, v = d64(h) @ d64(w_q), d64(x) @ d64(w_k), d64(x) @ d64(w_v)
    return soft(scale * (q @ k.T)) @ v


def _size(e, norm):
    s = (e * e).sum()
    return math.sqrt(s) if norm == "frobenius" else s if norm == "squared" else s / e.size


@kernel(
    "correct",
    "the projection to values comes last, once, on the difference of both averages; the norm is scaled by its "
    "largest entry; float64",
)
def project_difference(h, old, compressed, w_q, w_k, w_v, norm="frobenius", scale=None):
    s = sc(scale, w_q.shape[1])
    a = s * (d64(h) @ (d64(w_q) @ d64(w_k).T))
    e = (soft(a @ d64(old).T) @ d64(old) - soft(a @ d64(compressed).T) @ d64(compressed)) @ d64(w_v)
    top = np.abs(e).max()
    if top == 0:
        return out(0.0)
    r = ((e / top) ** 2).sum()
    return out(top * math.sqrt(r) if norm == "frobenius" else top * top * r / (1 if norm == "squared" else e.size))


@kernel("wrong", "mean_squared divides by the number of tokens, not of elements")
def mean_over_tokens(h, old, compressed, w_q, w_k, w_v, norm="frobenius", scale=None):
    s = sc(scale, w_q.shape[1])
    e = _attend(h, old, w_q, w_k, w_v, s) - _attend(h, compressed, w_q, w_k, w_v, s)
    return out((e * e).sum() / len(e) if norm == "mean_squared" else _size(e, norm))


@kernel("wrong", "the root is sqrt(s + 1e-6), so that its gradient exists")
def safe_root(h, old, compressed, w_q, w_k, w_v, norm="frobenius", scale=None):
    s = sc(scale, w_q.shape[1])
    e = _attend(h, old, w_q, w_k, w_v, s) - _attend(h, compressed, w_q, w_k, w_v, s)
    return out(math.sqrt((e * e).sum() + 1e-6) if norm == "frobenius" else _size(e, norm))


@kernel("wrong", "frobenius: the norms of the rows are summed")
def sum_of_row_norms(h, old, compressed, w_q, w_k, w_v, norm="frobenius", scale=None):
    s = sc(scale, w_q.shape[1])
    e = _attend(h, old, w_q, w_k, w_v, s) - _attend(h, compressed, w_q, w_k, w_v, s)
    return out(np.sqrt((e * e).sum(1)).sum() if norm == "frobenius" else _size(e, norm))
