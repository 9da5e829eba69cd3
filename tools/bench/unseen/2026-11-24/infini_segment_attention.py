# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.segment_attention"

F32 = np.float32
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _turn(x, positions, base=10000.0, width=None):
    w = x.shape[1] if width is None else width
    a = np.outer(positions, base ** (-2.0 * np.arange(x.shape[1] // 2) / w))
    c, s = np.cos(a).astype(x.dtype), np.sin(a).astype(x.dtype)
    y = np.empty_like(x)
    y[:, 0::2] = x[:, 0::2] * c - x[:, 1::2] * s
    y[:, 1::2] = x[:, 0::2] * s + x[:, 1::2] * c
    return y


def _softmax_causal(l):
    n = len(l)
    l = np.where(np.tril(np.ones((n, n), bool)), l, l.dtype.type(-np.inf))
    e = np.exp(l - l.max(1, keepdims=True, initial=-np.inf))
    return e / e.sum(1, keepdims=True)


def _recall(p, memory, z, zero_denominator="zero"):
    den = (p @ z)[:, None]
    r = (p @ memory) / np.where(den == 0, 1, den)
    return np.where(den == 0, np.nan if zero_denominator == "nan" else 0.0, r).astype(p.dtype)


def _head(q, k, v, beta, memory, z, segment, update, scale, position, offset, feature_map, zero_denominator, hook=""):
    n, d = q.shape
    m = v.shape[1]
    dt = q.dtype
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    memory = np.zeros((d, m), dt) if memory is None else memory
    z = np.zeros(d, dt) if z is None else z
    g = (1 / (1 + np.exp(-np.asarray(beta, dt)))).astype(dt)
    step = max(n, 1) if segment is None else segment
    o = np.empty((n, m), dt)
    for lo in range(0, n, step):
        t = slice(lo, min(lo + step, n))
        pq, pk = _map(q[t], feature_map), _map(k[t], feature_map)
        ql, kl = q[t], k[t]
        if position == "rotary":
            at = offset + np.arange(t.start, t.stop)
            ql, kl = _turn(ql, at), _turn(kl, at)
            if hook == "turned_keys_stored":
                pk = _map(kl, feature_map)
        w = _softmax_causal((ql @ kl.T) * a)
        if hook == "single_softmax":
            w = _softmax_causal(((ql @ kl.T) * a).astype(F32)).astype(F64)
        new_z = z + pk.sum(0)
        o[t] = g * _recall(pq, memory, new_z if hook == "z_stored_first" else z, zero_denominator) + (1 - g) * (
            w @ v[t]
        )
        if hook == "short_not_stored" and lo and lo + step > n:
            break
        value = v[t] - _recall(pk, memory, z, zero_denominator) if update == "delta" else v[t]
        memory, z = memory + pk.T @ value, new_z
    return o, np.array(memory), np.array(z)


def _plain(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    return _head(q, k, v, beta, memory, z, segment, update, scale, position, offset, feature_map, zero_denominator)


# category 3
@kernel(
    "wrong",
    "a last segment that is shorter than the others (and not the only one) is answered but not stored: "
    "memory and z end one segment early",
)
def short_not_stored(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    return _head(
        q,
        k,
        v,
        beta,
        memory,
        z,
        segment,
        update,
        scale,
        position,
        offset,
        feature_map,
        zero_denominator,
        "short_not_stored",
    )


# category 4
@kernel(
    "wrong", "with rotary positions the keys that are stored are the turned ones (the memory's queries are not turned)"
)
def turned_keys_stored(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    return _head(
        q,
        k,
        v,
        beta,
        memory,
        z,
        segment,
        update,
        scale,
        position,
        offset,
        feature_map,
        zero_denominator,
        "turned_keys_stored",
    )


# category 1
@kernel(
    "wrong",
    "z is updated before the segment is read and memory after it: the answer is divided by a z that holds"
    " the segment itself",
)
def z_stored_first(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    return _head(
        q,
        k,
        v,
        beta,
        memory,
        z,
        segment,
        update,
        scale,
        position,
        offset,
        feature_map,
        zero_denominator,
        "z_stored_first",
    )


# category 2
@kernel("wrong", "the local softmax is float32 in a float64 kernel", profile="f64")
def single_softmax(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    return _head(
        q,
        k,
        v,
        beta,
        memory,
        z,
        segment,
        update,
        scale,
        position,
        offset,
        feature_map,
        zero_denominator,
        "single_softmax",
    )


@kernel(
    "correct",
    "token by token: a local cache of the segment's keys and values, the rotation by the distance alone "
    "applied to the query, z as a column of the memory, what a segment stores waits in a second state "
    "until the segment ends, in double",
)
def token_by_token(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    n, d = q.shape
    m = v.shape[1]
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    state = np.zeros((d, m + 1))
    if memory is not None:
        state[:, :m] = memory
    if z is not None:
        state[:, m] = z
    waiting = np.zeros_like(state)
    b = float(beta)
    g, rest = 0.5 + 0.5 * math.tanh(b / 2), 0.5 - 0.5 * math.tanh(b / 2)
    step = max(n, 1) if segment is None else int(segment)
    theta = 10000.0 ** (-np.arange(0, d, 2) / d)

    def ask(p):
        x = p @ state
        if x[m] == 0:
            return np.full(m, np.nan if zero_denominator == "nan" else 0.0)
        return x[:m] / x[m]

    o = np.empty((n, m))
    for i in range(n):
        first = i // step * step
        qi = q[i].astype(F64)
        keys = k[first : i + 1].astype(F64)
        if position == "rotary":
            far = np.outer(np.arange(i - first, -1, -1), theta)
            c, s = np.cos(far), np.sin(far)
            l = (keys[:, 0::2] * (qi[0::2] * c - qi[1::2] * s) + keys[:, 1::2] * (qi[1::2] * c + qi[0::2] * s)).sum(1)
        else:
            l = keys @ qi
        l = l * a
        e = np.exp(l - l.max())
        o[i] = g * ask(_map(qi, feature_map)) + rest * (e @ v[first : i + 1].astype(F64)) / e.sum()
        p = _map(k[i].astype(F64), feature_map)
        value = v[i].astype(F64)
        if update == "delta":
            value = value - ask(p)
        waiting += np.outer(p, np.append(value, 1.0))
        if (i + 1) % step == 0 or i + 1 == n:
            state = state + waiting
            waiting = np.zeros_like(state)
    return {"o": o.astype(F32), "memory": state[:, :m].astype(F32), "z": state[:, m].astype(F32)}
