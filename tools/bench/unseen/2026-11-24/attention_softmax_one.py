# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.softmax_one"

F32 = np.float32
F64 = np.float64


def _plain(x, mask=None):
    l = x if mask is None else np.where(mask, x, x.dtype.type(-np.inf))
    top = l.max(1, keepdims=True, initial=0)
    e = np.exp(l - top)
    return e / (np.exp(-top) + e.sum(1, keepdims=True))


# category 4
@kernel(
    "wrong",
    "with a mask hidden logits are multiplied to 0, so that each of them adds e^0 to the denominator (its"
    " own weight is then set to 0)",
)
def hidden_counts_as_zero(x, mask=None):
    if mask is None:
        return _plain(x)
    l = np.where(mask, x, F32(0))
    top = l.max(1, keepdims=True, initial=0)
    e = np.exp(l - top)
    return np.where(mask, e / (np.exp(-top) + e.sum(1, keepdims=True)), F32(0))


# category 6
@kernel("wrong", "in rows whose largest visible logit is above 5 the 1 is taken to be negligible and left out")
def one_dropped_for_large(x, mask=None):
    l = x if mask is None else np.where(mask, x, F32(-np.inf))
    top = l.max(1, keepdims=True, initial=0)
    e = np.exp(l - top)
    return e / (np.where(top > 5, F32(0), np.exp(-top)) + e.sum(1, keepdims=True))


# category 3
@kernel(
    "wrong",
    "rows are reduced in tiles of 16 entries, and each tile's partial denominator brings its own 1 (more "
    "than one where s > 16)",
)
def one_per_tile(x, mask=None):
    l = x if mask is None else np.where(mask, x, F32(-np.inf))
    top = l.max(1, keepdims=True, initial=0)
    e = np.exp(l - top)
    tiles = max(1, -(-x.shape[1] // 16))
    return e / (F32(tiles) * np.exp(-top) + e.sum(1, keepdims=True))


# category 2
@kernel("wrong", "the running denominator is a float16 number, one entry added after the other")
def half_denominator(x, mask=None):
    l = x if mask is None else np.where(mask, x, F32(-np.inf))
    top = l.max(1, keepdims=True, initial=0)
    e = np.exp(l - top)
    den = np.exp(-top[:, 0]).astype(np.float16)
    for j in range(x.shape[1]):
        den = (den + e[:, j].astype(np.float16)).astype(np.float16)
    return e / den.astype(F32)[:, None]


@kernel(
    "correct",
    "through the log-sum-exp: lse from the last entry to the first by logaddexp, a = e^(x - softplus(lse)), in double",
)
def by_softplus(x, mask=None):
    l = x.astype(F64) if mask is None else np.where(mask, x, -np.inf).astype(F64)
    lse = np.full(len(l), -np.inf)
    for j in range(l.shape[1] - 1, -1, -1):
        lse = np.logaddexp(lse, l[:, j])
    return np.exp(l - np.logaddexp(0.0, lse)[:, None]).astype(F32)
