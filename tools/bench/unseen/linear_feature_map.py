# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.feature_map"

F32 = np.float32


def _right(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x.copy()


# category 2
@kernel(
    "wrong",
    "elu_plus_one is made as expm1(x) + 1 below 0: small features lose their digits and are 0 from about x = -17 on",
)
def expm1_plus_one(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return (np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + F32(1)).astype(F32)
    return _right(x, kind)


# category 5
@kernel("wrong", "elu_plus_one multiplies the exponential branch by 0.999 (ELU's alpha taken into e^x)")
def alpha_in_exponential(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, F32(0.999) * np.exp(np.minimum(x, 0))).astype(F32)
    return _right(x, kind)


# category 3
@kernel(
    "wrong",
    "each row is mapped four columns at a time: where d % 4 != 0 the columns that are left over (d > 4) "
    "are copied unmapped",
)
def leftover_columns_unmapped(x, kind="elu_plus_one"):
    out = _right(x, kind)
    d = x.shape[1]
    if d > 4 and d % 4:
        out[:, d - d % 4 :] = x[:, d - d % 4 :]
    return out


# category 4
@kernel("wrong", "exp clamps its argument to at most 10 (kind = exp, large values alone)")
def exp_clamped(x, kind="elu_plus_one"):
    if kind == "exp":
        return np.exp(np.minimum(x, F32(10)))
    return _right(x, kind)


# category 5
@kernel("wrong", "relu has a slope of 1e-3 below 0 (kind = relu)")
def leaky_relu(x, kind="elu_plus_one"):
    if kind == "relu":
        return np.where(x > 0, x, F32(1e-3) * x).astype(F32)
    return _right(x, kind)


# category 1
@kernel("wrong", "elu_plus_one switches branches at 1 in place of 0: e^x up to x = 1, x + 1 above")
def branch_at_one(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 1, x + 1, np.exp(np.minimum(x, F32(1)))).astype(F32)
    return _right(x, kind)


# category 2
@kernel(
    "wrong", "the exponential of a float64 kernel is made in float32 (elu_plus_one below 0, and exp)", profile="f64"
)
def single_exponential(x, kind="elu_plus_one"):
    def e(y):
        return np.exp(y.astype(F32)).astype(np.float64)

    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, e(np.minimum(x, 0)))
    return e(x) if kind == "exp" else _right(x, kind)


# correct
@kernel(
    "correct",
    "without a branch: max(x, 0) + e^min(x, 0), the exponential as 2^t with log2(e) split in two parts "
    "and rebuilt by ldexp",
)
def branchless_split_exp2(x, kind="elu_plus_one"):
    def exp(y):
        y = np.clip(y, F32(-104), F32(89))
        t = np.rint(y * F32(1.4426950408889634))
        r = (y - t * F32(0.693359375)) + t * F32(2.1219444005469057e-4)
        p = np.full_like(r, F32(1.9875691500e-4))
        for a in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
            p = p * r + F32(a)
        p = (p * r * r + r) + F32(1)
        with np.errstate(over="ignore"):
            return np.ldexp(p, t.astype(np.int32)).astype(F32)

    if kind == "elu_plus_one":
        return np.maximum(x, F32(0)) + exp(np.minimum(x, F32(0)))
    if kind == "relu":
        return (np.abs(x) + x) * F32(0.5)
    return exp(x) if kind == "exp" else +x


# correct
@kernel(
    "correct",
    "a bfloat16 kernel that computes e^x in float64 by squaring e^(x/8) three times and rounds once",
    profile="bf16",
)
def squared_thrice(x, kind="elu_plus_one"):
    y = np.asarray(x).astype(np.float64)

    def exp(t):
        with np.errstate(over="ignore"):
            e = np.exp(t / 8)
            e = e * e
            e = e * e
            return e * e

    if kind == "elu_plus_one":
        out = np.where(y > 0, y + 1, exp(np.minimum(y, 0)))
    elif kind == "relu":
        out = np.where(y > 0, y, 0.0)
    else:
        out = exp(y) if kind == "exp" else y
    with np.errstate(over="ignore"):
        return out.astype(x.dtype)
