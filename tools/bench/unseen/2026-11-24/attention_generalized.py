# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.generalized"

F32 = np.float32
F64 = np.float64


def _feat(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    return np.maximum(x, 0) if kind == "relu" else np.exp(x)


def _seen(n, s, causal, mask):
    ok = np.ones((n, s), bool)
    if causal:
        ok &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        ok &= mask
    return ok


def _mix(w, ok, v):
    w = np.where(ok, w, 0)
    if np.isfinite(v).all():
        return w @ v
    return np.stack([w[i, ok[i]] @ v[ok[i]] for i in range(len(w))]) if len(w) else w @ v


def _finish(w, ok, v, zero_denominator, dtype):
    w = np.where(ok, w, 0)
    den = w.sum(1, keepdims=True)
    num = _mix(w, ok, v)
    empty = den == 0
    o = num / np.where(empty, 1, den)
    return np.where(empty, np.nan if zero_denominator == "nan" else 0.0, o).astype(dtype)


def _exponentials(l, ok):
    l = np.where(ok, l, -np.inf)
    top = l.max(1, keepdims=True, initial=-np.inf)
    return np.exp(l - np.where(np.isfinite(top), top, 0))


def _plain(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    n, s, d = len(q), len(k), q.shape[1]
    ok = _seen(n, s, causal, mask)
    if sim == "exp_dot":
        w = _exponentials((q @ k.T) * (1 / math.sqrt(d) if scale is None else scale), ok)
    elif sim == "polynomial":
        w = (q @ k.T + offset) ** power
    elif sim == "rbf":
        w = _exponentials(-gamma * ((q[:, None] - k[None]) ** 2).sum(-1), ok)
    else:
        w = _feat(q, phi) @ _feat(k, varphi).T
    return _finish(w, ok, v, zero_denominator, q.dtype)


# category 6
@kernel(
    "wrong",
    "polynomial: the power is taken as e^(power ln |x|), so that a negative q.k + offset loses its sign "
    "where the power is odd",
)
def power_by_logarithm(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    if sim != "polynomial":
        return _plain(
            q, k, v, mask, sim, scale, power, offset, gamma, phi, varphi, allow_signed, causal, zero_denominator
        )
    x = np.abs((q @ k.T + F32(offset)).astype(F64))
    with np.errstate(divide="ignore"):
        w = np.exp(power * np.log(x))
    return _finish(w, _seen(len(q), len(k), causal, mask), v, zero_denominator, F32)


# category 7
@kernel(
    "wrong",
    "feature_dot: the two function pointers are swapped, varphi maps the queries and phi the keys (shows "
    "where the two differ)",
    profile="f64",
)
def maps_swapped(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    return _plain(q, k, v, mask, sim, scale, power, offset, gamma, varphi, phi, allow_signed, causal, zero_denominator)


# category 4
@kernel(
    "wrong",
    "feature_dot with causal order runs as a prefix sum from key 0 with query 0: the s - n past keys are "
    "not ahead of it (wrong where s > n)",
)
def prefix_top_left(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    if not (sim == "feature_dot" and causal):
        return _plain(
            q, k, v, mask, sim, scale, power, offset, gamma, phi, varphi, allow_signed, causal, zero_denominator
        )
    n = len(q)
    m = None if mask is None else mask[:, :n]
    return _plain(
        q, k[:n], v[:n], m, sim, scale, power, offset, gamma, phi, varphi, allow_signed, True, zero_denominator
    )


# category 2
@kernel("wrong", "rbf: the squared distance |q|^2 + |k|^2 - 2 q.k is put together in float16")
def distance_in_half(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    if sim != "rbf":
        return _plain(
            q, k, v, mask, sim, scale, power, offset, gamma, phi, varphi, allow_signed, causal, zero_denominator
        )
    H = np.float16
    d2 = (q * q).sum(1).astype(H)[:, None] + (k * k).sum(1).astype(H)[None] - (2 * (q @ k.T)).astype(H)
    ok = _seen(len(q), len(k), causal, mask)
    return _finish(_exponentials(-F32(gamma) * d2.astype(F32), ok), ok, v, zero_denominator, F32)


@kernel(
    "correct",
    "one query after the other over the gathered visible keys, from the last key to the first in blocks "
    "of 11, all sums in double; rbf by the differences about the nearest key, powers by repeated "
    "multiplication",
)
def query_by_query(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    allow_signed=False,
    causal=False,
    zero_denominator="zero",
):
    n, d = q.shape
    s, m = v.shape
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    o = np.empty((n, m), F64)
    for i in range(n):
        last = i + s - n if causal else s - 1
        idx = np.arange(min(last, s - 1), -1, -1)
        if mask is not None:
            idx = idx[mask[i, idx]]
        qi = q[i].astype(F64)
        top, den, num = -np.inf, 0.0, np.zeros(m)
        for lo in range(0, len(idx), 11):
            j = idx[lo : lo + 11]
            kj, vj = k[j].astype(F64), v[j].astype(F64)
            if sim in ("exp_dot", "rbf"):
                l = a * (kj @ qi) if sim == "exp_dot" else -float(gamma) * np.square(kj - qi).sum(1)
                new = max(top, l.max())
                c = math.exp(top - new) if top > -np.inf else 0.0
                w = np.exp(l - new)
                top, den, num = new, den * c, num * c
            elif sim == "polynomial":
                x = kj @ qi + float(offset)
                w = x
                for _ in range(power - 1):
                    w = w * x
            else:
                w = _feat(kj, varphi) @ _feat(qi, phi)
            den += w.sum()
            num = num + vj.T @ w
        o[i] = num / den if den != 0 else (np.nan if zero_denominator == "nan" else 0.0)
    return o.astype(F32)
