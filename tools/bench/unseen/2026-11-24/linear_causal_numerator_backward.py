# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.causal_numerator_backward"

F32 = np.float32
F64 = np.float64


def _plain(phi_q, phi_k, v, grad_o, chunk=64):
    D = np.tril(grad_o @ v.T)
    P = np.tril(phi_q @ phi_k.T)
    return D @ phi_k, D.T @ phi_q, P.T @ grad_o


# category 1
@kernel("wrong", "grad_v_i sums over j > i: the token's own product is missing there (grad_phi_k has it)")
def own_token_missing(phi_q, phi_k, v, grad_o, chunk=64):
    gq, gk, gv = _plain(phi_q, phi_k, v, grad_o)
    return gq, gk, np.tril(phi_q @ phi_k.T, -1).T @ grad_o


# category 3
@kernel(
    "wrong",
    "reverse sweep in chunks of 40: the state handed back leaves out the first token of the chunk that it comes from",
)
def first_of_next_chunk_lost(phi_q, phi_k, v, grad_o, chunk=64):
    gq = _plain(phi_q, phi_k, v, grad_o)[0]
    n = len(v)
    gk, gv = np.zeros_like(phi_k), np.zeros_like(v)
    R = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    for lo in range((max(n, 1) - 1) // 40 * 40, -1, -40):
        t = slice(lo, min(lo + 40, n))
        _, ik, iv = _plain(phi_q[t], phi_k[t], v[t], grad_o[t])
        gk[t] = ik + v[t] @ R.T
        gv[t] = iv + phi_k[t] @ R
        R = R + phi_q[t][1:].T @ grad_o[t][1:]
    return gq, gk, gv


# category 2
@kernel("wrong", "the reverse state R is a float32 array in a float64 kernel", profile="f64")
def reverse_state_single(phi_q, phi_k, v, grad_o, chunk=64):
    gq = _plain(phi_q, phi_k, v, grad_o)[0]
    gk, gv = np.zeros_like(phi_k), np.zeros_like(v)
    R = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    for i in range(len(v) - 1, -1, -1):
        R = (R + np.outer(phi_q[i], grad_o[i])).astype(F32)
        gk[i] = R.astype(F64) @ v[i]
        gv[i] = phi_k[i] @ R.astype(F64)
    return gq, gk, gv


# category 6
@kernel(
    "wrong",
    "entries of grad_o beyond 1.5 in magnitude are clipped to it for keys and values (gradient clipping "
    "left in); queries get them whole",
)
def cotangents_clipped(phi_q, phi_k, v, grad_o, chunk=64):
    gq = _plain(phi_q, phi_k, v, grad_o)[0]
    return (gq,) + _plain(phi_q, phi_k, v, np.clip(grad_o, F32(-1.5), F32(1.5)))[1:]


@kernel(
    "correct",
    "sums from the end as the total minus what came before, in double and in chunks of 17; products transposed",
)
def total_minus_prefix(phi_q, phi_k, v, grad_o, chunk=64):
    q, k, w, g = (np.ascontiguousarray(a.T.astype(F64)) for a in (phi_q, phi_k, v, grad_o))
    n = q.shape[1]
    gq, gk, gv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(w)
    S = np.zeros((len(w), len(k)))
    seen = np.zeros((len(q), len(g)))
    total = q @ g.T
    for lo in range(0, n, 17):
        t = slice(lo, min(lo + 17, n))
        upper = np.triu(np.ones((t.stop - t.start,) * 2))
        strict = np.triu(upper, 1)
        gq[:, t] = S.T @ g[:, t] + k[:, t] @ ((w[:, t].T @ g[:, t]) * upper)
        R = total - seen
        gk[:, t] = R @ w[:, t] - q[:, t] @ ((g[:, t].T @ w[:, t]) * strict)
        gv[:, t] = R.T @ k[:, t] - g[:, t] @ ((q[:, t].T @ k[:, t]) * strict)
        S = S + w[:, t] @ k[:, t].T
        seen = seen + q[:, t] @ g[:, t].T
    return tuple(np.ascontiguousarray(a.T).astype(F32) for a in (gq, gk, gv))
