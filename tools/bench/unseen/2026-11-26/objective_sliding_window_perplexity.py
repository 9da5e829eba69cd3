# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.sliding_window_perplexity"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _token(tokens, q, k, values, start, j, first, scale=None):
    if j == first:
        l = d64(start)
    else:
        a = soft(d64(k[first:j]) @ d64(q[j - 1]) * (1 / math.sqrt(q.shape[1]) if scale is None else scale))
        l = a @ d64(values[first:j])
    m = l.max()
    return m + math.log(np.exp(l - m).sum()) - l[int(tokens[j])]


def _run(tokens, q, k, values, start, window, stride, first=None, scored=None, div=None):
    t = len(tokens)
    s, n, done, e = 0.0, 0, 0, min(window, t)
    while True:
        lo = max(0, e - window) if first is None else first(e, window, done)
        for j in range(done if scored is None else scored(done, lo, e), e):
            s += _token(tokens, q, k, values, start, j, min(lo, j))
            n += 1
        done = e
        if e >= t:
            break
        e = min(e + stride, t)
    l = s / (t if div is None else div(n))
    with np.errstate(over="ignore"):
        return out(l), out(np.exp(l))


@kernel(
    "correct",
    "token by token: the window that scores token j is computed from j alone, e = w + ceil((j + 1 - w) / s) s "
    "bounded by T; online softmax backwards from the query; float64",
)
def window_from_token(tokens, q, k, values, start, window=72, stride=1):
    t, s = len(tokens), 1 / math.sqrt(q.shape[1])
    ls = []
    for j in range(t):
        e = min(window, t) if j < window else min(t, window - (-(j + 1 - window) // stride) * stride)
        first = max(0, e - window)
        if j == first:
            l = d64(start)
        else:
            m, z, acc = -math.inf, 0.0, np.zeros(values.shape[1])
            for i in range(j - 1, first - 1, -1):
                x = s * float(d64(q[j - 1]) @ d64(k[i]))
                g = max(m, x)
                f, b = (math.exp(m - g) if z else 0.0), math.exp(x - g)
                m, z, acc = g, z * f + b, acc * f + b * d64(values[i])
            l = acc / z
        d = l - l[int(tokens[j])]
        ls.append(d.max() + math.log(np.exp(d - d.max()).sum()))
    l = math.fsum(ls) / t
    with np.errstate(over="ignore"):
        return out(l), out(np.exp(l))


@kernel("wrong", "every token gets a full window of its own: the stride is ignored but for the number of windows")
def stride_ignored(tokens, q, k, values, start, window=72, stride=1):
    return _run(tokens, q, k, values, start, window, 1)


@kernel(
    "wrong",
    "the last window, where less than a stride is left, begins where a whole stride would put it: it is shorter than w",
)
def last_window_short(tokens, q, k, values, start, window=72, stride=1):
    def first(e, w, done):
        return max(0, done + stride - w) if done else 0

    return _run(tokens, q, k, values, start, window, stride, first=first)


@kernel("wrong", "the first token of the text is not scored, and the mean is over T - 1 tokens (one token: over 1)")
def first_not_scored(tokens, q, k, values, start, window=72, stride=1):
    return _run(
        tokens,
        q,
        k,
        values,
        start,
        window,
        stride,
        scored=lambda d, lo, e: d if d or len(tokens) == 1 else 1,
        div=lambda n: n,
    )


@kernel("wrong", "each window scores all of its tokens, and the mean is over what was scored")
def scores_everything(tokens, q, k, values, start, window=72, stride=1):
    return _run(tokens, q, k, values, start, window, stride, scored=lambda d, lo, e: lo, div=lambda n: n)
