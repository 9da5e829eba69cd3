# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "content.routing_attention"

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


def row_exp2(q, k, v, scale):
    l = d64(k) @ (d64(q) * (scale * 1.4426950408889634))
    w = np.exp2(l - l.max())
    return (w / w.sum()) @ d64(v)


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def _norm(x, normalise, eps, ddof=0):
    x = d64(x)
    if normalise == "layer_norm":
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, ddof=ddof, keepdims=True) + eps)
    if normalise == "unit":
        l = np.sqrt((x * x).sum(1, keepdims=True))
        return np.divide(x, l, out=np.zeros_like(x), where=l > 0)
    return x


def _run(
    q,
    k,
    v,
    mu,
    assign,
    width,
    normalise,
    eps,
    causal,
    scale,
    empty_row,
    norm=_norm,
    mix="mean",
    hide_choice=False,
    attend=None,
):
    n, d = q.shape
    k = q if k is None else k
    scale = sc(scale, d)
    pq, pk = norm(q, normalise, eps) @ d64(mu).T, norm(k, normalise, eps) @ d64(mu).T
    bad = 0.0 if empty_row == "zero" else np.nan
    qa, ka = (q, k) if attend is None else attend(q, k)
    if assign == "argmax":
        a, b = pq.argmax(1), pk.argmax(1)
        return rows(
            qa, ka, v, lambda i: np.flatnonzero((b == a[i]) & ((np.arange(n) <= i) | (not causal))), scale, row64, bad
        )
    w = min(n, width if width else -(-n // mu.shape[0]))
    acc, cnt = np.zeros((n, v.shape[1])), np.zeros(n)
    for c in range(mu.shape[0]):
        tq = np.argsort(-pq[:, c], kind="stable")[:w]
        tk = np.argsort(-pk[:, c], kind="stable")[:w]
        for i in tq:
            j = tk[(tk <= i) | (not causal)]
            if j.size:
                x = row64(qa[i], ka[j], v[j], scale)
                if mix == "last":
                    acc[i], cnt[i] = x, 1
                elif mix == "sum":
                    acc[i] += x
                    cnt[i] = 1
                else:
                    acc[i] += x
                    cnt[i] += 1
    o = np.full(acc.shape, bad)
    o[cnt > 0] = acc[cnt > 0] / cnt[cnt > 0, None]
    return out(o)


@kernel(
    "correct",
    "cluster by cluster with boolean members; balanced places are found by counting how many tokens are ahead; "
    "attention in base 2 over members in descending order; float64",
)
def count_ahead(
    q,
    v,
    mu,
    k=None,
    assign="argmax",
    width=0,
    normalise="layer_norm",
    eps=1e-5,
    causal=False,
    scale=None,
    empty_row="zero",
):
    n, d = q.shape
    k = q if k is None else k
    f = sc(scale, d)
    pq, pk = _norm(q, normalise, eps) @ d64(mu).T, _norm(k, normalise, eps) @ d64(mu).T
    w = width if width else -(-n // mu.shape[0])
    acc, cnt = np.zeros((n, v.shape[1])), np.zeros(n)

    def members(p, c):
        if assign == "argmax":
            return np.array([int(np.flatnonzero(r == r.max())[0]) == c for r in p])
        x = p[:, c]
        ahead = np.array([(x > y).sum() + (x[:i] == y).sum() for i, y in enumerate(x)])
        return ahead < w

    for c in range(mu.shape[0]):
        mq, mk = members(pq, c), members(pk, c)
        for i in np.flatnonzero(mq):
            j = np.flatnonzero(mk & ((np.arange(n) <= i) if causal else True))[::-1]
            if j.size:
                acc[i] += row_exp2(q[i], k[j], v[j], f)
                cnt[i] += 1
    o = np.full(acc.shape, 0.0 if empty_row == "zero" else np.nan)
    o[cnt > 0] = acc[cnt > 0] / cnt[cnt > 0, None]
    return out(o)


@kernel("wrong", "a query that several clusters take keeps the output of the last one, not the mean")
def last_cluster(
    q,
    v,
    mu,
    k=None,
    assign="argmax",
    width=0,
    normalise="layer_norm",
    eps=1e-5,
    causal=False,
    scale=None,
    empty_row="zero",
):
    return _run(q, k, v, mu, assign, width, normalise, eps, causal, scale, empty_row, mix="last")


@kernel("wrong", "width = 0 gives n / c rounded down, at least one")
def width_rounded_down(
    q,
    v,
    mu,
    k=None,
    assign="argmax",
    width=0,
    normalise="layer_norm",
    eps=1e-5,
    causal=False,
    scale=None,
    empty_row="zero",
):
    return _run(
        q, k, v, mu, assign, width or max(1, q.shape[0] // mu.shape[0]), normalise, eps, causal, scale, empty_row
    )


@kernel("wrong", "queries and keys that attend are the normalised ones where normalise = unit")
def attends_with_units(
    q,
    v,
    mu,
    k=None,
    assign="argmax",
    width=0,
    normalise="layer_norm",
    eps=1e-5,
    causal=False,
    scale=None,
    empty_row="zero",
):
    return _run(
        q,
        k,
        v,
        mu,
        assign,
        width,
        normalise,
        eps,
        causal,
        scale,
        empty_row,
        attend=(lambda a, b: (_norm(a, "unit", eps), _norm(b, "unit", eps))) if normalise == "unit" else None,
    )


@kernel(
    "wrong",
    "layer normalisation is left out: x . mu decides (it differs where the mean of a token and the sum of a "
    "centroid are not 0)",
)
def mean_not_removed(
    q,
    v,
    mu,
    k=None,
    assign="argmax",
    width=0,
    normalise="layer_norm",
    eps=1e-5,
    causal=False,
    scale=None,
    empty_row="zero",
):
    return _run(
        q, k, v, mu, assign, width, "none" if normalise == "layer_norm" else normalise, eps, causal, scale, empty_row
    )
