# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.attend"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def row64(q, k, v, scale):
    l = (d64(k) @ d64(q)) * scale
    w = np.exp(l - l.max())
    return w @ d64(v) / w.sum()


def row_online32(q, k, v, scale, tile=3):
    q = np.asarray(q, F32) * F32(scale)
    top, total, acc = F32(-np.inf), F32(0), np.zeros(v.shape[1], F32)
    for a in range(0, k.shape[0], tile):
        l = np.asarray(k[a : a + tile], F32) @ q
        new = max(top, l.max())
        f = np.exp(top - new) if np.isfinite(top) else F32(0)
        w = np.exp(l - new)
        total = total * f + w.sum(dtype=F32)
        acc = acc * f + w @ np.asarray(v[a : a + tile], F32)
        top = new
    return acc / total


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _lists(sets, counts, i):
    c = sets.shape[1] if counts is None else int(counts[i])
    return np.asarray(sets[i, :c], int)


@kernel(
    "correct",
    "a bitmap of the keys per query, read in ascending order in tiles of three by an online softmax, float32 "
    "throughout",
)
def bitmap_online(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    seen = np.zeros((q.shape[0], k.shape[0]), bool)
    for i in range(q.shape[0]):
        seen[i, _lists(sets, counts, i)] = True
    return rows(
        q,
        k,
        v,
        lambda i: np.flatnonzero(seen[i]),
        sc(scale, q.shape[1]),
        row_online32,
        0.0 if empty_row == "zero" else np.nan,
    )


@kernel("wrong", "an index is dropped as a repetition only where it equals the one just before it in the list")
def adjacent_repetitions(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    def see(i):
        j = _lists(sets, counts, i)
        return j[np.concatenate([[True], j[1:] != j[:-1]])] if j.size else j

    return rows(q, k, v, see, sc(scale, q.shape[1]), row64, 0.0 if empty_row == "zero" else np.nan)


@kernel("wrong", "repetitions are found within blocks of `block` places of a list only")
def repetitions_per_block(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    def see(i):
        j = _lists(sets, counts, i)
        return np.concatenate([np.unique(j[a : a + block]) for a in range(0, j.size, block)]) if j.size else j

    return rows(q, k, v, see, sc(scale, q.shape[1]), row64, 0.0 if empty_row == "zero" else np.nan)


@kernel(
    "wrong",
    "empty_row = nan is ignored where all queries of the call but this one see something: single empty rows get 0",
)
def single_empty_row(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    empty = sum(_lists(sets, counts, i).size == 0 for i in range(q.shape[0]))
    return rows(
        q,
        k,
        v,
        lambda i: np.unique(_lists(sets, counts, i)),
        sc(scale, q.shape[1]),
        row64,
        np.nan if empty_row == "nan" and (empty > 1 or q.shape[0] == 1) else 0.0,
    )


@kernel(
    "wrong",
    "the maximum starts from 0, not from -infinity: rows whose logits are all below about -100 underflow in "
    "float32 and come out as 0",
)
def maximum_from_zero(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    def row(a, b, c, s):
        l = (np.asarray(b, F32) @ np.asarray(a, F32)) * F32(s)
        w = np.exp(l - max(F32(0), l.max()))
        z = w.sum(dtype=F32)
        return w @ c / z if z > 0 else np.zeros(c.shape[1])

    return rows(
        q,
        k,
        v,
        lambda i: np.unique(_lists(sets, counts, i)),
        sc(scale, q.shape[1]),
        row,
        0.0 if empty_row == "zero" else np.nan,
    )


@kernel("wrong", "logits are accumulated in float32 although inputs are float64", "f64")
def float32_logits(q, k, v, sets, counts=None, scale=None, empty_row="zero", block=8):
    o = np.full((q.shape[0], v.shape[1]), 0.0 if empty_row == "zero" else np.nan)
    for i in range(q.shape[0]):
        j = np.unique(_lists(sets, counts, i))
        if j.size:
            l = sc(scale, q.shape[1]) * (k[j].astype(F32) @ q[i].astype(F32)).astype(F64)
            o[i] = soft(l) @ v[j]
    return o
