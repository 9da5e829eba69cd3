# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.density_kl"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


@kernel(
    "correct",
    "rho - 1 - ln(rho), by the series of x - ln(1 + x) where x = rho - 1 is within 0.05 of 0, and an exact sum; "
    "float64",
)
def series_near_one(variance, sigma_0=0.05):
    x = (d64(variance) - float(sigma_0) ** 2) / float(sigma_0) ** 2
    small = np.abs(x) < 0.05
    y = np.where(small, x, 0.0)
    s = np.zeros_like(y)
    for a in range(16, 1, -1):
        s = (1.0 if a % 2 == 0 else -1.0) / a + y * s
    rho = d64(variance) / float(sigma_0) ** 2
    z = np.where(small, y * y * s, x - np.log(np.where(small, 1.0, rho)))
    return out(0.5 * math.fsum(z))


@kernel("wrong", "sigma_0 is taken for the variance, not squared")
def sigma_not_squared(variance, sigma_0=0.05):
    r = d64(variance) / sigma_0
    return out(0.5 * (r - np.log(r) - 1).sum())


@kernel("wrong", "the mean over queries instead of the sum")
def mean_over_queries(variance, sigma_0=0.05):
    r = d64(variance) / sigma_0**2
    return out(0.5 * (r - np.log(r) - 1).mean() if r.size else 0.0)


@kernel("wrong", "ratios are clipped to 1e-3 .. 1e3 before the logarithm")
def clipped_ratio(variance, sigma_0=0.05):
    r = d64(variance) / sigma_0**2
    return out(0.5 * (r - np.log(np.clip(r, 1e-3, 1e3)) - 1).sum())
