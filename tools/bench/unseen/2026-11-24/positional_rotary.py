# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.rotary"

F32 = np.float32
F64 = np.float64


def _frequencies(w, base, scaling, factor, L, beta_fast, beta_slow, low, high, rounded=True):
    m = np.arange(w // 2)
    theta = float(base) ** (-2.0 * m / max(w, 1))
    s = float(factor)
    if scaling == "linear":
        return theta / s
    if scaling == "ntk":
        return (base * s ** (w / (w - 2))) ** (-2.0 * m / w)
    if scaling == "yarn":
        c = [w * math.log(L / (2 * math.pi * r)) / (2 * math.log(base)) for r in (beta_fast, beta_slow)]
        if rounded:
            c = [math.floor(c[0]), math.ceil(c[1])]
        f, l = max(c[0], 0), min(c[1], w - 1)
        g = np.clip((m - f) / max(l - f, 1e-3), 0, 1)
        return (1 - g) * theta + g * theta / s
    if scaling == "llama3":
        h = np.clip((L * theta / (2 * math.pi) - low) / (high - low), 0, 1)
        return (1 - h) * theta / s + h * theta
    return theta


def _rotate(
    x,
    positions,
    base,
    pairing,
    rotary_width,
    scaling,
    factor,
    L,
    beta_fast,
    beta_slow,
    attention_factor,
    low,
    high,
    hook="",
):
    n, d = x.shape
    w = rotary_width or d
    theta = _frequencies(w, base, scaling, factor, L, beta_fast, beta_slow, low, high, hook != "corners_not_rounded")
    if hook == "frequencies_bfloat16":
        b = theta.astype(F32).view(np.uint32)
        theta = (
            ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000))
            .view(F32)
            .astype(F64)
        )
    angle = np.outer(positions, theta)
    t = 1.0
    if scaling == "yarn":
        t = 0.1 * math.log(factor) + 1 if attention_factor is None else float(attention_factor)
    c, s = (t * np.cos(angle)).astype(x.dtype), (t * np.sin(angle)).astype(x.dtype)
    m = np.arange(w // 2)
    if pairing == "interleaved":
        a, b = 2 * m, 2 * m + 1
    else:
        a, b = m, m + (d // 2 if hook == "partner_half_a_row_away" else w // 2)
    y = np.array(x)
    y[:, a] = x[:, a] * c - x[:, b] * s
    y[:, b] = x[:, a] * s + x[:, b] * c
    return y


def _plain(
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
    return _rotate(
        x,
        positions,
        base,
        pairing,
        rotary_width,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
    )


# category 5
@kernel(
    "wrong",
    "yarn: the corners c(beta_fast) and c(beta_slow) of the ramp are used as they are, without floor and ceiling",
)
def corners_not_rounded(
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
    return _rotate(
        x,
        positions,
        base,
        pairing,
        rotary_width,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
        "corners_not_rounded",
    )


# category 4
@kernel(
    "wrong",
    "half-split pairs with a rotary width below d: the partner of coordinate m is m + d/2 and not m + w/2",
    profile="bf16",
)
def partner_half_a_row_away(
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
    return _rotate(
        x.astype(F32),
        positions,
        base,
        pairing,
        rotary_width,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
        "partner_half_a_row_away",
    ).astype(x.dtype)


# category 7
@kernel(
    "wrong",
    "every entry of the batch is turned by the positions of the first entry (batch > 1, positions that differ)",
    layout="bhnd",
)
def positions_of_first_entry(
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
    b, h = x.shape[:2]
    y = np.empty_like(x)
    for i in range(b):
        for g in range(h):
            y[i, g] = _rotate(
                x[i, g],
                positions[0, min(g, positions.shape[1] - 1)],
                base,
                pairing,
                rotary_width,
                scaling,
                factor,
                original_length,
                beta_fast,
                beta_slow,
                attention_factor,
                low_frequency_factor,
                high_frequency_factor,
            )
    return y


# category 2
@kernel("wrong", "the frequencies are held in bfloat16, so that angles are off by up to 1/256 of themselves")
def frequencies_bfloat16(
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
    return _rotate(
        x,
        positions,
        base,
        pairing,
        rotary_width,
        scaling,
        factor,
        original_length,
        beta_fast,
        beta_slow,
        attention_factor,
        low_frequency_factor,
        high_frequency_factor,
        "frequencies_bfloat16",
    )


@kernel(
    "correct",
    "pairs as complex numbers times e^(i p theta); frequencies in logarithms, the blends of yarn and "
    "llama3 as theta times (1 + (1/s - 1) share); double",
)
def complex_pairs(
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
    n, d = x.shape
    w = int(rotary_width) if rotary_width else d
    m = np.arange(w // 2, dtype=F64)
    lb, s = math.log(float(base)), float(factor)
    gain = 1.0
    if scaling == "ntk":
        lb += math.log(s) * w / (w - 2)
    theta = np.exp(-2.0 * m / max(w, 1) * lb)
    if scaling == "linear":
        theta = theta / s
    elif scaling == "yarn":

        def corner(turns):
            return w * math.log(float(original_length) / (2.0 * math.pi * turns)) / (2.0 * lb)

        first = max(math.floor(corner(float(beta_fast))), 0)
        last = min(math.ceil(corner(float(beta_slow))), w - 1)
        share = np.minimum(np.maximum((m - first) / (last - first if last > first else 1e-3), 0.0), 1.0)
        theta = theta * (1.0 + (1.0 / s - 1.0) * share)
        gain = 1.0 + 0.1 * math.log(s) if attention_factor is None else float(attention_factor)
    elif scaling == "llama3":
        waves = original_length / (2.0 * math.pi / theta)
        keep = np.minimum(
            np.maximum((waves - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0.0), 1.0
        )
        theta = theta * (1.0 + (1.0 / s - 1.0) * (1.0 - keep))
    turn = gain * np.exp(1j * np.outer(np.asarray(positions, F64), theta))
    y = x.astype(F64)
    part = np.ascontiguousarray(y[:, :w])
    if pairing == "interleaved":
        y[:, :w] = (part.view(np.complex128) * turn).view(F64)
    else:
        z = (part[:, : w // 2] + 1j * part[:, w // 2 :]) * turn
        y[:, :w] = np.concatenate([z.real, z.imag], 1)
    return y.astype(F32)
