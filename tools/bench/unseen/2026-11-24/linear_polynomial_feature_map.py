# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.polynomial_feature_map"

F32 = np.float32
F64 = np.float64


def _symmetric(x, constant, root2=None, tile=None, order="row"):
    d = x.shape[1]
    root2 = x.dtype.type(math.sqrt(2.0) if root2 is None else root2)
    a, b = np.triu_indices(d, 1)
    if order == "column":
        by = np.lexsort((a, b))
        a, b = a[by], b[by]
    weight = np.full(len(a), root2, x.dtype)
    if tile is not None and d > tile:
        weight[a >= d // tile * tile] = 1
    parts = [x * x, x[:, a] * x[:, b] * weight]
    if constant > 0:
        parts += [x * x.dtype.type(math.sqrt(2.0 * constant)), np.full((len(x), 1), constant, x.dtype)]
    return np.concatenate(parts, 1)


def _full(x, constant):
    y = x
    if constant > 0:
        y = np.concatenate([x, np.full((len(x), 1), math.sqrt(constant), x.dtype)], 1)
    return (y[:, :, None] * y[:, None, :]).reshape(len(x), y.shape[1] ** 2)


def _plain(x, layout="symmetric", constant=0.0):
    return _full(x, constant) if layout == "full" else _symmetric(x, constant)


# category 5
@kernel("wrong", "symmetric: the weight of pairs is 1.41 in place of sqrt(2)")
def short_root(x, layout="symmetric", constant=0.0):
    return _full(x, constant) if layout == "full" else _symmetric(x, constant, 1.41)


# category 7
@kernel(
    "wrong",
    "symmetric: the pairs are stored by columns, 01, 02, 12, 03 .., as a packed upper triangle of BLAS "
    "(differs for d > 3)",
)
def packed_by_columns(x, layout="symmetric", constant=0.0):
    return _full(x, constant) if layout == "full" else _symmetric(x, constant, order="column")


# category 4
@kernel(
    "wrong", "full with a constant: constant itself stands beside x where sqrt(constant) should (right for constant 1)"
)
def constant_not_rooted(x, layout="symmetric", constant=0.0):
    return _full(x, constant * constant) if layout == "full" else _symmetric(x, constant)


# category 6
@kernel("wrong", "symmetric: pairs are sqrt(2 x_a^2 x_b^2), so that a negative product comes out positive")
def pairs_without_sign(x, layout="symmetric", constant=0.0):
    if layout == "full":
        return _full(x, constant)
    y = _symmetric(x, constant)
    d = x.shape[1]
    y[:, d : d * (d + 1) // 2] = np.abs(y[:, d : d * (d + 1) // 2])
    return y


@kernel(
    "correct",
    "both layouts out of one outer square of [x, sqrt(constant)] by an index table, features first "
    "(transposed), in double",
    profile="f64",
)
def out_of_one_square(x, layout="symmetric", constant=0.0):
    n, d = x.shape
    c = float(constant)
    y = x.T.astype(F64)
    if c > 0:
        y = np.concatenate([y, np.full((1, n), math.sqrt(c))])
    if layout == "full":
        return np.ascontiguousarray((y[:, None] * y[None]).reshape(len(y) ** 2, n).T)
    table = [(a, a, 1.0) for a in range(d)]
    table += [(a, b, math.sqrt(2)) for a in range(d) for b in range(a + 1, d)]
    rows = np.empty((d * (d + 1) // 2 + (d + 1 if c > 0 else 0), n))
    for f, (a, b, w) in enumerate(table):
        rows[f] = w * (y[a] * y[b])
    if c > 0:
        rows[len(table) : len(table) + d] = math.sqrt(2.0 * c) * y[:d]
        rows[-1] = c
    return np.ascontiguousarray(rows.T)
