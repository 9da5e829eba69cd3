# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.act_halting"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(p, s, eps, output, threshold=None, rem=None, blend=None, cum=None):
    n, t = p.shape
    w, steps, rems = np.zeros((n, t)), np.zeros(n, np.int64), np.zeros(n)
    y = np.zeros((n, s.shape[2]))
    for i in range(n):
        c = np.cumsum(d64(p[i])) if cum is None else cum(p[i])
        hit = np.flatnonzero(c >= (1 - eps if threshold is None else threshold))
        last = int(hit[0]) if hit.size else t - 1
        r = 1 - (float(c[last - 1]) if last else 0.0)
        r = r if rem is None else rem(r, hit.size > 0, float(p[i, last]))
        w[i, :last] = p[i, :last]
        w[i, last] = r
        steps[i], rems[i] = last + 1, r
        if output == "last":
            y[i] = s[i, last]
        elif output == "interpolated":
            for a in range(last + 1):
                y[i] = w[i, a] * d64(s[i, a]) + (1 - w[i, a]) * y[i]
        else:
            y[i] = w[i, : last + 1] @ d64(s[i, : last + 1])
    return out(y), out(w), steps, out(rems)


@kernel(
    "correct",
    "all tokens at once, step by step, with masks of the tokens that still run; the sum is kept in float64 and the "
    "interpolated output "
    "comes from the products of (1 - w) taken backwards",
)
def masked_steps(p, s, eps=0.01, output="weighted"):
    n, t = p.shape
    total, run = np.zeros(n), np.ones(n, bool)
    w, steps, rem = np.zeros((n, t)), np.zeros(n, np.int64), np.zeros(n)
    for a in range(t):
        new = total + d64(p[:, a])
        stop = run & ((new >= 1 - eps) | (a == t - 1))
        go = run & ~stop
        w[go, a] = p[go, a]
        w[stop, a] = rem[stop] = 1 - total[stop]
        steps[stop] = a + 1
        total, run = np.where(go, new, total), go
    if output == "last":
        f = np.zeros((n, t))
        f[np.arange(n), steps - 1] = 1
    elif output == "interpolated":
        f, left = np.zeros((n, t)), np.ones(n)
        for a in range(t - 1, -1, -1):
            f[:, a] = w[:, a] * left
            left = left * (1 - w[:, a])
    else:
        f = w
    y = np.zeros((n, s.shape[2]))
    for a in range(t):
        on = a < steps
        y[on] += f[on, a, None] * d64(s[on, a])
    return out(y), out(w), steps, out(rem)


@kernel("wrong", "a token that never reaches 1 - eps gets its last probability as the last weight, not the remainder")
def last_probability(p, s, eps=0.01, output="weighted"):
    return _run(p, s, eps, output, rem=lambda r, hit, q: r if hit else q)


@kernel("wrong", "the threshold is 1 - 0.01 whatever eps is")
def fixed_threshold(p, s, eps=0.01, output="weighted"):
    return _run(p, s, eps, output, threshold=0.99)


@kernel("wrong", "the running sum of the probabilities is kept in float16")
def f16_sum(p, s, eps=0.01, output="weighted"):
    def cum(r):
        c, o = np.float16(0), []
        for x in r:
            c = np.float16(c + np.float16(x))
            o.append(float(c))
        return np.array(o)

    return _run(p, s, eps, output, cum=cum)


@kernel(
    "wrong", "output = last is the state of the last step that is computed, T, for tokens that halt at the first step"
)
def last_of_first(p, s, eps=0.01, output="weighted"):
    r = _run(p, s, eps, output)
    if output == "last":
        r[0][r[2] == 1] = s[r[2] == 1, -1]
    return r
