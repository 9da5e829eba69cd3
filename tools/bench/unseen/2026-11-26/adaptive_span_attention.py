# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.span_attention"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(
    q,
    k,
    v,
    z,
    span,
    ramp,
    scale,
    include_self,
    distance_shift,
    eps,
    end=None,
    zi=None,
    top="seen",
    empty=0.0,
    pos=None,
    lo=None,
):
    n, s = q.shape[0], k.shape[0]
    o, mask = np.full((n, v.shape[1]), 0.0), np.zeros((n, s))
    for i in range(n):
        t = i + s - n if pos is None else pos(i)
        a = max(0, (t - span) if lo is None else lo(t))
        js = np.arange(a, min(s, t + (1 if include_self else 0)))
        if not js.size:
            continue
        x = t - js - distance_shift
        m = np.clip((ramp + float(z[i] if zi is None else zi(z, i)) - x) / ramp, 0, 1)
        mask[i, js] = m
        l = scale * (d64(k[js]) @ d64(q[i]))
        c = l.max() if eps > 0 else (l[m > 0].max() if (m > 0).any() else 0.0)
        e = np.exp(np.minimum(l - c, 0))
        den = (m * e).sum() + eps * e.sum()
        if den > 0:
            on = m > 0
            o[i] = (m * e)[on] @ d64(v[js][on]) / den
    return out(o), out(mask)


@kernel(
    "correct",
    "the logarithm of the mask is added to the logits, and eps is one more term of the sum with logarithm ln eps; "
    "an online softmax from the "
    "nearest key backwards; float64",
)
def mask_in_logarithms(q, k, v, z, span=16, ramp=4.0, scale=1.0, include_self=False, distance_shift=0, eps=0.0):
    n, s = q.shape[0], k.shape[0]
    o, mask = np.zeros((n, v.shape[1])), np.zeros((n, s))
    for i in range(n):
        t = i + s - n
        top, tot, acc = -math.inf, 0.0, np.zeros(v.shape[1])
        for j in range(t if include_self else t - 1, max(0, t - span) - 1, -1):
            m = min(max(1.0 + (float(z[i]) - (t - j - distance_shift)) / ramp, 0.0), 1.0)
            mask[i, j] = m
            l = scale * float(d64(q[i]) @ d64(k[j]))
            for w, value in ((m, v[j]), (eps, None)):
                if w <= 0:
                    continue
                a = l + math.log(w)
                g = max(top, a)
                f, b = (math.exp(top - g) if tot else 0.0), math.exp(a - g)
                top, tot = g, tot * f + b
                acc = acc * f if value is None else acc * f + b * d64(value)
        if tot:
            o[i] = acc / tot
    return out(o), out(mask)


@kernel(
    "wrong",
    "eps is added to the sum of m e^l with its largest exponential taken as 1 instead of times the sum of e^l over "
    "the window",
)
def plain_eps(q, k, v, z, span=16, ramp=4.0, scale=1.0, include_self=False, distance_shift=0, eps=0.0):
    n, s = q.shape[0], k.shape[0]
    o, mask = _run(q, k, v, z, span, ramp, scale, include_self, distance_shift, 0.0)
    for i in range(n):
        js = np.flatnonzero(mask[i] > 0)
        if js.size and eps > 0:
            l = scale * (d64(k[js]) @ d64(q[i]))
            e = (d64(mask[i, js]) * np.exp(l - l.max())).sum()
            o[i] = out(d64(o[i]) * e / (e + eps))
    return o, mask


@kernel(
    "wrong",
    "the window has span + 1 keys where the query's own is in it: t - span is seen with mask, and t - span - 1 as well",
)
def longer_with_self(q, k, v, z, span=16, ramp=4.0, scale=1.0, include_self=False, distance_shift=0, eps=0.0):
    return _run(
        q,
        k,
        v,
        z,
        span,
        ramp,
        scale,
        include_self,
        distance_shift,
        eps,
        lo=lambda t: t - span - (1 if include_self else 0),
    )


@kernel(
    "wrong",
    "queries start at key 0 where there are more keys than queries: t = i for masks, the window and the distances",
)
def queries_at_start(q, k, v, z, span=16, ramp=4.0, scale=1.0, include_self=False, distance_shift=0, eps=0.0):
    return _run(q, k, v, z, span, ramp, scale, include_self, distance_shift, eps, pos=lambda i: i)


@kernel("wrong", "one span per tile of four queries: that of its first query")
def span_per_tile(q, k, v, z, span=16, ramp=4.0, scale=1.0, include_self=False, distance_shift=0, eps=0.0):
    return _run(q, k, v, z, span, ramp, scale, include_self, distance_shift, eps, zi=lambda z, i: z[i // 4 * 4])
