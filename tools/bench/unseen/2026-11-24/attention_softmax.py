# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.softmax"

F32 = np.float32
F64 = np.float64


def _empty(a, lse, empty_row):
    none = lse == -np.inf
    value = 0.0 if empty_row == "zero" else np.nan if empty_row == "nan" else 1.0 / max(a.shape[1], 1)
    return np.where(none[:, None], a.dtype.type(value), a)


def _plain(x, mask=None, empty_row="zero"):
    l = x if mask is None else np.where(mask, x, x.dtype.type(-np.inf))
    top = l.max(1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    e = np.exp(l - base)
    t = e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (base + np.log(t))[:, 0]
    return _empty(e / np.where(t == 0, 1, t), lse, empty_row), lse


# category 5
@kernel(
    "wrong",
    "the exponent x - max is limited to -8 from below, so that no visible weight is smaller than e^-8 of the largest",
)
def exponent_floor(x, mask=None, empty_row="zero"):
    l = x if mask is None else np.where(mask, x, F32(-np.inf))
    top = l.max(1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, F32(0))
    e = np.where(l == -np.inf, F32(0), np.exp(np.maximum(l - base, F32(-8))))
    t = e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (base + np.log(t))[:, 0]
    return _empty(e / np.where(t == 0, F32(1), t), lse, empty_row), lse


# category 3
@kernel(
    "wrong",
    "vectors of 8: in the scalar tail (the last s mod 8 entries of a row) the mask is not looked at",
    profile="f16",
)
def tail_unmasked(x, mask=None, empty_row="zero"):
    if mask is not None:
        mask = mask.copy()
        mask[:, x.shape[1] // 8 * 8 :] = True
    a, lse = _plain(x.astype(F32), mask, empty_row)
    return a.astype(x.dtype), lse.astype(x.dtype)


# category 2
@kernel("wrong", "the exponential is the float32 one in a float64 kernel", profile="f64")
def single_exponential(x, mask=None, empty_row="zero"):
    l = x if mask is None else np.where(mask, x, -np.inf)
    top = l.max(1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0)
    e = np.exp((l - base).astype(F32)).astype(F64)
    t = e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (base + np.log(t))[:, 0]
    return _empty(e / np.where(t == 0, 1, t), lse, empty_row), lse


# category 6
@kernel(
    "wrong",
    "rows are shifted by the largest magnitude max |x| of the visible entries in place of max x: where "
    "the most negative entry is so far below that max |x| - max x is above about 90, the exponentials "
    "lose bits or all vanish",
)
def shifted_by_magnitude(x, mask=None, empty_row="zero"):
    l = x if mask is None else np.where(mask, x, F32(-np.inf))
    seen = np.isfinite(l)
    base = np.where(seen, np.abs(x), F32(0)).max(1, keepdims=True, initial=0)
    e = np.where(seen, np.exp(np.where(seen, l - base, F32(0))), F32(0))
    t = e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (base + np.log(t))[:, 0]
    return _empty(e / np.where(t == 0, F32(1), t), lse, empty_row), lse


@kernel(
    "correct",
    "log-sum-exps of single entries merged two by two from both ends inwards (a tree), then a = 2^((x - "
    "lse) log2 e), in double",
)
def tree_of_log_sums(x, mask=None, empty_row="zero"):
    r, s = x.shape
    l = x.astype(F64)
    if mask is not None:
        l = np.where(mask, l, -np.inf)
    level = l
    while level.shape[1] > 1:
        h = level.shape[1] // 2
        left, right = level[:, :h], level[:, ::-1][:, :h]
        hi, lo = np.maximum(left, right), np.minimum(left, right)
        safe = np.where(np.isfinite(hi), hi, 0)
        with np.errstate(invalid="ignore"):
            merged = np.where(np.isfinite(hi), safe + np.log1p(np.exp(lo - safe)), hi)
        level = merged if level.shape[1] % 2 == 0 else np.concatenate([merged, level[:, h : h + 1]], 1)
    lse = level[:, 0] if s else np.full(r, -np.inf)
    a = np.exp2((l - np.where(np.isfinite(lse), lse, 0)[:, None]) * math.log2(math.e))
    return {"a": _empty(a, lse, empty_row).astype(F32), "lse": lse.astype(F32)}
