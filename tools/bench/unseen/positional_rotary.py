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


EQUATION = "positional.rotary"


def frequencies(w, base, scaling, factor, original_length, beta_fast, beta_slow, attention_factor, low, high):
    """theta and the factor of cosines and sines, in float64."""
    m = np.arange(w // 2)
    theta = float(base) ** (-2.0 * m / w) if w else np.zeros(0)
    if scaling == "linear":
        return theta / factor, 1.0
    if scaling == "ntk":
        return (base * factor ** (w / (w - 2))) ** (-2.0 * m / w), 1.0
    if scaling == "yarn":
        c = lambda r: w * np.log(original_length / (2 * np.pi * r)) / (2 * np.log(base))
        f, l = max(0, np.floor(c(beta_fast))), min(w - 1, np.ceil(c(beta_slow)))
        g = np.clip((m - f) / (l - f if l > f else 1e-3), 0, 1)
        a = 0.1 * np.log(factor) + 1 if attention_factor is None else attention_factor
        return (1 - g) * theta + g * theta / factor, a
    if scaling == "llama3":
        h = np.clip((original_length * theta / (2 * np.pi) - low) / (high - low), 0, 1)
        return (1 - h) * theta / factor + h * theta, 1.0
    return theta, 1.0


def pairs(x, w, pairing):
    if pairing == "half":
        return x[..., : w // 2], x[..., w // 2 : w]
    return x[..., 0:w:2], x[..., 1:w:2]


def join(x, a, b, w, pairing):
    y = np.array(x)
    if pairing == "half":
        y[..., : w // 2], y[..., w // 2 : w] = a, b
    else:
        y[..., 0:w:2], y[..., 1:w:2] = a, b
    return y


def rotate(x, cos, sin, w, pairing):
    a, b = pairs(x, w, pairing)
    return join(x, a * cos - b * sin, a * sin + b * cos, w, pairing)


@kernel(
    "correct",
    "angle addition: p = 256 hi + lo, cosines and sines of both parts from float64 tables, combined in "
    "float64 and rounded once",
)
def angle_addition(
    x,
    positions,
    base=10000.0,
    pairing="interleaved",
    rotary_width=0,
    scaling="none",
    factor=8.0,
    original_length=8192,
    beta_fast=32.0,
    beta_slow=1.0,
    attention_factor=None,
    low_frequency_factor=1.0,
    high_frequency_factor=4.0,
):
    w = int(rotary_width) or x.shape[1]
    theta, scale = frequencies(
        w,
        base,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
    )
    hi, lo = np.divmod(np.asarray(positions, np.int64), 256)
    big, small = np.exp(1j * (256 * hi)[:, None] * theta), np.exp(1j * lo[:, None] * theta)
    turn = big * small * scale
    return rotate(x, f32(turn.real), f32(turn.imag), w, pairing).astype(np.float32)


@kernel(
    "correct",
    "bfloat16 kernel that turns pairs as complex numbers by three shears (lifting) in float32, angles in "
    "float64 reduced to a quarter turn first, rounded once",
    profile="bf16",
)
def lifted_bf16(x, positions, base=10000.0, pairing="interleaved", rotary_width=0):
    w = int(rotary_width) or x.shape[1]
    theta = float(base) ** (-2.0 * np.arange(w // 2) / w)
    angle = np.asarray(positions, np.float64)[:, None] * theta
    quarter = np.rint(angle / (np.pi / 2))
    rest = angle - quarter * (np.pi / 2)
    quarter = quarter.astype(np.int64) % 4
    y = f32(x)
    a, b = pairs(y, w, pairing)
    c, s = np.array([1, 0, -1, 0], np.float32)[quarter], np.array([0, 1, 0, -1], np.float32)[quarter]
    a, b = a * c - b * s, a * s + b * c
    shear, sine = f32(-np.tan(rest / 2)), f32(np.sin(rest))
    a = a + shear * b
    b = b + sine * a
    a = a + shear * b
    return join(y, a, b, w, pairing).astype(x.dtype)


@kernel(
    "wrong",
    "half-split pairs are (m, m + d/2) in place of (m, m + w/2), so that coordinates beyond the rotary "
    "width are turned and some within are not; only pairing half with a rotary width below d",
)
def half_of_the_row(x, positions, base=10000.0, pairing="interleaved", rotary_width=0):
    d = x.shape[1]
    w = int(rotary_width) or d
    theta = float(base) ** (-2.0 * np.arange(w // 2) / w)
    angle = np.asarray(positions, np.float64)[:, None] * theta
    cos, sin = f32(np.cos(angle)), f32(np.sin(angle))
    if pairing == "interleaved":
        return rotate(x, cos, sin, w, pairing)
    y = x.copy()
    a, b = x[:, : w // 2], x[:, d // 2 : d // 2 + w // 2]
    y[:, : w // 2], y[:, d // 2 : d // 2 + w // 2] = a * cos - b * sin, a * sin + b * cos
    return y


@kernel(
    "wrong",
    "the inverse frequencies were cast to bfloat16 with the rest of the model, angles are float32 products of them",
    params={"scaling": "none"},
)
def frequencies_bf16(x, positions, base=10000.0, pairing="interleaved", rotary_width=0):
    w = int(rotary_width) or x.shape[1]
    theta = bf16(float(base) ** (-2.0 * np.arange(w // 2) / w))
    angle = np.asarray(positions).astype(np.float32)[:, None] * theta
    return rotate(x, np.cos(angle), np.sin(angle), w, pairing)


@kernel(
    "wrong",
    "yarn's attention factor multiplies the whole row, those coordinates included that pass through; only"
    " yarn with a rotary width below d and an attention factor other than 1",
)
def attention_factor_on_all(
    x,
    positions,
    base=10000.0,
    pairing="interleaved",
    rotary_width=0,
    scaling="none",
    factor=8.0,
    original_length=8192,
    beta_fast=32.0,
    beta_slow=1.0,
    attention_factor=None,
    low_frequency_factor=1.0,
    high_frequency_factor=4.0,
):
    w = int(rotary_width) or x.shape[1]
    theta, scale = frequencies(
        w,
        base,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
    )
    angle = np.asarray(positions, np.float64)[:, None] * theta
    return rotate(x, f32(np.cos(angle)), f32(np.sin(angle)), w, pairing) * np.float32(scale)


@kernel(
    "wrong",
    "ntk multiplies the base by the factor itself, without the exponent w / (w - 2); only scaling ntk "
    "with a factor above 1",
)
def ntk_without_exponent(
    x,
    positions,
    base=10000.0,
    pairing="interleaved",
    rotary_width=0,
    scaling="none",
    factor=8.0,
    original_length=8192,
    beta_fast=32.0,
    beta_slow=1.0,
    attention_factor=None,
    low_frequency_factor=1.0,
    high_frequency_factor=4.0,
):
    w = int(rotary_width) or x.shape[1]
    if scaling == "ntk":
        theta, scale = (float(base) * factor) ** (-2.0 * np.arange(w // 2) / w), 1.0
    else:
        theta, scale = frequencies(
            w,
            base,
            scaling,
            factor,
            original_length,
            beta_fast,
            beta_slow,
            attention_factor,
            low_frequency_factor,
            high_frequency_factor,
        )
    angle = np.asarray(positions, np.float64)[:, None] * theta
    return rotate(x, f32(np.cos(angle) * scale), f32(np.sin(angle) * scale), w, pairing)


@kernel(
    "wrong",
    "positions are taken as the first one plus the row's number; only where positions are not consecutive"
    " within an entry of the batch",
    layout="bhnd",
)
def consecutive_positions(x, positions, base=10000.0, pairing="interleaved", rotary_width=0):
    n, d = x.shape[-2:]
    w = int(rotary_width) or d
    theta = float(base) ** (-2.0 * np.arange(w // 2) / w)
    p = np.asarray(positions, np.int64)[..., :1] + np.arange(n)
    angle = p[..., None] * theta
    if p.ndim == 2:
        angle = angle[:, None]
    return rotate(x, f32(np.cos(angle)), f32(np.sin(angle)), w, pairing)


@kernel(
    "wrong",
    "in a float64 kernel the angles p theta are float32 products, sine and cosine of them are float64",
    profile="f64",
)
def f64_angles_in_f32(
    x,
    positions,
    base=10000.0,
    pairing="interleaved",
    rotary_width=0,
    scaling="none",
    factor=8.0,
    original_length=8192,
    beta_fast=32.0,
    beta_slow=1.0,
    attention_factor=None,
    low_frequency_factor=1.0,
    high_frequency_factor=4.0,
):
    w = int(rotary_width) or x.shape[1]
    theta, scale = frequencies(
        w,
        base,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
    )
    angle = (np.asarray(positions).astype(np.float32)[:, None] * theta.astype(np.float32)).astype(np.float64)
    return rotate(x, np.cos(angle) * scale, np.sin(angle) * scale, w, pairing)


CATEGORIES.update(
    half_of_the_row=4,
    frequencies_bf16=2,
    attention_factor_on_all=1,
    ntk_without_exponent=5,
    consecutive_positions=4,
    f64_angles_in_f32=2,
)
