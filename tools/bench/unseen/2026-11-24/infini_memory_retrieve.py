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
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _bf(a):
    b = np.ascontiguousarray(a, dtype=F32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)


def _divide(num, den, zero_denominator):
    t = num.dtype.type
    a = num / np.where(den == 0, t(1), den)
    return np.where(den == 0, t(np.nan if zero_denominator == "nan" else 0), a)


def _plain(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    p = _map(q, feature_map)
    return _divide(p @ memory, (p @ z)[:, None] + eps, zero_denominator)


# category 7 (stale buffer)
@kernel(
    "wrong",
    "tiles of 16 queries: the last tile, where it is partial, divides by the denominators that the tile "
    "before left in the buffer (n > 16, 16 does not divide n)",
    profile="bf16",
)
def stale_denominators(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    out = q.dtype
    q, memory, z = q.astype(F32), memory.astype(F32), z.astype(F32)
    p = _map(q, feature_map)
    den = (p @ z)[:, None] + F32(eps)
    n = len(q)
    if n > 16 and n % 16:
        lo = n // 16 * 16
        den = np.concatenate([den[:lo], den[lo - 16 : n - 16]])
    return _divide(p @ memory, den, zero_denominator).astype(out)


# category 5
@kernel("wrong", "the exponent of elu + 1 below 0 is clamped at -1.5, so that no feature is smaller than e^-1.5")
def elu_clamped(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    if feature_map == "elu_plus_one":
        q = np.maximum(q, F32(-1.5))
    return _plain(q, memory, z, feature_map, zero_denominator, eps)


# category 6
@kernel("wrong", "denominators are taken by magnitude: a negative one (feature map identity) turns the sign of its row")
def magnitude_of_denominator(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    p = _map(q, feature_map)
    return _divide(p @ memory, np.abs((p @ z)[:, None] + F32(eps)), zero_denominator)


# category 2
@kernel("wrong", "the memory matrix is read through a bfloat16 copy in a float32 kernel, z is not")
def memory_in_bfloat16(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    p = _map(q, feature_map)
    return _divide(p @ _bf(memory), (p @ z)[:, None] + F32(eps), zero_denominator)


@kernel(
    "correct",
    "z is one more column of the memory, transposed product, features added from the last to the first in double",
)
def z_as_a_column(q, memory, z, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    joined = np.concatenate([memory, z[:, None]], 1).astype(F64)
    p = _map(q.astype(F64), feature_map)
    acc = np.zeros((joined.shape[1], len(q)))
    for a in range(len(z) - 1, -1, -1):
        acc += np.outer(joined[a], p[:, a])
    return _divide(acc[:-1].T, acc[-1][:, None] + float(eps), zero_denominator).astype(F32)
