# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.orthogonal_projection"

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


def _gram(g, twice=True):
    d = g.shape[0]
    q = np.full((d, d), np.nan)
    for a in range(d):
        x = d64(g[:, a])
        size = math.sqrt(float(x @ x))
        for _ in range(2 if twice else 1):
            for b in range(a):
                x = x - (q[:, b] @ x) * q[:, b]
        r = math.sqrt(float(x @ x))
        if not r > 1e-12 * size:
            break
        q[:, a] = x / r
    return q


def _lengths(h, d, lengths):
    if lengths == "sqrt_d":
        return np.full(h.shape[0], math.sqrt(d))
    return np.sqrt((d64(h) ** 2).sum(1))


def _run(g, h, lengths, basis_, row=None):
    c, d = h.shape
    n = _lengths(h, d, lengths) if row is None else row(h, d, lengths)
    qs = [basis_(x) for x in g]
    return out(np.array([n[r] * qs[r // d][:, r % d] for r in range(c)]).reshape(c, d))


@kernel(
    "correct",
    "modified Gram-Schmidt, twice, in float64: the diagonal is positive by its making, and a column without a "
    "remainder ends the block",
)
def gram_schmidt_twice(g, h, lengths="chi"):
    return _run(g, h, lengths, _gram)


@kernel("wrong", "signs are as LAPACK's QR leaves them: the diagonal of T may be negative")
def lapack_signs(g, h, lengths="chi"):
    def basis_(x):
        q, t = np.linalg.qr(d64(x))
        bad = np.abs(np.diag(t)) < 1e-12 * max(1e-300, np.abs(t).max())
        if bad.any():
            q[:, int(np.argmax(bad)) :] = np.nan
        return q

    return _run(g, h, lengths, basis_)


@kernel("wrong", "the sign of each column is that of the matrix Q's own diagonal, not of T's")
def signs_of_q(g, h, lengths="chi"):
    def basis_(x):
        q = _gram(x)
        return q * np.where(np.diag(q) < 0, -1.0, 1.0)

    return _run(g, h, lengths, basis_)


@kernel("wrong", "a block that is singular becomes NaN from its first column on")
def whole_block_nan(g, h, lengths="chi"):
    def basis_(x):
        q = _gram(x)
        return np.full(q.shape, np.nan) if np.isnan(q).any() else q

    return _run(g, h, lengths, basis_)


@kernel("wrong", "directions are rows of Q")
def rows_of_q(g, h, lengths="chi"):
    return _run(g, h, lengths, lambda x: _gram(x).T)
