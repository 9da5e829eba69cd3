# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.distance_aware"

F32 = np.float32
F64 = np.float64


def _factors(n, s, alpha, beta, dtype, shift=0):
    R = float(alpha) * np.abs(np.arange(n)[:, None] + shift - np.arange(s)[None])
    return np.exp(np.logaddexp(0.0, float(beta)) - np.logaddexp(0.0, float(beta) - R)).astype(dtype)


def _attend(q, k, v, f, scale, hidden=False):
    x = q @ k.T
    l = np.maximum(x, 0) * f * (1 / math.sqrt(q.shape[1]) if scale is None else float(scale))
    if hidden:
        l = np.where((x > 0) | ~(x > 0).any(1, keepdims=True), l, F32(-np.inf))
    e = np.exp(l - l.max(1, keepdims=True, initial=0))
    return (e / e.sum(1, keepdims=True)) @ v


def _plain(q, k, v, alpha, beta, scale=None):
    f = _factors(len(q), len(k), alpha, beta, q.dtype)
    return _attend(q, k, v, f, scale), f


# category 6
@kernel(
    "wrong",
    "keys whose product is 0 or negative are hidden in place of getting the logit 0 (unless a row has no other)",
)
def negative_products_hidden(q, k, v, alpha, beta, scale=None):
    f = _factors(len(q), len(k), alpha, beta, F32)
    return _attend(q, k, v, f, scale, True), f


# category 4
@kernel("wrong", "where s > n distances are |i + (s - n) - j|, aligned at the last key")
def aligned_at_the_end(q, k, v, alpha, beta, scale=None):
    f = _factors(len(q), len(k), alpha, beta, F32, max(len(k) - len(q), 0))
    return _attend(q, k, v, f, scale), f


# category 5
@kernel("wrong", "beta is clamped to at most 1 before its exponential")
def beta_clamped(q, k, v, alpha, beta, scale=None):
    f = _factors(len(q), len(k), alpha, min(float(beta), 1.0), F32)
    return _attend(q, k, v, f, scale), f


# category 7
@kernel(
    "wrong",
    "alpha is read as [heads, batch] where it lies as [batch, heads]: most entries get another head's or entry's",
    layout="bhnd",
)
def alpha_transposed(q, k, v, alpha, beta, scale=None):
    b, h = q.shape[:2]
    r = h // k.shape[1]
    alpha = np.broadcast_to(np.asarray(alpha), (b, h)).reshape(h, b).T
    beta = np.broadcast_to(np.asarray(beta), (b, h))
    out = [
        [_plain(q[i, g], k[i, g // r], v[i, g // r], alpha[i, g], beta[i, g], scale) for g in range(h)]
        for i in range(b)
    ]
    return tuple(np.array([[out[i][g][t] for g in range(h)] for i in range(b)]) for t in range(2))


@kernel(
    "correct",
    "factors once per distance as (1 + e^beta) sigma(R - beta) by tanh, gathered afterwards; logits by "
    "keys in tiles of 21, numerators and denominators kept apart until the end; double",
)
def table_of_distances(q, k, v, alpha, beta, scale=None):
    n, s, m = len(q), len(k), v.shape[1]
    a, b = float(alpha), float(beta)
    sc = (1 / math.sqrt(q.shape[1]) if scale is None else float(scale)) * math.log2(math.e)
    t = a * np.arange(max(n, s, 1)) - b
    log_sigma = np.minimum(t, 0) - np.log1p(np.exp(-np.abs(t)))
    table = np.exp(max(b, 0) + math.log1p(math.exp(-abs(b))) + log_sigma)
    f = np.empty((n, s))
    for i in range(n):
        f[i] = table[np.abs(i - np.arange(s))]
    Q, K, V = q.astype(F64), k.astype(F64), v.astype(F64)
    top, den, num = np.full((n, 1), -np.inf), np.zeros((n, 1)), np.zeros((n, m))
    for lo in range(0, s, 21):
        j = slice(lo, lo + 21)
        x = Q @ K[j].T
        l = np.where(x > 0, sc * x * f[:, j], 0.0)
        new = np.maximum(top, l.max(1, keepdims=True))
        c, e = np.exp2(top - new), np.exp2(l - new)
        den, num, top = den * c + e.sum(1, keepdims=True), num * c + e @ V[j], new
    return {"o": (num / den).astype(F32), "f": f.astype(F32)}
