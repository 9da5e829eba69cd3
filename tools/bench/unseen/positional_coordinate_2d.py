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


EQUATION = "positional.coordinate_2d"


def waves(p, d, base):
    """Sines and cosines of float64 angles, rows by position."""
    w = float(base) ** (-2.0 * np.arange((d + 1) // 2) / d)
    angle = np.asarray(p, np.float64)[:, None] * w
    out = np.empty((len(angle), d))
    out[:, 0::2] = np.sin(angle)
    out[:, 1::2] = np.cos(angle[:, : d // 2])
    return out


@kernel(
    "correct",
    "sum to product: sin a + sin b = 2 sin((a + b)/2) cos((a - b)/2), and so for the cosines, tables of "
    "half angles in float64",
)
def sum_to_product(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    w = float(base) ** (-2.0 * np.arange((d + 1) // 2) / d) / 2
    p = np.arange(n)[None, :, None] + int(position_start)
    u = np.arange(t)[:, None, None] + int(step_start)
    table = np.empty((t, n, d))
    common = 2 * np.cos((p - u) * w)
    table[..., 0::2] = np.sin((p + u) * w) * common
    table[..., 1::2] = (np.cos((p + u) * w) * common)[..., : d // 2]
    return x + table.astype(np.float32)


@kernel("wrong", "steps are counted from 0: step_start is ignored; only for step_start != 0, its default 1 included")
def steps_from_zero(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    return x + f32(waves(np.arange(n) + int(position_start), d, base)[None] + waves(np.arange(t), d, base)[:, None])


@kernel("wrong", "the angles p w and t w are rounded to float16 before sine and cosine in a float32 kernel")
def angles_f16(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    w = f32(float(base) ** (-2.0 * np.arange((d + 1) // 2) / d))

    def table(p):
        angle = f16(p.astype(np.float32)[:, None] * w)
        out = np.empty((len(p), d), np.float32)
        out[:, 0::2] = np.sin(angle)
        out[:, 1::2] = np.cos(angle[:, : d // 2])
        return out

    return x + table(np.arange(n) + int(position_start))[None] + table(np.arange(t) + int(step_start))[:, None]


@kernel(
    "wrong",
    "where d is odd the last column is a sum of cosines in place of sines: the sine of the pair without a"
    " partner is overwritten; only for odd d",
)
def odd_column_cosine(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    p, u = np.arange(n) + int(position_start), np.arange(t) + int(step_start)
    table = waves(p, d, base)[None] + waves(u, d, base)[:, None]
    if d % 2:
        w = float(base) ** (-(d - 1) / d)
        table[..., -1] = np.cos(p * w)[None] + np.cos(u * w)[:, None]
    return x + f32(table)


@kernel("wrong", "frequencies are 2^(-2m/d log2(base)) with log2(base) rounded to three decimals (13.288 for 10000)")
def log_base_truncated(x, position_start=0, step_start=1, base=10000.0):
    t, n, d = x.shape
    base = 2.0 ** np.round(np.log2(base), 3)
    p, u = np.arange(n) + int(position_start), np.arange(t) + int(step_start)
    return x + f32(waves(p, d, base)[None] + waves(u, d, base)[:, None])


CATEGORIES.update(steps_from_zero=1, angles_f16=2, odd_column_cosine=4, log_base_truncated=5)
