# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.compressive_attention"

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


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _run(
    h, memory, compressed, w_q, w_k, w_v, distances, u, v, score, scale, far=None, see=None, rnd=None, pos_scale=True
):
    n, a, b, d = h.shape[0], memory.shape[0], compressed.shape[0], w_q.shape[1]
    scale = sc(scale, d)
    ht = np.concatenate([d64(compressed), d64(memory), d64(h)])
    q, k, val = d64(h) @ d64(w_q), ht @ d64(w_k), ht @ d64(w_v)
    if rnd is not None:
        val[: a + b] = rnd(val[: a + b])
    o = np.zeros((n, w_v.shape[1]))
    for i in range(n):
        js = np.arange(a + b + i + 1) if see is None else see(a, b, i)
        qu = q[i] + (0 if u is None else d64(u))
        l = k[js] @ qu * scale
        if score == "relative":
            off = a + b + i - js if far is None else far(a, b, i, js)
            l = l + d64(distances)[off] @ (q[i] + (0 if v is None else d64(v))) * (scale if pos_scale else 1.0)
        o[i] = soft(l) @ val[js]
    return out(o)


@kernel(
    "correct",
    "three softmaxes, one per source, joined by their log-sum-exps; the scores of distances by a product with the "
    "reversed table and a "
    "shift; queries are carried through w_k^T, so that keys are never formed; float64",
)
def joined_pieces(h, memory, compressed, w_q, w_k, w_v, distances=None, u=None, v=None, score="plain", scale=None):
    n, a, b, d = h.shape[0], memory.shape[0], compressed.shape[0], w_q.shape[1]
    scale = sc(scale, d)
    q = d64(h) @ d64(w_q)
    qk = (q if u is None else q + d64(u)) @ d64(w_k).T
    qp = None
    if score == "relative":
        qp = (q if v is None else q + d64(v)) @ d64(distances[: a + b + n]).T
    top, z, acc = np.full(n, -np.inf), np.zeros(n), np.zeros((n, h.shape[1]))
    for x, first in ((compressed, 0), (memory, b), (h, a + b)):
        if not len(x):
            continue
        l = qk @ d64(x).T
        j = first + np.arange(len(x))
        i = np.arange(n)[:, None]
        if qp is not None:
            l = l + qp[i, np.maximum(a + b + i - j[None], 0)]
        l = np.where(j[None] <= a + b + i, l * scale, -np.inf)
        new = np.maximum(top, l.max(1))
        f = np.exp(top - new)
        w = np.exp(l - new[:, None])
        z, acc, top = z * f + w.sum(1), acc * f[:, None] + w @ d64(x), new
    return out((acc / z[:, None]) @ d64(w_v))


@kernel(
    "wrong",
    "a compressed row counts as two places in the distances (the compression rate), bounded by the table's last row",
)
def compressed_counts_twice(
    h, memory, compressed, w_q, w_k, w_v, distances=None, u=None, v=None, score="plain", scale=None
):
    return _run(
        h,
        memory,
        compressed,
        w_q,
        w_k,
        w_v,
        distances,
        u,
        v,
        score,
        scale,
        far=lambda a, b, i, j: np.minimum(
            np.where(j >= b, a + b + i - j, a + i + 2 * (b - j) - 1 + 0 * j), len(distances) - 1
        ),
    )


@kernel("wrong", "the scale is a factor of the product with keys only: the part of the distances is added after it")
def distances_unscaled(h, memory, compressed, w_q, w_k, w_v, distances=None, u=None, v=None, score="plain", scale=None):
    return _run(h, memory, compressed, w_q, w_k, w_v, distances, u, v, score, scale, pos_scale=False)


@kernel("wrong", "u is left out under plain scores, as v is")
def plain_without_u(h, memory, compressed, w_q, w_k, w_v, distances=None, u=None, v=None, score="plain", scale=None):
    return _run(h, memory, compressed, w_q, w_k, w_v, distances, u if score == "relative" else None, v, score, scale)


@kernel(
    "wrong",
    "without compressed rows the causal mask is shifted by one: a token of the segment does not see itself, but "
    "for the first when there is no memory either",
)
def shifted_without_compressed(
    h, memory, compressed, w_q, w_k, w_v, distances=None, u=None, v=None, score="plain", scale=None
):
    return _run(
        h,
        memory,
        compressed,
        w_q,
        w_k,
        w_v,
        distances,
        u,
        v,
        score,
        scale,
        see=lambda a, b, i: np.arange(a + b + i + (1 if b or a + i == 0 else 0)),
    )
