# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "lowrank.fourier_features"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(x, w, sigma, angle=None, order="blocks", sin=np.sin, cos=np.cos):
    t = d64(x) @ d64(w).T / sigma
    t = t if angle is None else d64(angle(t))
    c = w.shape[0]
    if order == "pairs":
        return out(np.stack([sin(t), cos(t)], 2).reshape(len(t), 2 * c) / math.sqrt(c))
    return out(np.concatenate([sin(t), cos(t)], 1) / math.sqrt(c))


@kernel(
    "correct",
    "angles are reduced to turns first (rint of t / 2 pi, in float64) and sine and cosine come as parts of one "
    "complex exponential",
)
def complex_turns(x, w, sigma=1.0):
    t = (d64(x) / sigma) @ d64(w).T
    z = np.exp(1j * (t - 2 * math.pi * np.rint(t / (2 * math.pi)))) / math.sqrt(w.shape[0])
    return out(np.concatenate([z.imag, z.real], 1))


@kernel("wrong", "sine and cosine of a direction stand next to each other")
def interleaved(x, w, sigma=1.0):
    return _run(x, w, sigma, order="pairs")


@kernel("wrong", "the cosine is a polynomial of degree 8 after a reduction to -pi .. pi, off by 2e-2 near pi")
def short_cosine(x, w, sigma=1.0):
    def cos(t):
        r = (t - 2 * math.pi * np.rint(t / (2 * math.pi))) ** 2
        return 1 - r / 2 + r**2 / 24 - r**3 / 720 + r**4 / 40320

    return _run(x, w, sigma, cos=cos)


@kernel("wrong", "angles beyond 1000 are reduced with 2 pi written as 6.2832 (a fast sine)")
def rough_reduction(x, w, sigma=1.0):
    p = 6.2832
    return _run(x, w, sigma, angle=lambda t: np.where(np.abs(t) > 1000, t - p * np.rint(t / p), t))


@kernel("wrong", "angles are divided by sigma^2 where sigma is below 1")
def squared_width(x, w, sigma=1.0):
    return _run(x, w, sigma * sigma if sigma < 1 else sigma)
