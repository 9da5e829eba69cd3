# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.multi_head"

F32 = np.float32


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _map(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)


def _gates(beta, dtype=F32):
    b = float(beta)
    e = np.exp(-abs(b))
    hi, lo = 1 / (1 + e), e / (1 + e)
    return (dtype(hi), dtype(lo)) if b >= 0 else (dtype(lo), dtype(hi))


def _quotient(num, den):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0
    return out


def _local(q, k, v, scale):
    x = (q @ k.T) * q.dtype.type(scale)
    x[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp(x - x.max(1, keepdims=True))
    return (p @ v) / p.sum(1, keepdims=True)


def _rotate(x, positions):
    d = x.shape[1]
    angle = np.asarray(positions, np.float64)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    out = np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * c - x[:, 1::2] * s
    out[:, 1::2] = x[:, 0::2] * s + x[:, 1::2] * c
    return out


def _head(q, k, v, beta, M, z, L, update="linear", position="none", scale=None):
    """Right: one head over its segments."""
    n, d = q.shape
    t = q.dtype.type
    g, l = _gates(beta, t)
    scale = 1 / np.sqrt(d) if scale is None else scale
    qr, kr = (q, k) if position == "none" else (_rotate(q, np.arange(n)), _rotate(k, np.arange(n)))
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f, fk, w = _map(q[s]), _map(k[s]), v[s]
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(qr[s], kr[s], w, scale)
        if update == "delta":
            w = w - _quotient(fk @ M, fk @ z)
        M, z = M + fk.T @ w, z + fk.sum(0)
    return o, M, z


def _start(memory, z, h, d, m, dtype=F32):
    return (
        np.zeros((h, d, m), dtype) if memory is None else np.array(memory, dtype),
        np.zeros((h, d), dtype) if z is None else np.array(z, dtype),
    )


# category 1
@kernel(
    "wrong",
    "the heads' columns are interleaved before the output projection, column 0 of all heads first, while "
    "w_o stands head after head (h > 1, m > 1)",
)
def columns_interleaved(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    A = np.zeros((len(x), h, m), F32)
    for i in range(h):
        A[:, i], M[i], z[i] = _head(
            x @ w_q[i], x @ w_k[i], x @ w_v[i], beta[i], M[i], z[i], segment or max(len(x), 1), update
        )
    return {"o": A.transpose(0, 2, 1).reshape(len(x), h * m) @ w_o.reshape(h * m, f), "memory": M, "z": z}


# category 4
@kernel("wrong", "all heads use the gate of head 0 (h > 1)")
def beta_of_head_zero(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    o = np.zeros((len(x), f), F32)
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i], x @ w_k[i], x @ w_v[i], beta[0], M[i], z[i], segment or max(len(x), 1), update, position
        )
        o += a @ w_o[i]
    return {"o": o, "memory": M, "z": z}


# category 2
@kernel("wrong", "the heads' results are rounded to bfloat16 before the output projection")
def heads_in_bf16(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    o = np.zeros((len(x), f), F32)
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i], x @ w_k[i], x @ w_v[i], beta[i], M[i], z[i], segment or max(len(x), 1), update
        )
        o += _bf16(a) @ w_o[i]
    return {"o": o, "memory": M, "z": z}


# category 4
@kernel(
    "wrong",
    "with a carried state and several heads, head g starts from the z of head h - 1 - g (reversed), its "
    "memory is its own",
)
def carried_z_reversed(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    z = z[::-1].copy()
    o = np.zeros((len(x), f), F32)
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i], x @ w_k[i], x @ w_v[i], beta[i], M[i], z[i], segment or max(len(x), 1), update
        )
        o += a @ w_o[i]
    return {"o": o, "memory": M, "z": z}


# category 1
@kernel(
    "wrong",
    "the scale of the local products is 1/sqrt(e / h), the width of tokens over the heads, in place of "
    "1/sqrt(d) (e != h d)",
)
def scale_of_model_width(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    o = np.zeros((len(x), f), F32)
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i],
            x @ w_k[i],
            x @ w_v[i],
            beta[i],
            M[i],
            z[i],
            segment or max(len(x), 1),
            update,
            scale=np.sqrt(h / e),
        )
        o += a @ w_o[i]
    return {"o": o, "memory": M, "z": z}


# category 3
@kernel(
    "wrong",
    "the output projection runs over rows of [a^0 | ..] in tiles of 16: a last partial tile is dropped "
    "where h m > 16 and h m % 16 != 0",
)
def projection_tail_dropped(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear"):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    parts = []
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i], x @ w_k[i], x @ w_v[i], beta[i], M[i], z[i], segment or max(len(x), 1), update
        )
        parts.append(a)
    A, W = np.concatenate(parts, 1), w_o.reshape(h * m, f)
    full = h * m - h * m % 16 if h * m > 16 else h * m
    return {"o": A[:, :full] @ W[:full], "memory": M, "z": z}


# category 5
@kernel("wrong", "every gate is clamped to [0.1, 0.9] (|beta| > 2.2)")
def gate_clamped(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    M, z = _start(memory, z, h, d, m)
    o = np.zeros((len(x), f), F32)
    bound = np.log(0.9 / 0.1)
    for i in range(h):
        a, M[i], z[i] = _head(
            x @ w_q[i],
            x @ w_k[i],
            x @ w_v[i],
            np.clip(float(beta[i]), -bound, bound),
            M[i],
            z[i],
            segment or max(len(x), 1),
        )
        o += a @ w_o[i]
    return {"o": o, "memory": M, "z": z}


# correct
@kernel(
    "correct",
    "one product makes queries, keys and values of all heads, heads are walked from the last to the first"
    " and added into the output, in float64 and rounded once",
)
def fused_projections(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None, update="linear", position="none"):
    D = np.float64
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    n = len(x)
    W = np.concatenate([w.transpose(1, 0, 2).reshape(e, -1) for w in (w_q, w_k, w_v)], 1).astype(D)
    Y = x.astype(D) @ W
    Q, K, V = (
        Y[:, : h * d].reshape(n, h, d),
        Y[:, h * d : 2 * h * d].reshape(n, h, d),
        Y[:, 2 * h * d :].reshape(n, h, m),
    )
    M, z = _start(memory, z, h, d, m, D)
    o = np.zeros((n, f))
    for i in range(h - 1, -1, -1):
        a, M[i], z[i] = _head(Q[:, i], K[:, i], V[:, i], beta[i], M[i], z[i], segment or max(n, 1), update, position)
        o += a @ w_o[i].astype(D)
    return {"o": o.astype(F32), "memory": M.astype(F32), "z": z.astype(F32)}


# correct
@kernel(
    "correct",
    "the output projection is folded into the values, x (w_v w_o) per head, so that attention and "
    "retrieval work on projected values and the heads are summed; the memory's own update is made apart",
    params={"update": "linear"},
)
def projection_folded(x, w_q, w_k, w_v, w_o, beta, memory=None, z=None, segment=None):
    h, e, d = w_q.shape
    m, f = w_o.shape[1:]
    n = len(x)
    M, z = _start(memory, z, h, d, m)
    L = segment or max(n, 1)
    o = np.zeros((n, f), F32)
    for i in range(h):
        q, k, v = x @ w_q[i], x @ w_k[i], x @ w_v[i]
        a, _, znew = _head(q, k, v @ w_o[i], beta[i], M[i] @ w_o[i], z[i], L)
        o += a
        M[i] = M[i] + _map(k).T @ v
        z[i] = znew
    return {"o": o, "memory": M, "z": z}
