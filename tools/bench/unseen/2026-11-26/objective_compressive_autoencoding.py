# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.compressive_autoencoding"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _size(e, norm):
    s = (e * e).sum()
    return math.sqrt(s) if norm == "frobenius" else s if norm == "squared" else s / e.size


def _decode(c, w):
    return np.einsum("kf,ufg->kug", d64(c), d64(w))


@kernel(
    "correct",
    "one product with the decoder's matrices side by side, [f, c f], then an exact sum of the squares of its "
    "entries (fsum)",
)
def side_by_side(old, compressed, w, norm="frobenius"):
    k, c, f = old.shape
    g = (d64(compressed) @ d64(w).transpose(1, 0, 2).reshape(f, c * f)).reshape(k, c, f)
    s = math.fsum(float(x) ** 2 for x in (d64(old) - g).ravel())
    return out(math.sqrt(s) if norm == "frobenius" else s if norm == "squared" else s / old.size)


@kernel("wrong", "places of a block are decoded in reverse, as a flipped kernel of a convolution")
def flipped_places(old, compressed, w, norm="frobenius"):
    return out(_size(d64(old) - _decode(compressed, w[::-1]), norm))


@kernel("wrong", "the decoder's matrices are transposed, W_u C_j")
def transposed_matrices(old, compressed, w, norm="frobenius"):
    return out(_size(d64(old) - np.einsum("kf,ugf->kug", d64(compressed), d64(w)), norm))


@kernel("wrong", "squares are expanded, |O|^2 - 2 O.g + |g|^2, in float32, which cancels where the decoder is good")
def expanded_in_f32(old, compressed, w, norm="frobenius"):
    g = _decode(compressed, w).astype(F32)
    o = np.asarray(old, F32)
    s = (o * o).sum(dtype=F32) - F32(2) * (o * g).sum(dtype=F32) + (g * g).sum(dtype=F32)
    s = max(float(s), 0.0)
    return out(math.sqrt(s) if norm == "frobenius" else s if norm == "squared" else s / old.size)
