# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.lsh_attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


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


def _see(hashes, n, causal, exclude_self, chunk, before=1, wrap=False, order=None, self_first=False):
    m = np.zeros((n, n), bool)
    for h in np.asarray(hashes):
        same = h[:, None] == h[None]
        if chunk:
            key = np.lexsort((np.arange(n), h)) if order is None else order(h)
            c = np.empty(n, int)
            c[key] = np.arange(n) // chunk
            gap = c[:, None] - c[None]
            near = (gap >= 0) & (gap <= before)
            if wrap:
                near |= (c[:, None] == 0) & (c[None] == c.max())
            same &= near
        m |= same
    if causal:
        m &= np.tril(np.ones((n, n), bool))
    if exclude_self:
        for i in range(n):
            if m[i].sum() > 1:
                m[i, i] = False
    return m


def _keys(q, eps=0.0):
    q = d64(q)
    l = np.sqrt((q * q).sum(1, keepdims=True))
    if eps:
        return q / (l + eps)
    return np.divide(q, l, out=np.zeros_like(q), where=l > 0)


def _run(q, v, m, scale, keys=None, double=None):
    kk = _keys(q) if keys is None else keys
    return rows(q, kk, v, (lambda i: np.flatnonzero(m[i])) if double is None else double, scale)


@kernel(
    "correct",
    "each round on its own in sorted order, chunk after chunk; pairs that an earlier round has had are skipped, "
    "and rounds are joined by running maxima; logits are divided by the lengths of keys at the end; float64",
)
def round_by_round(q, v, hashes, scale=1.0, causal=False, exclude_self=False, chunk=0):
    n = q.shape[0]
    x = d64(q)
    big = np.abs(x).max(1)
    unit = np.where(big > 0, big, 1)
    y = x / unit[:, None]
    length = np.sqrt((y * y).sum(1))
    inv = np.where(length > 0, 1 / np.where(length > 0, length, 1), 0)
    m, z, acc = np.full(n, -np.inf), np.zeros(n), np.zeros((n, v.shape[1]))
    had = [set() for _ in range(n)]
    for h in np.asarray(hashes):
        order = sorted(range(n), key=lambda i: (h[i], i))
        for a, i in enumerate(order):
            lo, hi = (0, n) if not chunk else (max(0, a // chunk - 1) * chunk, (a // chunk + 1) * chunk)
            for j in order[lo:hi]:
                if h[j] != h[i] or j in had[i] or (causal and j > i):
                    continue
                had[i].add(j)
                if exclude_self and i == j:
                    continue
                l = scale * float(x[i] @ y[j]) * inv[j]
                g = max(m[i], l)
                f, e = (math.exp(m[i] - g) if z[i] else 0.0), math.exp(l - g)
                m[i], z[i], acc[i] = g, z[i] * f + e, acc[i] * f + e * d64(v[j])
    alone = z == 0
    acc[alone], z[alone] = d64(v)[alone], 1.0
    return out(acc / z[:, None])


@kernel("wrong", "a key that several rounds show is added once for each round")
def union_counts(q, v, hashes, scale=1.0, causal=False, exclude_self=False, chunk=0):
    n = q.shape[0]
    parts = [_see(h[None], n, causal, exclude_self, chunk) for h in np.asarray(hashes)]
    whole = _see(hashes, n, causal, exclude_self, chunk)

    def see(i):
        return np.concatenate([np.flatnonzero(p[i] & whole[i]) for p in parts])

    return _run(q, v, whole, scale, double=see)


@kernel("wrong", "the chunk before the first one is the last: chunks are rolled around")
def rolled_chunks(q, v, hashes, scale=1.0, causal=False, exclude_self=False, chunk=0):
    return _run(q, v, _see(hashes, q.shape[0], causal, exclude_self, chunk, wrap=True), scale)


@kernel("wrong", "with exclude_self a query that sees nothing but itself sees nothing at all and gets 0")
def lone_query_zero(q, v, hashes, scale=1.0, causal=False, exclude_self=False, chunk=0):
    m = _see(hashes, q.shape[0], causal, False, chunk)
    if exclude_self:
        m &= ~np.eye(len(m), dtype=bool)
    return _run(q, v, m, scale)


@kernel("wrong", "keys are q / (|q| + 1e-3)")
def softened_length(q, v, hashes, scale=1.0, causal=False, exclude_self=False, chunk=0):
    return _run(q, v, _see(hashes, q.shape[0], causal, exclude_self, chunk), scale, keys=_keys(q, 1e-3))
