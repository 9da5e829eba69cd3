# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.etc_global_local"

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


def _window(n, g, w):
    i = np.arange(n)
    return (i[:, None] < g) | (i[None] < g) | (np.abs(i[:, None] - i[None]) <= w)


def _run(q, k, v, see, labels, table, g, pieces, scale, weight=None):
    n, d = q.shape
    scale = sc(scale, d)
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        parts = [np.flatnonzero(see[i])]
        if pieces == "per_piece":
            parts = [parts[0][parts[0] < g], parts[0][parts[0] >= g]]
        for a, j in enumerate(parts):
            if j.size:
                kk = d64(k[j]) + (0 if labels is None else d64(table)[labels[i, j]])
                x = row64(q[i], kk, v[j], scale)
                o[i] += x if weight is None else weight(i, a, j, x)
    return out(o)


@kernel(
    "correct",
    "one product of each query with the whole table, gathered by label and added to the logits; the long keys by "
    "their band, the global ones first, merged by an online softmax; float64",
)
def query_times_table(q, k, v, table, mask=None, labels=None, globals=2, radius=2, softmax="joint", scale=None):
    n, d = q.shape
    g, scale = globals, sc(scale, d)
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        qt = None if labels is None else d64(table) @ d64(q[i])
        band = range(g, n) if i < g else range(max(g, i - radius), min(n, i + radius + 1))
        m, z, acc, total = -np.inf, 0.0, np.zeros(v.shape[1]), np.zeros(v.shape[1])
        for j in list(range(g)) + [-1] + list(band):
            if j < 0:
                if softmax == "per_piece":
                    total = acc / z if z else acc
                    m, z, acc = -np.inf, 0.0, np.zeros(v.shape[1])
                continue
            if mask is not None and not mask[i, j]:
                continue
            l = scale * (float(d64(q[i]) @ d64(k[j])) + (0.0 if qt is None else qt[int(labels[i, j])]))
            new = max(m, l)
            f, e = (math.exp(m - new) if z else 0.0), math.exp(l - new)
            m, z, acc = new, z * f + e, acc * f + e * d64(v[j])
        o[i] = total + (acc / z if z else 0.0)
    return out(o)


@kernel(
    "wrong",
    "hidden pairs have 10000 subtracted from their logits instead of being left out: a query without visible keys "
    "gets what it would get without a mask",
)
def subtracts_10000(q, k, v, table, mask=None, labels=None, globals=2, radius=2, softmax="joint", scale=None):
    see = _window(q.shape[0], globals, radius)
    if mask is None:
        return _run(q, k, v, see, labels, table, globals, softmax, scale)
    vis = see & mask
    if softmax == "joint":
        dead = ~vis.any(1)
        vis[dead] = see[dead]
    else:
        for part in (slice(0, globals), slice(globals, None)):
            dead = ~vis[:, part].any(1)
            vis[dead, part] = see[dead, part]
    return _run(q, k, v, vis, labels, table, globals, softmax, scale)


@kernel("wrong", "per_piece: the two results are averaged where both kinds of keys are seen")
def averaged_pieces(q, k, v, table, mask=None, labels=None, globals=2, radius=2, softmax="joint", scale=None):
    see = _window(q.shape[0], globals, radius)
    see = see if mask is None else see & mask
    return _run(
        q,
        k,
        v,
        see,
        labels,
        table,
        globals,
        softmax,
        scale,
        weight=lambda i, a, j, x: (
            x / 2 if softmax == "per_piece" and see[i, :globals].any() and see[i, globals:].any() else x
        ),
    )


@kernel("wrong", "labels are those of the transposed pair, lab_ji")
def transposed_labels(q, k, v, table, mask=None, labels=None, globals=2, radius=2, softmax="joint", scale=None):
    see = _window(q.shape[0], globals, radius)
    see = see if mask is None else see & mask
    return _run(q, k, v, see, None if labels is None else labels.T, table, globals, softmax, scale)


@kernel(
    "wrong",
    "the first token of the long input counts the last global token into its window twice when the radius is at "
    "least 1 and there are globals: that key has double weight",
)
def global_in_window_twice(q, k, v, table, mask=None, labels=None, globals=2, radius=2, softmax="joint", scale=None):
    n, g = q.shape[0], globals
    see = _window(n, g, radius)
    see = see if mask is None else see & mask
    o = _run(q, k, v, see, labels, table, g, softmax, scale)
    if softmax == "joint" and 0 < g < n and radius >= 1 and see[g, g - 1]:
        j = np.append(np.flatnonzero(see[g]), g - 1)
        kk = d64(k[j]) + (0 if labels is None else d64(table)[labels[g, j]])
        o[g] = row64(q[g], kk, v[j], sc(scale, q.shape[1]))
    return o
