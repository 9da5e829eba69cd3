# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.compress"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def row64(q, k, v, scale):
    l = (d64(k) @ d64(q)) * scale
    w = np.exp(l - l.max())
    return w @ d64(v) / w.sum()


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def _cut(x, rate, remainder):
    n = x.shape[0]
    if remainder == "drop_newest":
        return x[: n - n % rate]
    if remainder == "pad_oldest_zero" and n % rate:
        return np.concatenate([np.zeros((rate - n % rate, *x.shape[1:]), x.dtype), x])
    return x


def _run(x, w, b, usage, kind, rate, dilation, pad, remainder, flip=False, cut=_cut, strict=False, edge=False):
    x = cut(x, rate, remainder)
    g, d = x.shape[0] // rate, x.shape[1]
    if kind == "most_used":
        u = usage[: x.shape[0]]
        order = np.argsort(-d64(u), kind="stable")[:g]
        return x[order if strict else np.sort(order)].copy()
    if kind in ("mean", "max"):
        z = d64(x[: g * rate]).reshape(g, rate, d)
        return out(z.mean(1) if kind == "mean" else z.max(1, initial=-np.inf))
    step, shift = (1, 0) if kind == "conv" else (dilation, pad)
    y = np.tile(d64(b), (g, 1))
    k = w.shape[0]
    for r in range(g):
        for t in range(k):
            j = r * rate + step * t - shift
            if edge:
                j = min(max(j, 0), x.shape[0] - 1)
            if 0 <= j < x.shape[0]:
                y[r] += d64(x[j]) @ d64(w[k - 1 - t if flip else t])
    return out(y)


@kernel(
    "wrong",
    "drop_newest drops rows before most_used chooses and before taps read, which its author took the text to say; "
    "tap by tap: for each t all rows with a strided slice and one product of matrices, padded up front; means as "
    "sums of strided "
    "slices in float64; most_used by a rank count (how many beat me), not by sorting",
)
def tap_by_tap(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    x = _cut(x, rate, remainder)
    n, d = x.shape
    g = n // rate
    if kind == "most_used":
        u = d64(usage[:n])
        keep = [i for i in range(n) if (u > u[i]).sum() + (u[:i] == u[i]).sum() < g]
        return x[keep].copy()
    if kind == "max":
        y = x[0 : g * rate : rate].copy()
        for t in range(1, rate):
            y = np.maximum(y, x[t : g * rate : rate])
        return y
    if kind == "mean":
        return out(sum(d64(x[t : g * rate : rate]) for t in range(rate)) / rate)
    step, before = (1, 0) if kind == "conv" else (dilation, pad)
    k = w.shape[0]
    reach = max(0, (g - 1) * rate + step * (k - 1) - before + 1 - n)
    z = np.concatenate([np.zeros((before, d)), d64(x), np.zeros((reach, d))])
    y = np.zeros((g, d)) + d64(b)
    for t in range(k):
        y += z[step * t : step * t + (g - 1) * rate + 1 : rate][:g] @ d64(w[t])
    return out(y)


@kernel("wrong", "dilated_conv repeats the first and the last row outside of the memory instead of zeros")
def edge_padding(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    return _run(x, w, b, usage, kind, rate, dilation, pad, remainder, edge=kind == "dilated_conv")


@kernel(
    "wrong",
    "where rate does not divide n, pad_oldest_zero puts the zeros behind the newest rows (max and mean of the last "
    "block change, blocks move)",
)
def pads_newest(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    def cut(x, rate, remainder):
        if remainder == "pad_oldest_zero" and x.shape[0] % rate:
            return np.concatenate([x, np.zeros((rate - x.shape[0] % rate, *x.shape[1:]), x.dtype)])
        return _cut(x, rate, remainder)

    return _run(x, w, b, usage, kind, rate, dilation, pad, remainder, cut=cut)


@kernel("wrong", "most_used gives its rows in descending order of usage")
def by_usage(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    return _run(x, w, b, usage, kind, rate, dilation, pad, remainder, strict=True)


@kernel("wrong", "the mean of a padded block divides by the rows that are really there, not by rate")
def mean_of_present(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    y = _run(x, w, b, usage, kind, rate, dilation, pad, remainder)
    r = x.shape[0] % rate
    if kind == "mean" and remainder == "pad_oldest_zero" and r:
        y[0] *= rate / r
    return y


@kernel(
    "wrong",
    "drop_newest drops rows before most_used chooses and before taps read, which its author took the text to say; "
    "float32 everywhere; a convolution as one product of unrolled blocks [g, k d] with the stacked matrices [k d, "
    "d]",
)
def unrolled_blocks(x, w=None, b=None, usage=None, kind="mean", rate=2, dilation=1, pad=0, remainder="error"):
    x = np.asarray(_cut(x, rate, remainder), F32)
    n, d = x.shape
    g = n // rate
    if kind == "most_used":
        keep = np.sort(np.argsort(-d64(usage[:n]), kind="stable")[:g])
        return x[keep].copy()
    if kind in ("mean", "max"):
        z = x[: g * rate].reshape(g, rate, d)
        return z.sum(1, dtype=F32) / F32(rate) if kind == "mean" else (z.max(1) if g else np.zeros((0, d), F32))
    step, shift = (1, 0) if kind == "conv" else (dilation, pad)
    k = w.shape[0]
    j = np.arange(g)[:, None] * rate + step * np.arange(k)[None] - shift
    inside = (j >= 0) & (j < n)
    z = np.where(inside[:, :, None], x[np.clip(j, 0, max(n - 1, 0))], F32(0)).astype(F32)
    return z.reshape(g, k * d) @ np.asarray(w, F32).reshape(k * d, -1) + np.asarray(b, F32)
