# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "streaming.middle_topk"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _turn(x, angle, pairing):
    d = x.shape[-1]
    f = 10000.0 ** (-2.0 * np.arange(d // 2) / d) * angle
    y = np.empty(x.shape)
    a, b = (slice(0, d, 2), slice(1, d, 2)) if pairing == "interleaved" else (slice(0, d // 2), slice(d // 2, d))
    y[..., a] = x[..., a] * np.cos(f) - x[..., b] * np.sin(f)
    y[..., b] = x[..., a] * np.sin(f) + x[..., b] * np.cos(f)
    return y


def _logit(q, k, far, slope, scale, position, pairing):
    if position == "rotary":
        q = _turn(d64(q), far, pairing)
    l = scale * (d64(k) @ d64(q))
    return l - float(slope) * far if position == "alibi" else l


def _run(
    q,
    k,
    v,
    slopes,
    top,
    starts,
    window,
    ceiling,
    insert_distance,
    select_by,
    short_middle,
    scale,
    position,
    pairing,
    pick=None,
    insert_logits=True,
    far=None,
    base=0,
):
    heads, n, d = q.shape
    s = k.shape[1]
    scale = sc(scale, d)
    cap = ceiling if ceiling > 0 else window
    ins = insert_distance if insert_distance >= 0 else window // 2
    o = np.zeros((heads, n, v.shape[2]))
    for h in range(heads):
        for i in range(n):
            t = i + s - n
            mid = np.arange(starts, t - window + 1 + base)
            near = [
                j for j in range(t + 1) if (j < starts or t - j < window) and not (mid.size and mid[0] <= j <= mid[-1])
            ]
            lm = np.array([_logit(q[h, i], k[h, j], ins, slopes[h], scale, position, pairing) for j in mid])
            by = (
                lm
                if select_by == "inserted"
                else np.array(
                    [_logit(q[h, i], k[h, j], min(t - j, cap), slopes[h], scale, position, pairing) for j in mid]
                )
            )
            if mid.size < top and short_middle == "none":
                c = np.zeros(0, int)
            else:
                c = (np.argsort(-by, kind="stable") if pick is None else pick(by))[:top]
            ln = [
                _logit(
                    q[h, i],
                    k[h, j],
                    min(t - j, cap) if far is None else far(t, j, cap),
                    slopes[h],
                    scale,
                    position,
                    pairing,
                )
                for j in near
            ]
            l = np.concatenate([d64(ln), (lm if insert_logits else by)[c] if mid.size else np.zeros(0)])
            js = np.concatenate([d64(near), d64(mid[c] if mid.size else [])]).astype(int)
            o[h, i] = soft(l) @ d64(v[h, js])
    return out(o)


@kernel(
    "wrong",
    "selection at the ceiling takes the smaller of the distance and the ceiling, which its author took the text to "
    "say; the top tokens are found by repeatedly taking the largest and striking it out, and enter an online "
    "softmax one by one before the "
    "others; queries turned once per distance; float64",
)
def strike_out(
    q,
    k,
    v,
    slopes,
    top=5,
    starts=1,
    window=4,
    ceiling=0,
    insert_distance=-1,
    select_by="inserted",
    short_middle="all",
    scale=None,
    position="none",
    pairing="interleaved",
):
    heads, n, d = q.shape
    s = k.shape[1]
    scale = sc(scale, d)
    cap = ceiling if ceiling > 0 else window
    ins = insert_distance if insert_distance >= 0 else window // 2
    o = np.zeros((heads, n, v.shape[2]))
    for h in range(heads):
        for i in range(n):
            t = i + s - n
            kk, made = d64(k[h, : t + 1]), {}

            def logits(far, js):
                if far not in made:
                    made[far] = _turn(d64(q[h, i]), far, pairing) if position == "rotary" else d64(q[h, i])
                return (kk[js] @ made[far]) * scale - (float(slopes[h]) * far if position == "alibi" else 0.0)

            mid = np.arange(starts, t - window + 1)
            take = []
            if mid.size and not (mid.size < top and short_middle == "none"):
                lm = logits(ins, mid)
                by = lm.copy() if select_by == "inserted" else np.array([logits(min(t - j, cap), [j])[0] for j in mid])
                for _ in range(min(top, mid.size)):
                    b = int(np.argmax(by))
                    take.append((lm[b], mid[b]))
                    by[b] = -np.inf
            for j in list(range(min(starts, t + 1))) + list(range(max(starts, t - window + 1), t + 1)):
                take.append((logits(min(t - j, cap), [j])[0], j))
            m, z, acc = -np.inf, 0.0, np.zeros(v.shape[2])
            for l, j in take:
                g = max(m, l)
                f = np.exp(m - g) if z else 0.0
                m, z, acc = g, z * f + np.exp(l - g), acc * f + np.exp(l - g) * d64(v[h, j])
            o[h, i] = acc / z
    return out(o)


@kernel("wrong", "with select_by = ceiling the middle tokens keep, in the softmax, the logits they were selected by")
def keeps_selection_logits(
    q,
    k,
    v,
    slopes,
    top=5,
    starts=1,
    window=4,
    ceiling=0,
    insert_distance=-1,
    select_by="inserted",
    short_middle="all",
    scale=None,
    position="none",
    pairing="interleaved",
):
    return _run(
        q,
        k,
        v,
        slopes,
        top,
        starts,
        window,
        ceiling,
        insert_distance,
        select_by,
        short_middle,
        scale,
        position,
        pairing,
        insert_logits=False,
    )


@kernel("wrong", "tokens are selected by the absolute value of their logits")
def by_magnitude(
    q,
    k,
    v,
    slopes,
    top=5,
    starts=1,
    window=4,
    ceiling=0,
    insert_distance=-1,
    select_by="inserted",
    short_middle="all",
    scale=None,
    position="none",
    pairing="interleaved",
):
    return _run(
        q,
        k,
        v,
        slopes,
        top,
        starts,
        window,
        ceiling,
        insert_distance,
        select_by,
        short_middle,
        scale,
        position,
        pairing,
        pick=lambda l: np.argsort(-np.abs(l), kind="stable"),
    )


@kernel("wrong", "insert_distance = 0 is treated as not given and becomes half the window")
def zero_insert_is_default(
    q,
    k,
    v,
    slopes,
    top=5,
    starts=1,
    window=4,
    ceiling=0,
    insert_distance=-1,
    select_by="inserted",
    short_middle="all",
    scale=None,
    position="none",
    pairing="interleaved",
):
    return _run(
        q,
        k,
        v,
        slopes,
        top,
        starts,
        window,
        ceiling,
        insert_distance or -1,
        select_by,
        short_middle,
        scale,
        position,
        pairing,
    )


@kernel(
    "wrong",
    "all queries of a head take the middle tokens that its last query selects, where they are in the query's "
    "middle (one selection per block of queries)",
)
def one_selection(
    q,
    k,
    v,
    slopes,
    top=5,
    starts=1,
    window=4,
    ceiling=0,
    insert_distance=-1,
    select_by="inserted",
    short_middle="all",
    scale=None,
    position="none",
    pairing="interleaved",
):
    heads, n, d = q.shape
    s = k.shape[1]
    o = np.zeros((heads, n, v.shape[2]), F32)
    for h in range(heads):
        order = []

        def last(l, order=order):
            order[:] = list(np.argsort(-l, kind="stable"))
            return np.asarray(order, int)

        def others(l, order=order):
            return np.asarray([x for x in order[:top] if x < len(l)], int)

        for i in range(n - 1, -1, -1):
            o[h, i] = _run(
                q[h : h + 1, i : i + 1],
                k[h : h + 1, : i + s - n + 1],
                v[h : h + 1, : i + s - n + 1],
                slopes[h : h + 1],
                top,
                starts,
                window,
                ceiling,
                insert_distance,
                select_by,
                short_middle,
                scale,
                position,
                pairing,
                pick=last if i == n - 1 else others,
            )[0, 0]
    return o
