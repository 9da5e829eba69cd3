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


EQUATION = "attention.softmax_one"


def logits(x, mask):
    return x if mask is None else np.where(mask, x, -np.inf).astype(x.dtype)


@kernel(
    "correct",
    "online over tiles of 7 from the last entry to the first, starting from maximum 0 and sum 1 for the "
    "one, with Kahan summation within a tile's row of lanes",
)
def starts_from_one(x, mask=None):
    y = logits(x, mask)
    r, s = x.shape
    top = np.zeros(r, np.float32)
    total = np.ones(r, np.float32)
    lost = np.zeros(r, np.float32)
    for b in range(s, 0, -7):
        tile = y[:, max(0, b - 7) : b]
        new = np.maximum(top, tile.max(1))
        keep = np.exp(top - new)
        total, lost = total * keep, lost * keep
        for c in range(tile.shape[1]):
            term = np.exp(tile[:, c] - new) - lost
            t = total + term
            lost = (t - total) - term
            total = t
        top = new
    return np.exp(y - top[:, None]) * (1 / total)[:, None]


@kernel("wrong", "the 1 is added after the shift by the maximum of the row, where it should be e^-max")
def one_not_shifted(x, mask=None):
    y = logits(x, mask)
    top = y.max(1, keepdims=True)
    e = np.exp(y - np.where(np.isfinite(top), top, 0).astype(np.float32))
    return e / (np.float32(1) + e.sum(1, keepdims=True))


@kernel("wrong", "each tile of 64 entries brings its own 1 into the merged denominator; only for s > 64")
def one_per_tile(x, mask=None):
    y = logits(x, mask)
    top = np.maximum(y.max(1), 0)
    total = np.zeros(len(x), np.float32)
    for t in range(0, x.shape[1], 64):
        total = total + (np.exp(-top) + np.exp(y[:, t : t + 64] - top[:, None]).sum(1))
    return np.exp(y - top[:, None]) / total[:, None]


@kernel(
    "wrong",
    "the one is dropped where the maximum of a row exceeds 6, as too small to matter (it is up to 0.25 % "
    "of the denominator)",
)
def one_dropped(x, mask=None):
    y = logits(x, mask)
    top = np.maximum(y.max(1), 0)
    e = np.exp(y - top[:, None])
    one = np.where(top > 6, 0, np.exp(-top)).astype(np.float32)
    return e / (one + e.sum(1))[:, None]


@kernel("wrong", "the argument of the exponential, after the shift, is rounded to float16 in a float32 kernel")
def argument_f16(x, mask=None):
    y = logits(x, mask)
    top = np.maximum(y.max(1), 0)
    e = np.exp(f16(y - top[:, None]))
    return e / (np.exp(-top) + e.sum(1))[:, None]


CATEGORIES.update(one_not_shifted=1, one_per_tile=3, one_dropped=5, argument_f16=2)
