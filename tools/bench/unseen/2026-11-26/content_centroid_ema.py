# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.centroid_ema"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(mu, q, k, c_q, c_k, decay, reduce, empty, members=None, half=0.5, rnd=None):
    o = d64(mu).copy()
    for c in range(mu.shape[0]):
        a, b = d64(q[c_q == c]), d64(k[c_k == c])
        if not len(a) and not len(b):
            if empty == "decay":
                o[c] *= decay
            continue
        if reduce == "sum":
            x = half * (a.sum(0) + b.sum(0))
        else:
            parts = [p.mean(0) for p in (a, b) if len(p)]
            x = members(a, b) if members is not None else sum(parts) / len(parts)
        o[c] = decay * o[c] + (1 - decay) * (x if rnd is None else rnd(x))
    return out(o)


@kernel(
    "correct",
    "sums by a product with the one-hot matrix of the assignments and mu + (1 - decay) (target - mu) as an update; "
    "float64",
)
def one_hot_update(mu, q, k, c_q, c_k, decay=0.999, reduce="sum", empty="keep"):
    c = np.arange(mu.shape[0])[:, None]
    hq, hk = (c == np.asarray(c_q)[None]).astype(F64), (c == np.asarray(c_k)[None]).astype(F64)
    nq, nk = hq.sum(1), hk.sum(1)
    m = d64(mu)
    a, b = hq @ d64(q), hk @ d64(k)
    if reduce == "mean":
        a, b = a / np.maximum(nq, 1)[:, None], b / np.maximum(nk, 1)[:, None]
        t = (a + b) / np.maximum((nq > 0) * 1.0 + (nk > 0), 1)[:, None]
    else:
        t = 0.5 * (a + b)
    dead = (nq + nk == 0)[:, None] & (empty == "keep")
    return out(np.where(dead, m, m + (1 - decay) * (t - m)))


@kernel("wrong", "reduce = mean divides the sum of both by the number of members, queries and keys together")
def pooled_mean(mu, q, k, c_q, c_k, decay=0.999, reduce="sum", empty="keep"):
    return _run(mu, q, k, c_q, c_k, decay, reduce, empty, members=lambda a, b: np.concatenate([a, b]).mean(0))


@kernel("wrong", "of means, the one that is there alone has the weight (1 - decay) / 2")
def lone_mean_halved(mu, q, k, c_q, c_k, decay=0.999, reduce="sum", empty="keep"):
    return _run(
        mu,
        q,
        k,
        c_q,
        c_k,
        decay,
        reduce,
        empty,
        members=lambda a, b: 0.5 * (a.sum(0) / max(len(a), 1) + b.sum(0) / max(len(b), 1)),
    )


@kernel("wrong", "a cluster is taken for empty where it has no queries, keys or not")
def empty_without_queries(mu, q, k, c_q, c_k, decay=0.999, reduce="sum", empty="keep"):
    o = _run(mu, q, k, c_q, c_k, decay, reduce, empty)
    for c in range(mu.shape[0]):
        if not np.any(c_q == c):
            o[c] = mu[c] * (F32(decay) if empty == "decay" else F32(1))
    return o


@kernel(
    "wrong",
    "sums go to the clusters by fancy-index +=, which takes one member of each cluster only (queries; keys are right)",
)
def lost_updates(mu, q, k, c_q, c_k, decay=0.999, reduce="sum", empty="keep"):
    if reduce == "mean":
        return _run(mu, q, k, c_q, c_k, decay, reduce, empty)
    o = _run(mu, q[:0], k, np.asarray(c_q)[:0], c_k, decay, reduce, empty)
    o = d64(o)
    for c in range(mu.shape[0]):
        if np.any(c_q == c) and not np.any(c_k == c):
            o[c] = decay * d64(mu[c])
    s = np.zeros_like(o)
    s[c_q] += d64(q)
    return out(o + (1 - decay) / 2 * s)
