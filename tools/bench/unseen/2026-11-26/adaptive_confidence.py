# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.confidence"

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


@kernel(
    "correct",
    "response as (1 - e^(second - first)) / (sum of e^(x - first)) with expm1 from the two largest logits, found "
    "in one pass; the cosine from "
    "states divided by their largest entry; float64",
)
def from_logits(logits=None, before=None, after=None, kind="response"):
    if kind == "response":
        c = np.zeros(logits.shape[0])
        for r, x in enumerate(d64(logits)):
            a, b = -np.inf, -np.inf
            for y in x:
                a, b = (y, a) if y > a else (a, max(b, y))
            c[r] = -np.expm1(b - a) / np.exp(x - a).sum()
        return out(c)
    x, y = d64(before), d64(after)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = x / np.abs(x).max(1, keepdims=True), y / np.abs(y).max(1, keepdims=True)
        return out((x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)))


@kernel(
    "wrong",
    "the second largest is the largest of the entries that differ from the maximum: equal best ones have no gap of 0",
)
def distinct_second(logits=None, before=None, after=None, kind="response"):
    if kind == "saturation":
        return from_logits(logits, before, after, kind)
    c = []
    for x in d64(logits):
        p = soft(x)
        o = p[x != x.max()]
        c.append(p.max() - (o.max() if o.size else 0.0))
    return out(c)


@kernel(
    "wrong",
    "1e-6 is added to the product of the lengths, so a zero state has cosine 0 and short states too small a cosine",
)
def guarded_cosine(logits=None, before=None, after=None, kind="response"):
    if kind == "response":
        return from_logits(logits, before, after, kind)
    x, y = d64(before), d64(after)
    return out((x * y).sum(1) / (np.sqrt((x * x).sum(1) * (y * y).sum(1)) + 1e-6))


@kernel("wrong", "probabilities are normalised over the 64 largest logits only (a truncated vocabulary)")
def top_64(logits=None, before=None, after=None, kind="response"):
    if kind == "saturation":
        return from_logits(logits, before, after, kind)
    x = -np.sort(-d64(logits), axis=1)[:, :64]
    p = soft(x)
    return out(p[:, 0] - (p[:, 1] if p.shape[1] > 1 else 0.0))


@kernel("wrong", "a vocabulary of one word has c = 0")
def one_word(logits=None, before=None, after=None, kind="response"):
    c = from_logits(logits, before, after, kind)
    return np.zeros_like(c) if kind == "response" and logits.shape[1] == 1 else c
