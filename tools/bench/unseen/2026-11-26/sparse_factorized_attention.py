# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.factorized_attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def row64(q, k, v, scale):
    l = (d64(k) @ d64(q)) * scale
    w = np.exp(l - l.max())
    return w @ d64(v) / w.sum()


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _sets(patterns, mode, layer, head):
    p, n, _ = patterns.shape
    low = np.tril(np.ones((n, n), bool))
    if mode == "merged":
        return np.asarray(patterns, bool).any(0) & low
    return np.asarray(patterns[layer % p if mode == "interleaved" else head % p], bool) & low


@kernel(
    "correct",
    "per head the value and output projections are joined to one matrix first and queries and keys to another; "
    "heads are added last to first; float64",
)
def joined_projections(x, patterns, w_q, w_k, w_v, w_o, mode="merged", layer=0, scale=None):
    x = d64(x)
    o = np.zeros((x.shape[0], w_o.shape[2]))
    for h in range(w_q.shape[0] - 1, -1, -1):
        see = _sets(patterns, mode, layer, h)
        a = x @ (d64(w_q[h]) @ d64(w_k[h]).T) * sc(scale, w_q.shape[2])
        y = x @ (d64(w_v[h]) @ d64(w_o[h]))
        for i in range(x.shape[0]):
            j = np.flatnonzero(see[i])
            if j.size:
                o[i] += soft(x[j] @ a[i]) @ y[j]
    return out(o)


def _run(x, patterns, w_q, w_k, w_v, w_o, sets, scale):
    o = np.zeros((x.shape[0], w_o.shape[2]))
    for h in range(w_q.shape[0]):
        q, k, v = (d64(x) @ d64(w[h]) for w in (w_q, w_k, w_v))
        s = sets(h)
        for i in range(x.shape[0]):
            j = np.concatenate([np.flatnonzero(m[i]) for m in s])
            if j.size:
                o[i] += row64(q[i], k[j], v[j], sc(scale, w_q.shape[2])) @ d64(w_o[h])
    return out(o)


@kernel("wrong", "merged: a key that several factors hold counts once for each")
def merged_twice(x, patterns, w_q, w_k, w_v, w_o, mode="merged", layer=0, scale=None):
    low = np.tril(np.ones(patterns.shape[1:], bool))
    return _run(
        x,
        patterns,
        w_q,
        w_k,
        w_v,
        w_o,
        lambda h: [p & low for p in patterns] if mode == "merged" else [_sets(patterns, mode, layer, h)],
        scale,
    )


@kernel("wrong", "multi_head: heads are dealt out in runs, head h has the factor floor(h p / heads), not h mod p")
def heads_in_runs(x, patterns, w_q, w_k, w_v, w_o, mode="merged", layer=0, scale=None):
    p, h_ = patterns.shape[0], w_q.shape[0]
    return _run(
        x,
        patterns,
        w_q,
        w_k,
        w_v,
        w_o,
        lambda h: [_sets(patterns, mode, layer, h * p // h_ if mode == "multi_head" else h)],
        scale,
    )


@kernel("wrong", "interleaved layers beyond the number of factors keep the last factor instead of starting again")
def layer_clamped(x, patterns, w_q, w_k, w_v, w_o, mode="merged", layer=0, scale=None):
    return _run(
        x, patterns, w_q, w_k, w_v, w_o, lambda h: [_sets(patterns, mode, min(layer, patterns.shape[0] - 1), h)], scale
    )
