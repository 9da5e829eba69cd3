# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.memory_update_delta"

F32 = np.float32
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _recall(p, memory, z, zero_denominator, eps):
    den = (p @ z)[:, None] + eps
    r = (p @ memory) / np.where(den == 0, 1, den)
    return np.where(den == 0, np.nan if zero_denominator == "nan" else 0.0, r).astype(p.dtype)


def _state(k, v, memory, z):
    d, m = k.shape[1], v.shape[1]
    return (np.zeros((d, m), k.dtype) if memory is None else memory), (np.zeros(d, k.dtype) if z is None else z)


def _plain(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    return memory + p.T @ (v - _recall(p, memory, z, zero_denominator, eps)), z + p.sum(0)


# category 1
@kernel("wrong", "r_t is divided by phi(k_t)^T z' + eps with the z that holds this segment already")
def divided_by_new_z(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    after = z + p.sum(0)
    return memory + p.T @ (v - _recall(p, memory, after, zero_denominator, F32(eps))), after


# category 3
@kernel(
    "wrong",
    "the segment is stored in tiles of 24 tokens, and tokens of the later tiles are compared with the "
    "memory that holds the earlier ones (n > 24)",
)
def tiles_see_each_other(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    for lo in range(0, len(k), 24):
        memory, z = _plain(k[lo : lo + 24], v[lo : lo + 24], memory, z, feature_map, zero_denominator, F32(eps))
    return np.array(memory), np.array(z)


# category 6
@kernel("wrong", "negative recalled entries are set to 0 before they are subtracted (values are taken to be positive)")
def recalled_at_least_zero(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    return memory + p.T @ (v - np.maximum(_recall(p, memory, z, zero_denominator, F32(eps)), 0)), z + p.sum(0)


# category 7
@kernel("wrong", "where d = m the memory is read transposed when it recalls (it is updated as it should)")
def recalls_transposed(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    read = memory.T if memory.shape[0] == memory.shape[1] else memory
    return memory + p.T @ (v - _recall(p, read, z, zero_denominator, F32(eps))), z + p.sum(0)


@kernel(
    "correct",
    "memory' = memory + phi^T v - (phi^T D phi) memory with D the reciprocal denominators: the recalled "
    "values are never formed; tokens in reversed blocks of 9, double",
)
def without_recalled_values(k, v, memory=None, z=None, feature_map="elu_plus_one", zero_denominator="zero", eps=0.0):
    memory, z = _state(k, v, memory, z)
    old, z0 = memory.astype(F64), z.astype(F64)
    d, m = old.shape
    gram, add, total = np.zeros((d, d)), np.zeros((d, m)), np.zeros(d)
    spoilt = np.zeros(d, bool)
    for hi in range(len(k), 0, -9):
        t = slice(max(hi - 9, 0), hi)
        p = _map(k[t].astype(F64), feature_map)
        den = p @ z0 + float(eps)
        dead = den == 0
        gram += (p.T * np.where(dead, 0.0, 1.0 / np.where(dead, 1.0, den))) @ p
        add += p.T @ v[t].astype(F64)
        total += p.sum(0)
        if zero_denominator == "nan" and dead.any():
            spoilt[:] = True
    new = np.where(spoilt[:, None], np.nan, old + add - gram @ old)
    return {"memory": new.astype(F32), "z": (z0 + total).astype(F32)}
