# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.sinusoidal"

F32 = np.float32
F64 = np.float64


def _table(p, d, base, layout, timescale, single=False, lost=0):
    h = (d + 1) // 2
    m = np.arange(h)
    if timescale == "endpoint":
        w = float(base) ** (-m / (d / 2 - 1 + lost)) if d / 2 - 1 + lost else np.ones(h)
    else:
        w = float(base) ** (-2.0 * m / d)
    if single:
        w = w.astype(F32).astype(F64)
    a = np.outer(p, w)
    out = np.empty((len(a), d))
    if layout == "interleaved":
        out[:, 0::2], out[:, 1::2] = np.sin(a), np.cos(a[:, : d // 2])
    else:
        out[:, :h], out[:, h:] = np.sin(a), np.cos(a[:, : d // 2])
    return out


def _plain(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    return x + _table(start + np.arange(n), d, base, layout, timescale).astype(x.dtype)


# category 1
@kernel(
    "wrong",
    "the endpoint time scale has exponents m / (d/2): the last frequency is not 1/base but the one before it would be",
)
def endpoint_not_reached(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    return x + _table(start + np.arange(n), d, base, layout, timescale, lost=1).astype(F32)


# category 4
@kernel(
    "wrong", "layout half with an odd width has d // 2 sines and d // 2 + 1 cosines, the last cosine beyond the pairs"
)
def odd_half_split(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    if layout == "interleaved" or d % 2 == 0:
        return _plain(x, start, base, layout, timescale)
    a = np.outer(start + np.arange(n), float(base) ** (-2.0 * np.arange((d + 1) // 2) / d))
    return x + np.concatenate([np.sin(a[:, : d // 2]), np.cos(a)], 1).astype(F32)


# category 3
@kernel(
    "wrong",
    "blocks of 16 positions by angle addition from the block's first position; in the last partial block "
    "cos(A + B) has + sin A sin B",
)
def tail_block_sign(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    y = np.array(_plain(x, start, base, layout, timescale))
    if n % 16:
        lo = n // 16 * 16
        t = _table(start + lo - np.arange(n - lo), d, base, layout, timescale)
        cosines = slice(1, None, 2) if layout == "interleaved" else slice((d + 1) // 2, None)
        y[lo:, cosines] = x[lo:, cosines] + t[:, cosines].astype(F32)
    return y


# category 2
@kernel("wrong", "the frequencies are float32 numbers in a float64 kernel", profile="f64")
def single_frequencies(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    return x + _table(start + np.arange(n), d, base, layout, timescale, single=True)


@kernel(
    "correct",
    "angle addition: exact waves at every 13th position and for 13 small steps, their complex products in"
    " between, double",
)
def coarse_and_fine(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    h, few = d - d // 2, d // 2
    if timescale == "endpoint":
        e = np.arange(h) / (d / 2 - 1) if d > 2 else np.zeros(h)
    else:
        e = np.arange(0, 2 * h, 2) / d
    w = np.exp(-e * math.log(float(base)))
    coarse = np.exp(1j * np.outer(int(start) + 13 * np.arange(n // 13 + 1), w))
    fine = np.exp(1j * np.outer(np.arange(13), w))
    z = (coarse[:, None] * fine[None]).reshape(-1, h)[:n]
    y = x.astype(F64)
    if layout == "half":
        y[:, :h] += z.imag
        y[:, h:] += z.real[:, :few]
    else:
        y[:, ::2] += z.imag
        y[:, 1::2] += z.real[:, :few]
    return y.astype(F32)
