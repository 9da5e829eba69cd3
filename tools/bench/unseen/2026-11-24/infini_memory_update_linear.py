# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.memory_update_linear"

F32 = np.float32
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _state(k, v, memory, z):
    d, m = k.shape[1], v.shape[1]
    return (np.zeros((d, m), k.dtype) if memory is None else memory), (np.zeros(d, k.dtype) if z is None else z)


def _plain(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    return memory + p.T @ v, z + p.sum(0)


# category 3
@kernel(
    "wrong",
    "the last block of 8 tokens is padded with keys of 0 before the map: phi(0) = 1 (elu_plus_one, exp) "
    "enters z for every token of padding",
)
def padding_enters_z(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    pad = -len(k) % 8
    k = np.concatenate([k, np.zeros((pad, k.shape[1]), F32)])
    v = np.concatenate([v, np.zeros((pad, v.shape[1]), F32)])
    return _plain(k, v, memory, z, feature_map)


# category 2
@kernel("wrong", "z is summed in float16, token after token, in a float32 kernel")
def z_in_half(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    acc = z.astype(np.float16)
    for row in p.astype(np.float16):
        acc = (acc + row).astype(np.float16)
    return memory + p.T @ v, acc.astype(F32)


# category 6
@kernel("wrong", "elu_plus_one between -0.7 and 0 uses the Taylor polynomial 1 + x + x^2 / 2 of e^x")
def taylor_below_zero(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    memory, z = _state(k, v, memory, z)
    p = _map(k, feature_map)
    if feature_map == "elu_plus_one":
        p = np.where((k < 0) & (k > F32(-0.7)), 1 + k + F32(0.5) * k * k, p)
    return memory + p.T @ v, z + p.sum(0)


# category 7
@kernel(
    "wrong",
    "the carried memory is always that of the first entry of the batch (batch > 1 with a carried state); "
    "z is the entry's own",
    layout="bhnd",
)
def memory_of_first_entry(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    p = _map(k, feature_map)
    pt = np.swapaxes(p, -1, -2)
    add, total = pt @ v, p.sum(-2)
    if memory is not None:
        add = add + memory[:1]
    if z is not None:
        total = total + z
    return add.astype(F32), total.astype(F32)


@kernel(
    "correct",
    "outer products of single tokens summed by pairs as in a carry-save counter (levels of a binary "
    "counter), z as the column of ones, the carried state added last, in double",
)
def binary_counter(k, v, memory=None, z=None, feature_map="elu_plus_one", block=4):
    d, m = k.shape[1], v.shape[1]
    levels = []
    p = _map(k.astype(F64), feature_map)
    v1 = np.concatenate([v.astype(F64), np.ones((len(v), 1))], 1)
    for t in range(len(k)):
        carry = np.outer(p[t], v1[t])
        at = 0
        while at < len(levels) and levels[at] is not None:
            carry = carry + levels[at]
            levels[at] = None
            at += 1
        if at == len(levels):
            levels.append(None)
        levels[at] = carry
    total = np.zeros((d, m + 1))
    for part in levels:
        if part is not None:
            total = total + part
    if memory is not None:
        total[:, :m] += memory
    if z is not None:
        total[:, m] += z
    return {"memory": total[:, :m].astype(F32), "z": total[:, m].astype(F32)}
