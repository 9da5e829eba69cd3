# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


EQUATION = "attention.softmax"


def logits(x, mask):
    return x if mask is None else np.where(mask, x, -np.inf).astype(x.dtype)


def shifted(x):
    top = x.max(1)
    return np.where(np.isfinite(top), top, 0).astype(x.dtype)


def answer(a, total, top, empty_row):
    empty = total == 0
    fill = {"zero": 0, "nan": np.nan, "mean": 1 / a.shape[1]}[empty_row]
    lse = np.where(empty, -np.inf, top + np.log(np.where(empty, 1, total)))
    a = np.where(empty[:, None], fill, a / np.where(empty, 1, total)[:, None])
    return {"a": a.astype(np.float32), "lse": lse.astype(np.float32)}


@kernel(
    "correct",
    "base 2 with an integer for the maximum: the shift is the ceiling of the largest exponent, so that "
    "rescaling between tiles of 13 is exact by ldexp",
)
def integer_maximum(x, mask=None, empty_row="zero"):
    r, s = x.shape
    y = logits(x, mask)
    log2e = np.float32(1.4426950408889634)
    top = np.full(r, -np.inf)
    total = np.zeros(r, np.float32)
    for a in range(0, s, 13):
        new = np.maximum(top, np.ceil(y[:, a : a + 13] * log2e).max(1))
        step = np.where(np.isfinite(top) & np.isfinite(new), top - np.where(np.isfinite(new), new, 0), 0)
        total = np.ldexp(total, np.maximum(step, -300).astype(np.int32))
        safe = np.where(np.isfinite(new), new, 0)
        # the fraction in one rounding: x log2(e) - N
        e = np.exp2((y[:, a : a + 13].astype(np.float64) * 1.4426950408889634 - safe[:, None])).astype(np.float32)
        total = (total + e.sum(1)).astype(np.float32)
        top = new
    safe = np.where(np.isfinite(top), top, 0)
    a = np.exp2(y.astype(np.float64) * 1.4426950408889634 - safe[:, None]).astype(np.float32)
    return answer(a, total, safe * 0.6931471805599453, empty_row)


@kernel(
    "wrong",
    "the running sum is rounded to bfloat16 after every tile of 16 entries, weights and lse are made of "
    "it; float32 otherwise",
)
def running_sum_bf16(x, mask=None, empty_row="zero"):
    y = logits(x, mask)
    top = shifted(y)
    e = np.exp(y - top[:, None])
    total = np.zeros(len(x), np.float32)
    for t in range(0, x.shape[1], 16):
        total = bf16(total + e[:, t : t + 16].sum(1))
    return answer(e, total, top, empty_row)


@kernel(
    "wrong",
    "lse is left in base 2 (the log2 of the sum plus the scaled maximum), without the factor ln 2; the "
    "weights are right",
)
def lse_in_base_two(x, mask=None, empty_row="zero"):
    y = logits(x, mask)
    top = shifted(y)
    e = np.exp(y - top[:, None])
    out = answer(e, e.sum(1), top, empty_row)
    out["lse"] = out["lse"] * np.float32(1.4426950408889634)
    return out


@kernel(
    "wrong",
    "the maximum is taken over all entries, hidden ones included: a hidden entry that exceeds the visible"
    " ones by more than about 100 makes all weights underflow, and the row counts as empty",
)
def maximum_of_hidden(x, mask=None, empty_row="zero"):
    y = logits(x, mask)
    top = shifted(np.where(np.isfinite(x), x, -np.inf).astype(np.float32))
    e = np.exp(y - top[:, None])
    return answer(e, e.sum(1), top, empty_row)


@kernel(
    "wrong",
    "online sum over tiles of 32: the last partial tile updates the maximum without rescaling the sum so "
    "far; only for s > 32 with s % 32 != 0 and a maximum in the tail",
)
def tail_not_rescaled(x, mask=None, empty_row="zero"):
    y = logits(x, mask)
    r, s = x.shape
    top = np.full(r, -np.inf, np.float32)
    total = np.zeros(r, np.float32)
    for t in range(0, s, 32):
        tile = y[:, t : t + 32]
        new = np.maximum(top, tile.max(1))
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        if tile.shape[1] == 32:
            total = total * np.exp(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
        total = total + np.exp(tile - safe[:, None]).sum(1)
        top = new
    safe = np.where(np.isfinite(top), top, 0).astype(np.float32)
    return answer(np.exp(y - safe[:, None]), total, safe, empty_row)


@kernel(
    "wrong",
    "e^x is 2^n times a polynomial of degree 3 in the fraction, of relative error 1e-4 (good for "
    "bfloat16), in a float32 kernel",
)
def cubic_exponential(x, mask=None, empty_row="zero"):
    y = logits(x, mask)
    top = shifted(y)
    t = np.maximum((y - top[:, None]) * np.float32(1.4426950408889634), np.float32(-126))
    whole = np.floor(t)
    f = t - whole
    e = ((np.float32(0.07711909) * f + np.float32(0.22756439)) * f + np.float32(0.69514614)) * f + np.float32(1)
    e = np.where(np.isfinite(y), np.ldexp(e, whole.astype(np.int32)), 0).astype(np.float32)
    return answer(e, e.sum(1), top, empty_row)


CATEGORIES.update(running_sum_bf16=2, lse_in_base_two=1, maximum_of_hidden=4, tail_not_rescaled=3, cubic_exponential=5)
