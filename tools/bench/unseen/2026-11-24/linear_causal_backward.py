# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.causal_backward"

F32 = np.float32
F64 = np.float64


def _forward(q, k, v, eps):
    P = np.tril(q @ k.T)
    den = P.sum(1, keepdims=True) + eps
    dead = den == 0
    inv = np.where(dead, 0, 1 / np.where(dead, 1, den)).astype(q.dtype)
    return (P @ v) * inv, inv


def _pull(q, k, v, G, e, lower=None):
    n = len(q)
    lower = np.tril(np.ones((n, n), q.dtype)) if lower is None else lower
    D = (G @ v.T + e) * np.tril(np.ones((n, n), q.dtype))
    D2 = (G @ v.T + e) * lower
    return D @ k, D2.T @ q, ((q @ k.T) * lower).T @ G


def _plain(phi_q, phi_k, v, grad_o, eps=0.0):
    o, inv = _forward(phi_q, phi_k, v, eps)
    return _pull(phi_q, phi_k, v, grad_o * inv, -(grad_o * o).sum(1, keepdims=True) * inv)


# category 1
@kernel("wrong", "e_i = -(grad_o_i . o_i): the division by d_i is forgotten in the way through the denominator")
def e_not_divided(phi_q, phi_k, v, grad_o, eps=0.0):
    o, inv = _forward(phi_q, phi_k, v, F32(eps))
    return _pull(phi_q, phi_k, v, grad_o * inv, -(grad_o * o).sum(1, keepdims=True) * (inv != 0))


# category 3
@kernel(
    "wrong",
    "chunks of 16 from the end: in the last chunk, where it is partial, the sums for keys and values run "
    "over the whole chunk and not over j >= i",
)
def tail_chunk_not_causal(phi_q, phi_k, v, grad_o, eps=0.0):
    n = len(phi_q)
    lower = np.tril(np.ones((n, n), F32))
    if n % 16:
        lo = n // 16 * 16
        lower[lo:, lo:] = 1
    o, inv = _forward(phi_q, phi_k, v, F32(eps))
    return _pull(phi_q, phi_k, v, grad_o * inv, -(grad_o * o).sum(1, keepdims=True) * inv, lower)


# category 4
@kernel("wrong", "with eps > 0 the outputs are recomputed without eps while G is divided by the denominator with it")
def outputs_without_eps(phi_q, phi_k, v, grad_o, eps=0.0):
    o, _ = _forward(phi_q, phi_k, v, F32(0))
    _, inv = _forward(phi_q, phi_k, v, F32(eps))
    return _pull(phi_q, phi_k, v, grad_o * inv, -(grad_o * o).sum(1, keepdims=True) * inv)


# category 6
@kernel("wrong", "tokens with grad_o . o < 0 pass nothing through the denominator: e_i is limited to 0 from above")
def denominator_gradient_one_sided(phi_q, phi_k, v, grad_o, eps=0.0):
    o, inv = _forward(phi_q, phi_k, v, F32(eps))
    return _pull(phi_q, phi_k, v, grad_o * inv, -np.maximum((grad_o * o).sum(1, keepdims=True), 0) * inv)


@kernel(
    "correct",
    "values [v | 1], cotangents [G | e]: a state forwards, a state backwards, token by token; grad_k and "
    "grad_v from the same reverse state; float64 with e from the quotient's own products",
    profile="f64",
)
def two_sweeps(phi_q, phi_k, v, grad_o, eps=0.0):
    n, c = phi_q.shape
    m = v.shape[1]
    w = np.concatenate([v, np.ones((n, 1))], 1)
    state = np.zeros((m + 1, c))
    G = np.zeros((n, m + 1))
    gq, gk, gv = np.zeros((n, c)), np.zeros((n, c)), np.zeros((n, m))
    for i in range(n):
        state += np.outer(w[i], phi_k[i])
        x = state @ phi_q[i]
        den = x[m] + eps
        if den != 0:
            G[i, :m] = grad_o[i] / den
            G[i, m] = -(G[i, :m] @ (x[:m] / den))
        gq[i] = state.T @ G[i]
    back = np.zeros((c, m + 1))
    for i in range(n - 1, -1, -1):
        back += np.outer(phi_q[i], G[i])
        gk[i] = back @ w[i]
        gv[i] = phi_k[i] @ back[:, :m]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}
