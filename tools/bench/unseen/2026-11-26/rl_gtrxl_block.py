# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "rl.gtrxl_block"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


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


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _ln(x, g, b, eps):
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)
    y = y if g is None else y * d64(g)
    return y if b is None else y + d64(b)


def _gru(x, y, w, swap=False):
    w_r, u_r, w_z, u_z, w_g, u_g, b = (d64(a) for a in w)
    r = sig(y @ w_r.T + x @ u_r.T)
    z = sig(y @ w_z.T + x @ u_z.T - b)
    return (1 - z) * x + z * np.tanh(y @ w_g.T + (r * x) @ u_g.T)


def _block(
    e,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    w_p,
    u,
    v,
    r,
    w_1,
    w_2,
    gate_1,
    gate_2,
    gamma_1,
    beta_1,
    gamma_2,
    beta_2,
    b_1,
    b_2,
    gate,
    submodule_relu,
    eps,
    memory_norm=True,
    relu_2=True,
    far=None,
    second=None,
):
    e, mem = d64(e), d64(memory)
    n, p, d = len(e), len(mem), w_q.shape[2]
    qn = _ln(e, gamma_1, beta_1, eps)
    kn = np.concatenate([_ln(mem, gamma_1, beta_1, eps) if memory_norm and p else mem, qn])
    a = np.zeros(e.shape)
    for h in range(w_q.shape[0]):
        q, k, val = qn @ d64(w_q[h]), kn @ d64(w_k[h]), kn @ d64(w_v[h])
        pos = d64(r) @ d64(w_p[h])
        for i in range(n):
            j = np.arange(p + i + 1)
            off = p + i - j if far is None else far(p, i, j)
            l = (k[j] @ (q[i] + d64(u[h])) + pos[off] @ (q[i] + d64(v[h]))) / math.sqrt(d)
            a[i] += (soft(l) @ val[j]) @ d64(w_o[h])
    a = np.maximum(a, 0) if submodule_relu else a
    y = _gru(e, a, gate_1) if gate == "gru" else e + a
    hid = np.maximum(_ln(y, gamma_2, beta_2, eps) @ d64(w_1) + (0 if b_1 is None else d64(b_1)), 0)
    f = hid @ d64(w_2) + (0 if b_2 is None else d64(b_2))
    f = np.maximum(f, 0) if submodule_relu and relu_2 else f
    s = y if second is None else second(e, y)
    return out(_gru(s, f, gate_2) if gate == "gru" else s + f)


def _call(a, **more):
    g1 = [a.pop(x + "1") for x in ("w_r", "u_r", "w_z", "u_z", "w_g", "u_g", "b_g")]
    g2 = [a.pop(x + "2") for x in ("w_r", "u_r", "w_z", "u_z", "w_g", "u_g", "b_g")]
    return _block(gate_1=g1, gate_2=g2, **a, **more)


@kernel(
    "correct",
    "sums over heads by one stacked product, norms as sums of squares of centred rows, float64 throughout; one "
    "token at a time",
)
def token_at_a_time(
    e,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    w_p,
    u,
    v,
    r,
    w_1,
    w_2,
    w_r1,
    u_r1,
    w_z1,
    u_z1,
    w_g1,
    u_g1,
    b_g1,
    w_r2,
    u_r2,
    w_z2,
    u_z2,
    w_g2,
    u_g2,
    b_g2,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    b_1=None,
    b_2=None,
    gate="gru",
    submodule_relu=True,
    eps=1e-5,
):
    n, p, hh, d, m = len(e), len(memory), w_q.shape[0], w_q.shape[2], w_v.shape[2]

    def ln(x, g, b):
        c = x - x.sum() / x.size
        y = c / math.sqrt(float(c @ c) / x.size + eps)
        y = y if g is None else y * d64(g)
        return y if b is None else y + d64(b)

    def join(x, y, w):
        if gate != "gru":
            return x + y
        w_r, u_r, w_z, u_z, w_g, u_g, b = (d64(t) for t in w)
        a = sig(w_r @ y + u_r @ x)
        z = sig(w_z @ y + u_z @ x - b)
        return x + z * (np.tanh(w_g @ y + u_g @ (a * x)) - x)

    ns = [ln(d64(x), gamma_1, beta_1) for x in memory] + [ln(d64(x), gamma_1, beta_1) for x in e]
    o = np.zeros((n, e.shape[1]))
    for i in range(n):
        t = p + i
        heads = []
        for h in range(hh):
            q = d64(w_q[h]).T @ ns[t]
            a, b = d64(w_k[h]) @ (q + d64(u[h])), d64(w_p[h]) @ (q + d64(v[h]))
            l = np.array([ns[j] @ a + d64(r[t - j]) @ b for j in range(t + 1)]) / math.sqrt(d)
            heads.append((soft(l) @ np.array(ns[: t + 1])) @ d64(w_v[h]))
        y = np.concatenate(heads) @ d64(w_o).reshape(hh * m, -1)
        y = np.maximum(y, 0) if submodule_relu else y
        s = join(d64(e[i]), y, (w_r1, u_r1, w_z1, u_z1, w_g1, u_g1, b_g1))
        f = np.maximum(ln(s, gamma_2, beta_2) @ d64(w_1) + (0 if b_1 is None else d64(b_1)), 0) @ d64(w_2) + (
            0 if b_2 is None else d64(b_2)
        )
        f = np.maximum(f, 0) if submodule_relu else f
        o[i] = join(s, f, (w_r2, u_r2, w_z2, u_z2, w_g2, u_g2, b_g2))
    return out(o)


@kernel("wrong", "the memory enters as it is, without the norm")
def memory_not_normalised(
    e,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    w_p,
    u,
    v,
    r,
    w_1,
    w_2,
    w_r1,
    u_r1,
    w_z1,
    u_z1,
    w_g1,
    u_g1,
    b_g1,
    w_r2,
    u_r2,
    w_z2,
    u_z2,
    w_g2,
    u_g2,
    b_g2,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    b_1=None,
    b_2=None,
    gate="gru",
    submodule_relu=True,
    eps=1e-5,
):
    return _call(locals(), memory_norm=False)


@kernel("wrong", "the second branch has no relu at its end")
def one_relu(
    e,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    w_p,
    u,
    v,
    r,
    w_1,
    w_2,
    w_r1,
    u_r1,
    w_z1,
    u_z1,
    w_g1,
    u_g1,
    b_g1,
    w_r2,
    u_r2,
    w_z2,
    u_z2,
    w_g2,
    u_g2,
    b_g2,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    b_1=None,
    b_2=None,
    gate="gru",
    submodule_relu=True,
    eps=1e-5,
):
    return _call(locals(), relu_2=False)


@kernel(
    "wrong",
    "distances are counted from the table's end, row l - n - p + o, as a relative shift does whose table is longer "
    "than n + p",
)
def table_from_end(
    e,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    w_p,
    u,
    v,
    r,
    w_1,
    w_2,
    w_r1,
    u_r1,
    w_z1,
    u_z1,
    w_g1,
    u_g1,
    b_g1,
    w_r2,
    u_r2,
    w_z2,
    u_z2,
    w_g2,
    u_g2,
    b_g2,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    b_1=None,
    b_2=None,
    gate="gru",
    submodule_relu=True,
    eps=1e-5,
):
    more = len(r) - len(e) - len(memory)
    a = dict(locals())
    a.pop("more")
    return _call(a, far=lambda p, i, j: p + i - j + more)
