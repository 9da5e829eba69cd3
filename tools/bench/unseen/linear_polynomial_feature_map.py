# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.polynomial_feature_map"

F32 = np.float32


def _right(x, layout, constant):
    n, d = x.shape
    t = x.dtype.type
    if layout == "full":
        y = x if constant == 0 else np.concatenate([x, np.full((n, 1), np.sqrt(constant), x.dtype)], 1)
        return (y[:, :, None] * y[:, None, :]).reshape(n, -1)
    a, b = np.triu_indices(d, 1)
    parts = [x * x, t(np.sqrt(2)) * x[:, a] * x[:, b]]
    if constant > 0:
        parts += [t(np.sqrt(2 * constant)) * x, np.full((n, 1), constant, x.dtype)]
    return np.concatenate(parts, 1)


# category 1
@kernel("wrong", "the cross terms of the symmetric layout have weight 2 in place of sqrt(2)")
def weight_two(x, layout="symmetric", constant=0.0):
    out = _right(x, layout, constant)
    d = x.shape[1]
    if layout == "symmetric":
        out[:, d : d + d * (d - 1) // 2] *= F32(np.sqrt(2))
    return out


# category 1
@kernel(
    "wrong",
    "the pairs of the symmetric layout stand in column order, 01, 02, 12, 03, ..: wrong places from d = 4"
    " on, with the right inner products",
)
def pairs_by_column(x, layout="symmetric", constant=0.0):
    if layout == "full":
        return _right(x, layout, constant)
    n, d = x.shape
    b, a = np.tril_indices(d, -1)
    parts = [x * x, F32(np.sqrt(2)) * x[:, a] * x[:, b]]
    if constant > 0:
        parts += [F32(np.sqrt(2 * constant)) * x, np.full((n, 1), constant, F32)]
    return np.concatenate(parts, 1)


# category 5
@kernel(
    "wrong",
    "the linear features of the symmetric layout have weight sqrt(2) constant in place of sqrt(2 "
    "constant) (constant neither 0 nor 1)",
)
def constant_outside_root(x, layout="symmetric", constant=0.0):
    out = _right(x, layout, constant)
    d = x.shape[1]
    if layout == "symmetric" and constant > 0:
        out[:, -1 - d : -1] = F32(np.sqrt(2) * constant) * x
    return out


# category 2
@kernel("wrong", "sqrt(2) is held as a float16 constant, 1.4141, in the cross terms (symmetric layout)")
def half_root_two(x, layout="symmetric", constant=0.0):
    if layout == "full":
        return _right(x, layout, constant)
    n, d = x.shape
    a, b = np.triu_indices(d, 1)
    parts = [x * x, F32(np.float16(np.sqrt(2))) * x[:, a] * x[:, b]]
    if constant > 0:
        parts += [F32(np.sqrt(2 * constant)) * x, np.full((n, 1), constant, F32)]
    return np.concatenate(parts, 1)


# category 4
@kernel("wrong", "for odd d > 1 the square of the last column is made from the column before it (full and symmetric)")
def odd_last_square(x, layout="symmetric", constant=0.0):
    out = _right(x, layout, constant)
    d = x.shape[1]
    if d > 1 and d % 2:
        width = d if constant == 0 else d + 1
        place = d - 1 if layout == "symmetric" else (d - 1) * width + (d - 1)
        out[:, place] = x[:, d - 2] * x[:, d - 2]
    return out


# correct
@kernel("correct", "a loop over pairs of columns that fills the output by a running index, in float64 and rounded once")
def running_index(x, layout="symmetric", constant=0.0):
    n, d = x.shape
    cols = [x[:, a].astype(np.float64) for a in range(d)]
    if constant > 0:
        cols.append(np.full(n, np.sqrt(float(constant))))
    out = []
    if layout == "full":
        for p in cols:
            out += [p * r for r in cols]
    else:
        out += [p * p for p in cols[:d]]
        for a in range(d):
            out += [cols[a] * (cols[b] * np.sqrt(2.0)) for b in range(a + 1, d)]
        if constant > 0:
            out += [np.sqrt(2.0) * p * cols[d] for p in cols[:d]] + [np.full(n, float(constant))]
    return np.stack(out, 1).astype(F32)


# correct
@kernel(
    "correct",
    "the symmetric layout folded out of the full square of [x, sqrt(constant)]: half sums of both "
    "triangles times sqrt(2), with the diagonal moved to the front",
    params={"layout": "symmetric"},
)
def folded_square(x, constant=0.0):
    n, d = x.shape
    y = x.astype(np.float64)
    full = np.einsum("na,nb->nab", y, y)
    a, b = np.triu_indices(d, 1)
    sym = [np.diagonal(full, axis1=1, axis2=2), (full[:, a, b] + full[:, b, a]) / np.sqrt(2.0)]
    if constant > 0:
        sym += [y * np.sqrt(2.0 * constant), np.full((n, 1), float(constant))]
    return np.concatenate(sym, 1).astype(F32)


# category 3
@kernel(
    "wrong",
    "the symmetric layout writes its features in vectors of 4: where their number is above 4 and not a "
    "multiple of 4, the last vector is shifted back to end with the array: it puts the last features too "
    "early and zeros after them",
    params={"layout": "symmetric"},
)
def last_vector_shifted(x, constant=0.0):
    right = _right(x, "symmetric", constant)
    c = right.shape[1]
    out = right.copy()
    if c > 4 and c % 4:
        out[:, c - 4 :] = 0
        rest = c % 4
        out[:, c - 4 : c - 4 + rest] = right[:, c - rest :]
    return out
