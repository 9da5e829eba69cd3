# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.rfa_exp_estimator"

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


def _angles(x, w, sigma):
    return d64(x) @ d64(w).T / sigma


@kernel(
    "correct",
    "phi(x) . phi(y) as the mean of cosines of w . (x - y) / sigma, pairs in tiles of three, the lengths joined "
    "into one exponential; float64",
)
def one_exponential(x, y, w, sigma=1.0, norms="computed"):
    e = np.zeros(x.shape[0])
    for a in range(0, x.shape[0], 3):
        p, q = d64(x[a : a + 3]) / sigma, d64(y[a : a + 3]) / sigma
        l = 1.0 / sigma**2 if norms == "unit" else 0.5 * ((p * p).sum(1) + (q * q).sum(1))
        e[a : a + 3] = np.exp(l) * np.cos((p - q) @ d64(w).T).mean(1)
    return out(e)


def _run(x, y, w, sigma, norms, factor=None, norm=None):
    a, b = _angles(x, w, sigma), _angles(y, w, sigma)
    m = (np.sin(a) * np.sin(b) + np.cos(a) * np.cos(b)).mean(1)
    l = 0.5 * ((d64(x) ** 2).sum(1) + (d64(y) ** 2).sum(1)) / sigma**2
    if norms == "unit":
        l = np.full(len(m), 1.0 / sigma**2 if factor is None else factor)
    elif norm is not None:
        l = norm(x, y)
    return out(np.exp(l) * m)


@kernel("wrong", "unit lengths: the factor is e^(1 / (2 sigma^2)), that of one of the two rows")
def half_unit_factor(x, y, w, sigma=1.0, norms="computed"):
    return _run(x, y, w, sigma, norms, factor=0.5 / sigma**2)


@kernel("wrong", "norms = unit brings the rows to length 1 first instead of taking them for unit vectors")
def normalises_rows(x, y, w, sigma=1.0, norms="computed"):
    if norms == "unit":
        x, y = (d64(r) / np.sqrt((d64(r) ** 2).sum(1, keepdims=True)) for r in (x, y))
    return _run(x, y, w, sigma, norms)


@kernel("wrong", "estimates below 0 are returned as 0: an exponential is positive")
def never_negative(x, y, w, sigma=1.0, norms="computed"):
    return np.maximum(_run(x, y, w, sigma, norms), 0)


@kernel("wrong", "the exponent |x|^2 + |y|^2 is bounded by 30 against overflow")
def bounded_exponent(x, y, w, sigma=1.0, norms="computed"):
    return _run(
        x,
        y,
        w,
        sigma,
        norms,
        norm=lambda x, y: np.minimum(0.5 * ((d64(x) ** 2).sum(1) + (d64(y) ** 2).sum(1)) / sigma**2, 15.0),
    )
