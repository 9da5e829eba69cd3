# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.memory_retrieve"

F32 = np.float32


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _quotient(num, den, zero_denominator="zero"):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


# category 1
@kernel(
    "wrong", "the division is by the sum of z times the sum of the query's features in place of their inner product"
)
def product_of_sums(q, memory, z, eps=0.0, feature_map="elu_plus_one"):
    f = _map(q, feature_map)
    return _quotient(f @ memory, f.sum(1) * z.sum() + F32(eps))


# category 2
@kernel("wrong", "the memory is read through bfloat16 (its copy on chip), z is read in float32")
def memory_through_bf16(q, memory, z, eps=0.0, feature_map="elu_plus_one", zero_denominator="zero"):
    import ml_dtypes

    f = _map(q, feature_map)
    M = memory.astype(ml_dtypes.bfloat16).astype(F32)
    return _quotient(f @ M, f @ z + F32(eps), zero_denominator)


# category 5
@kernel("wrong", "a constant of 1e-3 is added to every denominator beside eps")
def extra_constant(q, memory, z, eps=0.0, feature_map="elu_plus_one"):
    f = _map(q, feature_map)
    return (f @ memory) / (f @ z + F32(eps) + F32(1e-3))[:, None]


# category 3
@kernel("wrong", "rows in tiles of 32: tiles after the first divide by the denominators of the first (n > 32)")
def denominators_of_first_tile(q, memory, z, eps=0.0, feature_map="elu_plus_one"):
    f = _map(q, feature_map)
    den = f @ z + F32(eps)
    return _quotient(f @ memory, den[np.arange(len(q)) % 32])


# category 4
@kernel(
    "wrong",
    "a denominator of exactly 0, as with an empty memory (z all 0, eps = 0), gives NaN although "
    "zero_denominator is zero",
    params={"zero_denominator": "zero"},
)
def nan_when_empty(q, memory, z, eps=0.0, feature_map="elu_plus_one"):
    f = _map(q, feature_map)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (f @ memory) / (f @ z + F32(eps))[:, None]


# category 1
@kernel("wrong", "queries are scaled by 1/sqrt(d) before the feature map", layout="bhnd")
def queries_scaled(q, memory, z, eps=0.0, feature_map="elu_plus_one"):
    f = _map(q * F32(1 / np.sqrt(q.shape[-1])), feature_map)
    den = np.einsum("bhnd,bhd->bhn", f, z) + F32(eps)
    return _quotient(f @ memory, den)


# correct
@kernel(
    "correct",
    "[memory | z] is one matrix with z as its last column, and the features are never stored: column by "
    "column in float64, rounded once",
)
def augmented_columns(q, memory, z, eps=0.0, feature_map="elu_plus_one", zero_denominator="zero"):
    U = np.column_stack([memory, z]).astype(np.float64)
    acc = np.zeros((len(q), U.shape[1]))
    for j in range(q.shape[1]):
        acc += _map(q[:, j].astype(np.float64), feature_map)[:, None] * U[j]
    return _quotient(acc[:, :-1], acc[:, -1] + eps, zero_denominator).astype(F32)


# correct
@kernel(
    "correct",
    "features are divided by the denominator before the product with the memory, with e^x from 2^(x log2 "
    "e) where log2 e is a float32 and its rest",
    layout="bhnd",
)
def features_divided_first(q, memory, z, eps=0.0, feature_map="elu_plus_one", zero_denominator="zero"):
    def exp(x):
        whole = x * F32(1.4426950216)
        part = (x.astype(np.float64) * float(F32(1.4426950216)) - whole).astype(F32) + x * F32(1.9259629911e-8)
        return np.exp2(whole) * (F32(1) + part * F32(0.6931471806))

    if feature_map == "elu_plus_one":
        f = np.maximum(q, 0) + exp(np.minimum(q, 0))
    elif feature_map == "exp":
        f = exp(q)
    else:
        f = _map(q, feature_map)
    den = (f * z[:, :, None, :]).sum(-1) + F32(eps)
    dead = den == 0
    o = (f / np.where(dead, F32(1), den)[..., None]) @ memory
    o[dead] = 0 if zero_denominator == "zero" else np.nan
    return o
