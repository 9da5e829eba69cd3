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


EQUATION = "positional.sinusoidal"


def frequencies(d, base, timescale):
    m = np.arange((d + 1) // 2)
    if timescale == "endpoint":
        return float(base) ** (-m / max(d / 2 - 1, 1))
    return float(base) ** (-2.0 * m / d)


def arrange(sines, cosines, d, layout):
    cosines = cosines[:, : d // 2]
    if layout == "half":
        return np.concatenate([sines, cosines], 1)
    out = np.empty((len(sines), d), sines.dtype)
    out[:, 0::2], out[:, 1::2] = sines, cosines
    return out


@kernel(
    "correct",
    "rotation recurrence in float64: the next row is the last one turned by w_m, anchored anew by sin and"
    " cos at every 50th row",
)
def recurrence(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    w = frequencies(d, base, timescale)
    z = np.empty((n, len(w)), complex)
    for i in range(n):
        z[i] = np.exp(1j * (int(start) + i) * w) if i % 50 == 0 else z[i - 1] * np.exp(1j * w)
    return x + f32(arrange(z.imag, z.real, d, layout))


@kernel(
    "wrong",
    "the exponent takes the number of the column in place of that of the pair, 2 c / d with c = 2m or 2m "
    "+ 1: frequencies fall twice as fast, and a cosine has another frequency than its sine; only "
    "timescale paper",
)
def column_as_pair(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = np.arange(n)[:, None] + int(start)
    w = frequencies(d, base, timescale)
    u = w
    if timescale == "paper":
        m = np.arange(len(w))
        w, u = float(base) ** (-4.0 * m / d), float(base) ** (-2.0 * (2 * m + 1) / d)
    return x + f32(arrange(np.sin(p * w), np.cos(p * u), d, layout))


@kernel(
    "wrong",
    "positions are held in float16 in a float32 kernel: those above 2048 are rounded to even ones; only "
    "for positions above 2048, by length or start",
)
def positions_f16(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = f16(np.arange(n) + int(start)).astype(np.float64)[:, None]
    w = frequencies(d, base, timescale)
    return x + f32(arrange(np.sin(p * w), np.cos(p * w), d, layout))


@kernel(
    "wrong",
    "in layout half the sines end at column d // 2 in place of ceil(d / 2): for odd d the sine without a "
    "cosine is left out and a cosine takes its column; only layout half with odd d",
)
def half_split_down(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = np.arange(n)[:, None] + int(start)
    w = frequencies(d, base, timescale)
    sines, cosines = np.sin(p * w), np.cos(p * w)
    if layout == "half":
        return x + f32(np.concatenate([sines[:, : d // 2], cosines], 1))
    return x + f32(arrange(sines, cosines, d, layout))


@kernel(
    "wrong",
    "timescale endpoint divides by d/2 in place of d/2 - 1, so that the last frequency is above 1/base; "
    "only timescale endpoint",
)
def endpoint_missed(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = np.arange(n)[:, None] + int(start)
    w = frequencies(d, base, "paper")
    return x + f32(arrange(np.sin(p * w), np.cos(p * w), d, layout))


@kernel(
    "wrong",
    "rows come in tiles of 128, and from the second tile on the position starts again at `start`, as the "
    "tile's own offset is forgotten; only for n > 128",
)
def tile_offset_forgotten(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = (np.arange(n) % 128)[:, None] + int(start)
    w = frequencies(d, base, timescale)
    return x + f32(arrange(np.sin(p * w), np.cos(p * w), d, layout))


@kernel("wrong", "in a float64 kernel the frequencies are float32 (powf), angles and waves are float64", profile="f64")
def f64_frequencies_in_f32(x, start=0, base=10000.0, layout="interleaved", timescale="paper"):
    n, d = x.shape
    p = np.arange(n)[:, None] + int(start)
    w = frequencies(d, base, timescale).astype(np.float32).astype(np.float64)
    return x + arrange(np.sin(p * w), np.cos(p * w), d, layout)


CATEGORIES.update(
    column_as_pair=1,
    positions_f16=2,
    half_split_down=4,
    endpoint_missed=5,
    tile_offset_forgotten=3,
    f64_frequencies_in_f32=2,
)
