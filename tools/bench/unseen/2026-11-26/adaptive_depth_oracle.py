# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.depth_oracle"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _f(log_p, logits, words, target):
    if target == "likelihood":
        return d64(log_p)
    return (np.argmax(logits, 2) == np.asarray(words)[None]).astype(F64)


def _ends(g):
    e = np.argmax(g, 1)
    return e + 1, out(np.eye(g.shape[1])[e])


def _run(log_p, logits, words, target, level, penalty, sigma, kappa=None, f=None, first=1):
    f = _f(log_p, logits, words, target) if f is None else f
    n, t = f.shape
    cost = penalty * (np.arange(n) + first)
    if level == "sequence":
        return _ends(np.tile(f.sum(1) - cost, (t, 1)))
    i = np.arange(t)
    k = np.exp(-((i[:, None] - i[None]) ** 2) / sigma) if kappa is None else kappa(i[:, None] - i[None])
    return _ends(k @ f.T - cost)


@kernel(
    "correct",
    "kappa is made for each distance once and f is convolved with it, diagonal by diagonal, nearest last; float64",
)
def by_diagonals(log_p=None, logits=None, words=None, target="likelihood", level="token", penalty=0.3, sigma=2.0):
    f = _f(log_p, logits, words, target)
    n, t = f.shape
    g = np.zeros((t, n))
    if level == "sequence":
        g += np.array([math.fsum(r) for r in f])
    else:
        for a in range(t - 1, -1, -1):
            k = math.exp(-a * a / sigma)
            g[: t - a] += k * f[:, a:].T
            if a:
                g[a:] += k * f[:, : t - a].T
    return _ends(g - penalty * np.arange(1, n + 1))


@kernel("wrong", "weights of neighbours fall with e^(-(t - u)^2 / (2 sigma^2)), as if sigma were a standard deviation")
def standard_deviation(log_p=None, logits=None, words=None, target="likelihood", level="token", penalty=0.3, sigma=2.0):
    return _run(log_p, logits, words, target, level, penalty, sigma, kappa=lambda x: np.exp(-(x**2) / (2 * sigma**2)))


@kernel("wrong", "only neighbours at distances up to 3 are summed, a truncated kernel, whatever sigma is")
def three_neighbours(log_p=None, logits=None, words=None, target="likelihood", level="token", penalty=0.3, sigma=2.0):
    return _run(
        log_p,
        logits,
        words,
        target,
        level,
        penalty,
        sigma,
        kappa=lambda x: np.where(abs(x) <= 3, np.exp(-(x**2) / sigma), 0),
    )


@kernel("wrong", "the penalty of the sequence is multiplied by its tokens, as if each paid")
def each_pays(log_p=None, logits=None, words=None, target="likelihood", level="token", penalty=0.3, sigma=2.0):
    t = log_p.shape[1] if target == "likelihood" else logits.shape[1]
    return _run(log_p, logits, words, target, level, penalty * (t if level == "sequence" else 1), sigma)


@kernel(
    "wrong", "target = correctness: a word counts as found where its logit equals the largest, also behind an equal one"
)
def last_of_equals(log_p=None, logits=None, words=None, target="likelihood", level="token", penalty=0.3, sigma=2.0):
    f = None
    if target == "correctness":
        w = np.take_along_axis(logits, np.asarray(words)[None, :, None].repeat(logits.shape[0], 0), 2)[:, :, 0]
        f = (w == logits.max(2)).astype(F64)
    return _run(log_p, logits, words, target, level, penalty, sigma, f=f)
