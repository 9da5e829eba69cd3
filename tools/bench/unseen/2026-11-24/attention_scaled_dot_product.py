# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.scaled_dot_product"

F32 = np.float32
F64 = np.float64


def _seen(n, s, causal, left, right, mask, bias, shift=None):
    shift = s - n if shift is None else shift
    i, j = np.arange(n)[:, None], np.arange(s)[None]
    ok = np.ones((n, s), bool)
    if causal:
        ok &= j <= i + (s - n)
    if left >= 0:
        ok &= j >= i + shift - left
    if right >= 0:
        ok &= j <= i + shift + right
    if mask is not None:
        ok &= mask
    if bias is not None:
        ok &= bias != -np.inf
    return ok


def _logits(q, k, ok, bias, scale, softcap):
    l = (q @ k.T) * (1 / math.sqrt(q.shape[1]) if scale is None else float(scale))
    if softcap > 0:
        l = softcap * np.tanh(l / softcap)
    if bias is not None:
        l = l + bias
    return np.where(ok, l, -np.inf)


def _mix(w, ok, v):
    if np.isfinite(v).all():
        return w @ v
    return np.stack([w[i, ok[i]] @ v[ok[i]] for i in range(len(w))])


def _empty(o, ok, v, sink, empty_row):
    if sink is None and empty_row != "zero":
        none = ~ok.any(1)
        if none.any():
            o = np.array(o)
            o[none] = np.nan if empty_row == "nan" else v.mean(0)
    return o


def _weigh(l, ok, v, sink, empty_row):
    top = l.max(1, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(l - top)
    den = e.sum(1, keepdims=True)
    if sink is not None:
        den = den + np.exp(sink - top)
    return _empty(_mix(e / np.where(den == 0, 1, den), ok, v), ok, v, sink, empty_row)


def _plain(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    ok = _seen(len(q), len(k), causal, window_left, window_right, mask, bias)
    return _weigh(_logits(q, k, ok, bias, scale, softcap), ok, v, sink, empty_row).astype(q.dtype)


# category 3
@kernel(
    "wrong",
    "online softmax over tiles of 32 keys: when the last tile is partial and holds a new maximum, the "
    "accumulated numerator is not rescaled (the denominator is)",
)
def tail_tile_not_rescaled(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    n, s = len(q), len(k)
    ok = _seen(n, s, causal, window_left, window_right, mask, bias)
    l = _logits(q, k, ok, bias, scale, softcap)
    top = np.full((n, 1), -np.inf, F32) if sink is None else np.full((n, 1), sink, F32)
    den = np.zeros((n, 1), F32) if sink is None else np.ones((n, 1), F32)
    num = np.zeros((n, v.shape[1]), F32)
    for lo in range(0, s, 32):
        t = slice(lo, lo + 32)
        new = np.maximum(top, l[:, t].max(1, keepdims=True))
        base = np.where(np.isfinite(new), new, F32(0))
        c = np.exp(top - base)
        e = np.exp(l[:, t] - base)
        den = den * c + e.sum(1, keepdims=True)
        num = (num if lo and lo + 32 > s else num * c) + _mix(e, ok[:, t], v[t])
        top = new
    return _empty(num / np.where(den == 0, F32(1), den), ok, v, sink, empty_row).astype(F32)


# category 4
@kernel(
    "wrong",
    "with a window and s > n the window lies about key i and not about key i + (s - n), while the causal "
    "order is right",
)
def window_about_row_number(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    ok = _seen(len(q), len(k), causal, window_left, window_right, mask, bias, shift=0)
    return _weigh(_logits(q, k, ok, bias, scale, softcap), ok, v, sink, empty_row).astype(F32)


# category 7
@kernel(
    "wrong",
    "with fewer key heads than query heads each query head reads the sink at the number of its group, not at its own",
    layout="bhnd",
)
def sink_of_the_group(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    b, h = q.shape[:2]
    r = h // k.shape[1]

    def at(x, i, g):
        return None if x is None else x[min(i, x.shape[0] - 1), min(g, x.shape[1] - 1)]

    o = [
        [
            _plain(
                q[i, g],
                k[i, g // r],
                v[i, g // r],
                at(mask, i, g),
                at(bias, i, g),
                at(sink, i, g // r),
                scale,
                softcap,
                causal,
                window_left,
                window_right,
                empty_row,
            )
            for g in range(h)
        ]
        for i in range(b)
    ]
    return np.array(o).astype(F32)


# category 1
@kernel("wrong", "softcap: the raw products are capped and the scale is applied to the capped value")
def scale_after_cap(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    if not softcap > 0:
        return _plain(q, k, v, mask, bias, sink, scale, softcap, causal, window_left, window_right, empty_row)
    ok = _seen(len(q), len(k), causal, window_left, window_right, mask, bias)
    a = F32(1 / math.sqrt(q.shape[1]) if scale is None else scale)
    l = a * F32(softcap) * np.tanh((q @ k.T) / F32(softcap))
    if bias is not None:
        l = l + bias
    return _weigh(np.where(ok, l, -np.inf).astype(F32), ok, v, sink, empty_row).astype(F32)


@kernel(
    "correct",
    "keys split in odd shards of 13, each shard with its own base-2 log-sum-exp, shards merged afterwards"
    " with weights 2^(lse - lse_max), the sink as one more shard of no value, in double",
)
def split_keys_merged(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
    block=8,
):
    n, s, m = len(q), len(k), v.shape[1]
    L2E = math.log2(math.e)
    ok = _seen(n, s, causal, window_left, window_right, mask, bias)
    a = 1 / math.sqrt(q.shape[1]) if scale is None else float(scale)
    parts, lses = [], []
    for lo in range(0, s, 13):
        t = slice(lo, lo + 13)
        l = a * (k[t].astype(F64) @ q.T.astype(F64)).T
        if softcap > 0:
            l = float(softcap) * np.tanh(l / float(softcap))
        if bias is not None:
            l = l + bias[:, t].astype(F64)
        l = np.where(ok[:, t], l * L2E, -np.inf)
        top = l.max(1, keepdims=True)
        base = np.where(np.isfinite(top), top, 0)
        e = np.exp2(l - base)
        den = e.sum(1, keepdims=True)
        with np.errstate(divide="ignore"):
            lses.append(base + np.log2(den))
        parts.append(_mix(e, ok[:, t], v[t].astype(F64)) / np.where(den == 0, 1, den))
    if sink is not None:
        lses.append(np.full((n, 1), float(sink) * L2E))
        parts.append(np.zeros((n, m)))
    o = np.zeros((n, m))
    if lses:
        lse = np.stack(lses)
        top = lse.max(0)
        c = np.exp2(lse - np.where(np.isfinite(top), top, 0))
        t = c.sum(0)
        o = (c * np.stack(parts)).sum(0) / np.where(t == 0, 1, t)
    return _empty(o, ok, v.astype(F64), sink, empty_row).astype(F32)
