# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.perplexity"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


def _nll(x, c):
    x = d64(x)
    m = x.max(1)
    return m + np.log(np.exp(x - m[:, None]).sum(1)) - x[np.arange(len(x)), np.asarray(c, int)]


def _on(mask, t):
    return np.ones(t, bool) if mask is None else np.asarray(mask, bool)


@kernel(
    "correct",
    "online log-sum-exp over the vocabulary in tiles of seven, base 2 inside; perplexity is 2 to the mean in bits; "
    "float64",
)
def tiles_in_bits(logits, targets, mask=None):
    on = _on(mask, logits.shape[0])
    if not on.any():
        return out(np.nan), out(np.nan)
    x = d64(logits[on]) * (1 / math.log(2))
    c = np.asarray(targets)[on].astype(int)
    m, z = np.full(len(x), -np.inf), np.zeros(len(x))
    for a in range(0, x.shape[1], 7):
        g = np.maximum(m, x[:, a : a + 7].max(1))
        z = z * np.exp2(m - g) + np.exp2(x[:, a : a + 7] - g[:, None]).sum(1)
        m = g
    bits = float(np.mean((m - x[np.arange(len(x)), c]) + np.log2(z)))
    with np.errstate(over="ignore"):
        return out(bits * math.log(2)), out(np.exp2(bits))


@kernel("wrong", "perplexity is the mean of the tokens' perplexities, not e to the mean")
def mean_of_perplexities(logits, targets, mask=None):
    on = _on(mask, len(logits))
    if not on.any():
        return out(np.nan), out(np.nan)
    l = _nll(logits[on], np.asarray(targets)[on])
    return out(l.mean()), out(np.exp(l).mean())


@kernel(
    "wrong", "the last tile of 16 classes is only summed where it is full; a vocabulary shorter than 16 is one tile"
)
def last_tile_dropped(logits, targets, mask=None):
    on = _on(mask, len(logits))
    if not on.any():
        return out(np.nan), out(np.nan)
    v = logits.shape[1]
    x, c = d64(logits[on]), np.asarray(targets)[on].astype(int)
    e = v if v < 16 else v // 16 * 16
    m = x.max(1)
    l = m + np.log(np.exp(x[:, :e] - m[:, None]).sum(1)) - x[np.arange(len(x)), c]
    return out(l.mean()), out(np.exp(l.mean()))


@kernel(
    "wrong", "targets of uncounted tokens are ignored, but a counted token with target 0 is skipped as padding as well"
)
def zero_is_padding(logits, targets, mask=None):
    on = _on(mask, len(logits))
    if mask is not None:
        on = on & (np.asarray(targets) != 0)
    if not on.any():
        return out(np.nan), out(np.nan)
    l = _nll(logits[on], np.asarray(targets)[on]).mean()
    return out(l), out(np.exp(l))


@kernel("wrong", "perplexity is e to the nll rounded to float16")
def f16_nll(logits, targets, mask=None):
    on = _on(mask, len(logits))
    if not on.any():
        return out(np.nan), out(np.nan)
    l = _nll(logits[on], np.asarray(targets)[on]).mean()
    with np.errstate(over="ignore"):
        return out(l), out(np.exp(d64(f16(l))))


@kernel(
    "correct",
    "float32 everywhere: (max - x_c) first and then ln(1 + rest), the rest being the exponentials without the "
    "largest one's",
)
def float32_gap_first(logits, targets, mask=None):
    on = _on(mask, logits.shape[0])
    if not on.any():
        return out(np.nan), out(np.nan)
    x = np.asarray(logits[on], F32)
    m = x.max(1)
    rest = np.exp(x - m[:, None])
    rest[np.arange(len(x)), x.argmax(1)] = 0
    l = (m - x[np.arange(len(x)), np.asarray(targets)[on].astype(int)]) + np.log1p(rest.sum(1, dtype=F32))
    with np.errstate(over="ignore"):
        return l.mean(dtype=F32), np.exp(l.mean(dtype=F64)).astype(F32)


@kernel("correct", "float64, log-sum-exp by log-add-exp class after class; the mean as a running mean", "f64")
def running_mean(logits, targets, mask=None):
    on = _on(mask, logits.shape[0])
    m, n = float("nan"), 0
    for t in np.flatnonzero(on):
        x = logits[t] - logits[t, int(targets[t])]
        l = float(np.logaddexp.reduce(x))
        n += 1
        m = l if n == 1 else m + (l - m) / n
    return np.asarray(m), np.exp(np.asarray(m))
