# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.rfa_attention"

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


def _phi(x, w, sigma):
    t = d64(x) @ d64(w).T / sigma
    return np.concatenate([np.sin(t), np.cos(t)], 1) / math.sqrt(w.shape[0])


def _run(q, k, v, w, sigma, causal, key_norm, zero_denominator, g=None, guard=None, weight=None):
    a, b = _phi(q, w, sigma), _phi(k, w, sigma)
    if g is None:
        g = 0.5 * (d64(k) ** 2).sum(1) / sigma**2 if key_norm == "corrected" else np.zeros(len(k))
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        e = i + 1 if causal else len(k)
        p = (b[:e] @ a[i]) * np.exp(g[:e] - g[:e].max())
        p = p if weight is None else weight(p)
        z = p.sum()
        if guard is not None:
            z = guard(z)
        if z == 0:
            o[i] = 0.0 if zero_denominator == "zero" else np.nan
        else:
            o[i] = p @ d64(v[:e]) / z
    return out(o)


@kernel(
    "correct",
    "weights as means of cos(w . (q - k) / sigma), from differences of the rows, one running sum (numerator, "
    "denominator) per query with the largest ln g so far taken out; float64",
)
def cosines_of_differences(q, k, v, w, sigma=1.0, causal=False, key_norm="none", chunk=8, zero_denominator="zero"):
    a, b = d64(q) @ d64(w).T / sigma, d64(k) @ d64(w).T / sigma
    g = 0.5 * ((d64(k) / sigma) ** 2).sum(1) if key_norm == "corrected" else np.zeros(len(k))
    o = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        e = i + 1 if causal else len(k)
        if e == 0:
            o[i] = 0.0 if zero_denominator == "zero" else np.nan
            continue
        p = np.cos(a[i][None] - b[:e]).mean(1) * np.exp(g[:e] - g[:e].max())
        z = math.fsum(p)
        o[i] = (p @ d64(v[:e])) / z if z else (0.0 if zero_denominator == "zero" else np.nan)
    return out(o)


@kernel("wrong", "denominators below 1e-3 are raised to 1e-3, negative ones too")
def clamped_denominator(q, k, v, w, sigma=1.0, causal=False, key_norm="none", chunk=8, zero_denominator="zero"):
    return _run(q, k, v, w, sigma, causal, key_norm, zero_denominator, guard=lambda z: max(z, 1e-3))


@kernel("wrong", "negative weights are cut off at 0")
def no_negative_weights(q, k, v, w, sigma=1.0, causal=False, key_norm="none", chunk=8, zero_denominator="zero"):
    return _run(q, k, v, w, sigma, causal, key_norm, zero_denominator, weight=lambda p: np.maximum(p, 0))


@kernel("wrong", "corrected keys are weighed by e^(|k|^2 / 2), without sigma")
def correction_without_sigma(q, k, v, w, sigma=1.0, causal=False, key_norm="none", chunk=8, zero_denominator="zero"):
    return _run(
        q,
        k,
        v,
        w,
        sigma,
        causal,
        key_norm,
        zero_denominator,
        g=0.5 * (d64(k) ** 2).sum(1) if key_norm == "corrected" else None,
    )


@kernel("wrong", "the sum of phi(k) starts anew at each chunk in causal order while that of phi(k) v^T is carried")
def denominator_restarts(q, k, v, w, sigma=1.0, causal=False, key_norm="none", chunk=8, zero_denominator="zero"):
    o = d64(_run(q, k, v, w, sigma, causal, key_norm, zero_denominator))
    if causal:
        a, b = _phi(q, w, sigma), _phi(k, w, sigma)
        g = 0.5 * (d64(k) ** 2).sum(1) / sigma**2 if key_norm == "corrected" else np.zeros(len(k))
        for i in range(chunk, len(o)):
            p = (b[: i + 1] @ a[i]) * np.exp(g[: i + 1] - g[: i + 1].max())
            o[i] *= p.sum() / p[i // chunk * chunk :].sum()
    return out(o)
