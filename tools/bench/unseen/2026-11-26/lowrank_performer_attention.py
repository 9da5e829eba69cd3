# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.performer_attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _exponents(x, w):
    y = d64(x) / x.shape[1] ** 0.25
    return y @ d64(w).T - 0.5 * (y * y).sum(1, keepdims=True)


def _run(q, k, v, w, causal, stabiliser, a=None, b=None, key_shift=False, row=None):
    a = _exponents(q, w) if a is None else a
    b = _exponents(k, w) if b is None else b
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        e = b[: i + 1] if causal else b
        if key_shift:
            e = e - e.max(1, keepdims=True)
        fq = np.exp(a[i] - (0 if stabiliser else a[i].max())) + stabiliser
        fk = np.exp(e - (0 if stabiliser else e.max())) + stabiliser
        p = fk @ fq
        o[i] = p @ d64(v[: len(e)]) / p.sum()
    return out(o)


@kernel(
    "correct",
    "quadratic: the weight of a pair is a sum of e^(a_ir + b_jr) over directions, with the largest sum of "
    "exponents of the row taken out (with a stabiliser, expanded into its four terms); float64",
)
def pairs_of_exponents(q, k, v, w, causal=False, stabiliser=0.0, chunk=8):
    a, b = _exponents(q, w), _exponents(k, w)
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        e = a[i][None] + (b[: i + 1] if causal else b)
        if stabiliser > 0:
            bb = b[: len(e)]
            p = (np.exp(e) + stabiliser * (np.exp(bb) + np.exp(a[i])[None]) + stabiliser * stabiliser).sum(1)
        else:
            p = np.exp(e - e.max()).sum(1)
        o[i] = (p / p.sum()) @ d64(v[: len(e)])
    return out(o)


@kernel("wrong", "each key has its own largest exponent subtracted")
def shift_per_key(q, k, v, w, causal=False, stabiliser=0.0, chunk=8):
    return _run(q, k, v, w, causal, stabiliser, key_shift=True)


@kernel("wrong", "the stabiliser is added after a shift by the largest exponent, as in the released code")
def stabiliser_after_shift(q, k, v, w, causal=False, stabiliser=0.0, chunk=8):
    a, b = _exponents(q, w), _exponents(k, w)
    fq, fk = np.exp(a - a.max(1, keepdims=True)) + stabiliser, np.exp(b - b.max()) + stabiliser
    p = fq @ fk.T
    p = np.tril(p) if causal else p
    with np.errstate(invalid="ignore", divide="ignore"):
        return out(p @ d64(v) / p.sum(1, keepdims=True))


@kernel("wrong", "the squared length in the exponent is that of x, not of x / d^(1/4)")
def length_unscaled(q, k, v, w, causal=False, stabiliser=0.0, chunk=8):
    def e(x):
        return d64(x) @ d64(w).T / x.shape[1] ** 0.25 - 0.5 * (d64(x) ** 2).sum(1, keepdims=True)

    return _run(q, k, v, w, causal, stabiliser, e(q), e(k))


@kernel(
    "wrong",
    "causal order is kept chunk by chunk only: within a chunk of `chunk` tokens a query sees the whole chunk where "
    "the sequence has more than one",
)
def whole_chunks(q, k, v, w, causal=False, stabiliser=0.0, chunk=8):
    o = _run(q, k, v, w, causal, stabiliser)
    n = q.shape[0]
    if causal and n > chunk:
        for i in range(n):
            e = min(n, (i // chunk + 1) * chunk)
            o[i] = _run(q[i : i + 1], k[:e], v[:e], w, False, stabiliser)[0]
    return o
