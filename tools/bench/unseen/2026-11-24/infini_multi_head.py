# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.multi_head"

F32 = np.float32
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _bf(a):
    b = np.ascontiguousarray(a, dtype=F32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)


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


def _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position, hook=""):
    n = len(x)
    h, e, d = w_q.shape
    m = w_v.shape[2]
    dt = x.dtype
    M = np.zeros((h, d, m), dt) if memory is None else memory.copy()
    Z = np.zeros((h, d), dt) if z is None else z.copy()
    step = max(n, 1) if segment is None else segment
    o = np.zeros((n, w_o.shape[2]), dt)
    for g in range(h):
        for lo in range(0, n, step):
            t = slice(lo, min(lo + step, n))
            q, k, v = x[t] @ w_q[g], x[t] @ w_k[g], x[t] @ w_v[g]
            pq, pk = _map(q, "elu_plus_one"), _map(k, "elu_plus_one")
            if position == "rotary":
                at = np.arange(t.start, t.stop)
                width = h * d if hook == "width_of_all_heads" else d
                q, k = _turn(q, at, width=width), _turn(k, at, width=width)
            stale = hook == "tail_gate" and lo and lo + step > n
            gate = (1 / (1 + np.exp(-beta[0 if stale else g]))).astype(dt)
            w = _softmax_causal((q @ k.T) * (1 / math.sqrt(d)))
            o[t] += (gate * _recall(pq, M[g], Z[g]) + (1 - gate) * (w @ v)) @ w_o[g]
            if update == "delta":
                v = v - _recall(pk, M[g], Z[0] if hook == "z_of_head_0" else Z[g])
            M[g] += pk.T @ v
            Z[g] += pk.sum(0)
            if hook == "state_in_bfloat16":
                M[g] = _bf(M[g])
    return o, M, Z


def _plain(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    return _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position)


# category 4
@kernel(
    "wrong",
    "update delta with several heads: what is subtracted is divided by the z of head 0 (as it stands "
    "then) in every head",
)
def z_of_head_0(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    return _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position, "z_of_head_0")


# category 5
@kernel("wrong", "rotary: the frequencies are 10000^(-2m / (h d)), as if all heads were one row (right for one head)")
def width_of_all_heads(
    x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"
):
    return _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position, "width_of_all_heads")


# category 3
@kernel("wrong", "in a last segment that is shorter than the others all heads use the gate of head 0")
def tail_gate(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    return _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position, "tail_gate")


# category 2
@kernel("wrong", "the memory is rounded to bfloat16 after every segment, in a float32 kernel (z is not)")
def state_in_bfloat16(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    return _layer(x, w_q, w_k, w_v, w_o, beta, memory, z, segment, update, position, "state_in_bfloat16")


@kernel(
    "correct",
    "all heads at once by einsum, one segment after the other; rotations as complex numbers; the gate is "
    "folded into the two parts of the output projection, log-sum-exp in base 2, double",
)
def all_heads_at_once(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    n = len(x)
    h, e, d = w_q.shape
    m = w_v.shape[2]
    X = x.astype(F64)
    M = np.zeros((h, d, m)) if memory is None else memory.astype(F64)
    Z = np.zeros((h, d)) if z is None else z.astype(F64)
    g = 0.5 * (1 + np.tanh(0.5 * beta.astype(F64)))
    rest = 0.5 * (1 - np.tanh(0.5 * beta.astype(F64)))
    o_mem, o_dot = w_o.astype(F64) * g[:, None, None], w_o.astype(F64) * rest[:, None, None]
    step = max(n, 1) if segment is None else int(segment)
    out = np.zeros((n, w_o.shape[2]))

    def ask(p):
        den = np.einsum("hnd,hd->hn", p, Z)
        num = np.einsum("hnd,hdm->hnm", p, M)
        return np.where(den == 0, 0.0, 1.0 / np.where(den == 0, 1.0, den))[:, :, None] * num

    for lo in range(0, n, step):
        t = slice(lo, min(lo + step, n))
        q, k, v = (np.einsum("ne,hed->hnd", X[t], w.astype(F64)) for w in (w_q, w_k, w_v))
        pq, pk = _map(q, "elu_plus_one"), _map(k, "elu_plus_one")
        if position == "rotary":
            turn = np.exp(1j * np.outer(np.arange(t.start, t.stop), 10000.0 ** (-np.arange(0, d, 2) / d)))
            l = np.einsum(
                "hip,hjp->hji",
                (q[..., 0::2] + 1j * q[..., 1::2]) * turn,
                ((k[..., 0::2] + 1j * k[..., 1::2]) * turn).conj(),
            ).real
        else:
            l = np.einsum("hid,hjd->hji", q, k)
        l = l * (math.log2(math.e) / math.sqrt(d))
        size = t.stop - t.start
        l = np.where(np.arange(size)[:, None] <= np.arange(size)[None], l, -np.inf)
        w = np.exp2(l - np.logaddexp2.reduce(l, axis=1, keepdims=True))
        out[t] = np.einsum("hnm,hmf->nf", ask(pq), o_mem) + np.einsum("hji,hjm,hmf->if", w, v, o_dot, optimize=True)
        if update == "delta":
            v = v - ask(pk)
        M = M + np.einsum("hnd,hnm->hdm", pk, v)
        Z = Z + pk.sum(1)
    return {"o": out.astype(F32), "memory": M.astype(F32), "z": Z.astype(F32)}
