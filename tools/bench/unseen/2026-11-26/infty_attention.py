# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infty.attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def bf16(x):
    x = np.asarray(x, F32)
    u = np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.uint64)
    u = (u + 0x7FFF + ((u >> 16) & 1)) & 0xFFFF0000
    r = u.astype(np.uint32).view(F32).reshape(x.shape)
    return np.where(np.isfinite(x), r, x).astype(F32)


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


ERFC = np.vectorize(math.erfc, otypes=[float])


def between(a, b):
    """Phi(b) - Phi(a), a <= b"""
    h = math.sqrt(0.5)
    flip = (a + b) > 0
    lo, hi = np.where(flip, -b, a), np.where(flip, -a, b)
    return 0.5 * (ERFC(-hi * h) - ERFC(-lo * h))


def basis(t, c, s):
    t, c, s = d64(t), d64(c), d64(s)
    z = (t[None, :] - c[:, None]) / s[:, None]
    return np.exp(-0.5 * z * z) / (s[:, None] * math.sqrt(2 * math.pi))


def _r(mu, var, c, s, domain, normalised):
    mu, var, c, s = d64(mu)[:, None], d64(var)[:, None], d64(c)[None], d64(s)[None]
    t = var + s * s
    r = np.exp(-0.5 * (mu - c) ** 2 / t) / np.sqrt(2 * math.pi * t)
    if domain == "unit_interval":
        m, v = (mu * s * s + c * var) / t, var * s * s / t
        with np.errstate(divide="ignore", invalid="ignore"):
            share = between(-m / np.sqrt(v), (1 - m) / np.sqrt(v))
        r = r * np.where(v > 0, share, (mu >= 0) & (mu <= 1))
    return r if normalised else r * s * math.sqrt(2 * math.pi)


def _density(q, key, w_mu, w_sigma, b_mu, b_sigma, kappa, least):
    u = kappa * (d64(q) @ d64(key).T)
    a = u @ d64(w_mu) + (0.0 if b_mu is None else float(b_mu))
    b = u @ d64(w_sigma) + (0.0 if b_sigma is None else float(b_sigma))
    return sig(a), np.maximum(least, np.logaddexp(0.0, b))


@kernel(
    "correct",
    "keys of the basis are never formed: the weights are carried through coefficients and w_k first (two vectors of "
    "width d), and the coefficients are averaged before the projection to values; float64 inside",
)
def projected_weights(
    q,
    coefficients,
    w_k,
    w_v,
    w_mu,
    w_sigma,
    c,
    s,
    b_mu=None,
    b_sigma=None,
    kappa=1.0,
    min_sigma2=0.0,
    domain="real_line",
    normalised=True,
):
    co = d64(coefficients)
    pair = d64(w_k).T @ (co @ np.stack([d64(w_mu), d64(w_sigma)], 1))
    x = kappa * (d64(q) @ pair)
    a = x[:, 0] + (0.0 if b_mu is None else float(b_mu))
    b = x[:, 1] + (0.0 if b_sigma is None else float(b_sigma))
    r = _r(sig(a), np.maximum(min_sigma2, np.logaddexp(0.0, b)), c, s, domain, normalised)
    return out((r @ co.T) @ d64(w_v))


@kernel(
    "wrong", "the expectations r are divided by their sum over the basis functions, as if they were softmax weights"
)
def normalised_over_basis(
    q,
    coefficients,
    w_k,
    w_v,
    w_mu,
    w_sigma,
    c,
    s,
    b_mu=None,
    b_sigma=None,
    kappa=1.0,
    min_sigma2=0.0,
    domain="real_line",
    normalised=True,
):
    co = d64(coefficients)
    mu, v = _density(q, co.T @ d64(w_k), w_mu, w_sigma, b_mu, b_sigma, kappa, min_sigma2)
    r = _r(mu, v, c, s, domain, normalised)
    return out((r / r.sum(1, keepdims=True)) @ (co.T @ d64(w_v)))


@kernel("wrong", "min_sigma2 is applied before the softplus, to its argument, where it is above 0")
def floor_before_softplus(
    q,
    coefficients,
    w_k,
    w_v,
    w_mu,
    w_sigma,
    c,
    s,
    b_mu=None,
    b_sigma=None,
    kappa=1.0,
    min_sigma2=0.0,
    domain="real_line",
    normalised=True,
):
    co = d64(coefficients)
    u = kappa * (d64(q) @ (co.T @ d64(w_k)).T)
    a = u @ d64(w_mu) + (0.0 if b_mu is None else float(b_mu))
    b = u @ d64(w_sigma) + (0.0 if b_sigma is None else float(b_sigma))
    b = np.maximum(b, min_sigma2) if min_sigma2 > 0 else b
    r = _r(sig(a), np.logaddexp(0.0, b), c, s, domain, normalised)
    return out(r @ (co.T @ d64(w_v)))


@kernel("wrong", "the coefficients that are read for the values are rounded to bfloat16, the keys are exact")
def bf16_coefficients_of_values(
    q,
    coefficients,
    w_k,
    w_v,
    w_mu,
    w_sigma,
    c,
    s,
    b_mu=None,
    b_sigma=None,
    kappa=1.0,
    min_sigma2=0.0,
    domain="real_line",
    normalised=True,
):
    co = d64(coefficients)
    mu, v = _density(q, co.T @ d64(w_k), w_mu, w_sigma, b_mu, b_sigma, kappa, min_sigma2)
    r = _r(mu, v, c, s, domain, normalised)
    return out(r @ (d64(bf16(coefficients)).T @ d64(w_v)))
