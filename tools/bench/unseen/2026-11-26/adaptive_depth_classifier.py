# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.depth_classifier"

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
    "sequence: the tokens are projected first, and the mean is taken of the logits of counted tokens; float64; "
    "padding is selected away, not multiplied by 0",
)
def mean_of_logits(x, w, b, counted=None, kind="sequence"):
    l, n = x.shape[0], w.shape[0]
    if kind == "token":
        return out(soft(d64(x) @ d64(w).T + d64(b)))
    on = np.ones(l, bool) if counted is None else np.asarray(counted, bool)
    z = (d64(x[on]) @ d64(w).T).sum(0) / max(int(on.sum()), 1) + d64(b)
    return np.tile(out(soft(z)), (l, 1)).reshape(l, n)


@kernel("wrong", "the sum over counted tokens is divided by all l tokens")
def mean_over_all(x, w, b, counted=None, kind="sequence"):
    l = x.shape[0]
    if kind == "token":
        return out(soft(d64(x) @ d64(w).T + d64(b)))
    on = np.ones(l, bool) if counted is None else np.asarray(counted, bool)
    return np.tile(out(soft(d64(w) @ (d64(x[on]).sum(0) / l) + d64(b))), (l, 1))


@kernel("wrong", "where no token counts the mean is that of all tokens")
def nothing_counts(x, w, b, counted=None, kind="sequence"):
    l = x.shape[0]
    if kind == "token":
        return out(soft(d64(x) @ d64(w).T + d64(b)))
    on = np.ones(l, bool) if counted is None or not np.any(counted) else np.asarray(counted, bool)
    return np.tile(out(soft(d64(w) @ d64(x[on]).mean(0) + d64(b))), (l, 1))


@kernel("wrong", "sequence: the mean is taken of the tokens' distributions, not of their states")
def mean_of_distributions(x, w, b, counted=None, kind="sequence"):
    p = soft(d64(x) @ d64(w).T + d64(b))
    if kind == "token":
        return out(p)
    on = np.ones(len(x), bool) if counted is None else np.asarray(counted, bool)
    return np.tile(out(p[on].mean(0) if on.any() else soft(d64(b))), (len(x), 1))


@kernel("wrong", "token: padding gets the distribution of a state of zeros, although `counted` has no part in it")
def token_reads_counted(x, w, b, counted=None, kind="sequence"):
    if kind == "sequence":
        return mean_of_logits(x, w, b, counted, kind)
    on = np.ones(len(x), bool) if counted is None else np.asarray(counted, bool)
    return out(soft(np.where(on[:, None], d64(x), 0) @ d64(w).T + d64(b)))


@kernel("correct", "float32 everywhere; the mean as a running mean over counted tokens")
def float32_running_mean(x, w, b, counted=None, kind="sequence"):
    x, w, b = (np.asarray(a, F32) for a in (x, w, b))

    def q(l):
        e = np.exp(l - l.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True, dtype=F32)

    if kind == "token":
        return q(x @ w.T + b)
    m, n = np.zeros(x.shape[1], F32), 0
    for t in range(len(x)):
        if counted is None or counted[t]:
            n += 1
            m = m + (x[t] - m) / F32(n)
    return np.tile(q(w @ m + b), (len(x), 1))
