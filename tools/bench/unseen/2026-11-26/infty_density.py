# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infty.density"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def basis(t, c, s):
    t, c, s = d64(t), d64(c), d64(s)
    z = (t[None, :] - c[:, None]) / s[:, None]
    return np.exp(-0.5 * z * z) / (s[:, None] * math.sqrt(2 * math.pi))


def _bias(b):
    return 0.0 if b is None else float(b)


@kernel(
    "correct",
    "weights over tokens are folded into those of the basis functions (w + psi v) and these into one vector of "
    "width d, so "
    "that each query costs two dot products; sigmoid and softplus from e^-|x|; float64 inside",
)
def folded_token_weights(q, k_b, w_mu, w_sigma, psi, v_mu, v_sigma, b_mu=None, b_sigma=None, kappa=1.0, min_sigma2=0.0):
    key = d64(k_b)
    m = key.T @ (d64(w_mu) + d64(psi) @ d64(v_mu))
    s = key.T @ (d64(w_sigma) + d64(psi) @ d64(v_sigma))
    a = kappa * (d64(q) @ m) + _bias(b_mu)
    b = kappa * (d64(q) @ s) + _bias(b_sigma)
    return out(sig(a)), out(np.maximum(np.maximum(b, 0) + np.log1p(np.exp(-np.abs(b))), min_sigma2))


@kernel("wrong", "the softplus is 0 instead of e^x below -8 (a cut-off that underflows too early), min_sigma2 or not")
def softplus_cut(q, k_b, w_mu, w_sigma, psi, v_mu, v_sigma, b_mu=None, b_sigma=None, kappa=1.0, min_sigma2=0.0):
    u = kappa * (d64(q) @ d64(k_b).T)
    t = u @ d64(psi)
    b = u @ d64(w_sigma) + t @ d64(v_sigma) + _bias(b_sigma)
    sp = np.where(b < -8, 0.0, np.logaddexp(0, b))
    return out(sig(u @ d64(w_mu) + t @ d64(v_mu) + _bias(b_mu))), out(np.maximum(min_sigma2, sp))


@kernel("wrong", "kappa is a factor of the part over basis functions alone, not of the weights over tokens")
def kappa_misses_tokens(q, k_b, w_mu, w_sigma, psi, v_mu, v_sigma, b_mu=None, b_sigma=None, kappa=1.0, min_sigma2=0.0):
    u = d64(q) @ d64(k_b).T
    t = u @ d64(psi)
    a = kappa * (u @ d64(w_mu)) + t @ d64(v_mu) + _bias(b_mu)
    b = kappa * (u @ d64(w_sigma)) + t @ d64(v_sigma) + _bias(b_sigma)
    return out(sig(a)), out(np.maximum(min_sigma2, np.logaddexp(0, b)))


@kernel("wrong", "the least variance is added to the softplus instead of bounding it from below")
def added_floor(q, k_b, w_mu, w_sigma, psi, v_mu, v_sigma, b_mu=None, b_sigma=None, kappa=1.0, min_sigma2=0.0):
    u = kappa * (d64(q) @ d64(k_b).T)
    t = u @ d64(psi)
    b = u @ d64(w_sigma) + t @ d64(v_sigma) + _bias(b_sigma)
    return out(sig(u @ d64(w_mu) + t @ d64(v_mu) + _bias(b_mu))), out(min_sigma2 + np.logaddexp(0, b))
