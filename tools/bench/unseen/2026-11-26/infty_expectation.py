# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infty.expectation"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


ERFC = np.vectorize(math.erfc, otypes=[float])


def between(a, b):
    """Phi(b) - Phi(a), a <= b"""
    h = math.sqrt(0.5)
    flip = (a + b) > 0
    lo, hi = np.where(flip, -b, a), np.where(flip, -a, b)
    return 0.5 * (ERFC(-hi * h) - ERFC(-lo * h))


def _parts(mu, sigma2, c, s):
    return d64(mu)[:, None], d64(sigma2)[:, None], d64(c)[None], d64(s)[None]


def _line(mu, v, c, s):
    t = v + s * s
    return np.exp(-0.5 * (mu - c) ** 2 / t) / np.sqrt(2 * math.pi * t)


@kernel(
    "correct",
    "one exponential of a logarithm: -(mu - c)^2 / 2t - ln(t) / 2 with the factor s sqrt(2 pi) folded in as ln s; the "
    "share inside from complementary error functions on the side of the smaller tail",
)
def in_logarithms(mu, sigma2, c, s, domain="real_line", normalised=True):
    mu, v, c, s = _parts(mu, sigma2, c, s)
    t = v + s * s
    e = -0.5 * (mu - c) ** 2 / t - 0.5 * np.log(t)
    e = e - 0.5 * math.log(2 * math.pi) if normalised else e + np.log(s)
    r = np.exp(e)
    if domain == "unit_interval":
        sd = np.sqrt(v) * s / np.sqrt(t)
        m = mu + (c - mu) * (v / t)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = between(-m / sd, (1 - m) / sd)
        r = r * np.where(sd > 0, share, ((mu >= 0) & (mu <= 1)) * 1.0)
    return out(r)


@kernel("wrong", "Phi is the tanh approximation that GELU uses, so the share inside [0, 1] is off by up to 3e-4")
def tanh_phi(mu, sigma2, c, s, domain="real_line", normalised=True):
    mu, v, c, s = _parts(mu, sigma2, c, s)
    r = _line(mu, v, c, s)
    if domain == "unit_interval":
        t = v + s * s
        m, w = (mu * s * s + c * v) / t, np.sqrt(v * s * s / t)

        def phi(z):
            return 0.5 * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = phi((1 - m) / w) - phi(-m / w)
        r = r * np.where(w > 0, share, (mu >= 0) & (mu <= 1))
    return out(r if normalised else r * s * math.sqrt(2 * math.pi))


@kernel(
    "wrong",
    "where sigma2 is 0 the share is taken as 1 also for a mean outside of [0, 1]: a guard against the division by 0",
)
def point_outside(mu, sigma2, c, s, domain="real_line", normalised=True):
    mu, v, c, s = _parts(mu, sigma2, c, s)
    r = _line(mu, v, c, s)
    if domain == "unit_interval":
        t = v + s * s
        m, w = (mu * s * s + c * v) / t, np.sqrt(v * s * s / t)
        with np.errstate(divide="ignore", invalid="ignore"):
            r = r * np.where(w > 0, between(-m / w, (1 - m) / w), 1.0)
    return out(r if normalised else r * s * math.sqrt(2 * math.pi))


@kernel("wrong", "the mean of the product of Gaussians has the weights swapped: (mu sigma2 + c s^2) / (sigma2 + s^2)")
def swapped_precisions(mu, sigma2, c, s, domain="real_line", normalised=True):
    mu, v, c, s = _parts(mu, sigma2, c, s)
    r = _line(mu, v, c, s)
    if domain == "unit_interval":
        t = v + s * s
        m, w = (mu * v + c * s * s) / t, np.sqrt(v * s * s / t)
        with np.errstate(divide="ignore", invalid="ignore"):
            r = r * np.where(w > 0, between(-m / w, (1 - m) / w), (mu >= 0) & (mu <= 1))
    return out(r if normalised else r * s * math.sqrt(2 * math.pi))


@kernel(
    "wrong",
    "Phi by the rational approximation of Abramowitz and Stegun 7.1.26 (errors up to 1.5e-7), in float64",
    "f64",
)
def rational_phi(mu, sigma2, c, s, domain="real_line", normalised=True):
    mu, v, c, s = _parts(mu, sigma2, c, s)
    r = _line(mu, v, c, s)
    if domain == "unit_interval":
        t = v + s * s
        m, w = (mu * s * s + c * v) / t, np.sqrt(v * s * s / t)

        def phi(z):
            x = np.abs(z) / math.sqrt(2)
            y = 1 / (1 + 0.3275911 * x)
            p = y * (0.254829592 + y * (-0.284496736 + y * (1.421413741 + y * (-1.453152027 + y * 1.061405429))))
            e = 1 - p * np.exp(-x * x)
            return 0.5 * (1 + np.sign(z) * e)

        with np.errstate(divide="ignore", invalid="ignore"):
            r = r * np.where(w > 0, phi((1 - m) / w) - phi(-m / w), (mu >= 0) & (mu <= 1))
    return r if normalised else r * s * math.sqrt(2 * math.pi)
