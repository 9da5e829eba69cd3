# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.lsh_hash"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


def _first_of(y):
    return np.argmax(np.concatenate([y, -y], 1), 1)


@kernel(
    "correct",
    "one running maximum over the columns of y and then over those of -y, columns computed one at a time in "
    "float64; the first of equal ones stays",
)
def column_by_column(x, r):
    best, h = np.full(x.shape[0], -np.inf), np.zeros(x.shape[0], np.int64)
    c = r.shape[1]
    ys = [d64(x) @ d64(r[:, a]) for a in range(c)]
    for t, y in enumerate(ys + [-y for y in ys]):
        win = y > best
        best[win], h[win] = y[win], t
    return h


@kernel("wrong", "the sign is interleaved: bucket 2 t for y_t and 2 t + 1 for -y_t")
def interleaved_signs(x, r):
    h = _first_of(d64(x) @ d64(r))
    c = r.shape[1]
    return np.where(h < c, 2 * h, 2 * (h - c) + 1)


@kernel("wrong", "of equal entries the last counts: a token of zeros is in bucket 2 c - 1")
def last_of_equals(x, r):
    y = d64(x) @ d64(r)
    z = np.concatenate([y, -y], 1)
    return z.shape[1] - 1 - np.argmax(z[:, ::-1], 1)


@kernel(
    "wrong",
    "directions and tokens are rounded to float16 for the product, so some tokens near a border change their bucket",
)
def f16_product(x, r):
    return _first_of(d64(f16(x)) @ d64(f16(r)))


@kernel("wrong", "directions are brought to unit length first, column by column")
def unit_directions(x, r):
    d = d64(r)
    return _first_of(d64(x) @ (d / np.maximum(np.sqrt((d * d).sum(0)), 1e-30)))


@kernel(
    "correct",
    "float32 product; the largest |y| decides and its sign gives the half, where equal magnitudes of either sign "
    "prefer the first half",
)
def by_magnitude(x, r):
    y = np.asarray(x, F32) @ np.asarray(r, F32)
    c = y.shape[1]
    up, down = y.argmax(1), y.argmin(1)
    i = np.arange(len(y))
    return np.where(y[i, up] >= -y[i, down], up, c + down)
