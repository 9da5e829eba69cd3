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


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _grads(q, k, v, g):
    """Right, the quadratic form."""
    A, W = np.tril(q @ k.T), np.tril(g @ v.T)  # A_ij, W_ij = g_i . v_j, j <= i
    return W @ k, W.T @ q, A.T @ g


# category 6
@kernel("wrong", "the gradient by the keys sums over tokens j <= i, as the paper prints it, in place of j >= i")
def keys_look_back(phi_q, phi_k, v, grad_o):
    gq, _, gv = _grads(phi_q, phi_k, v, grad_o)
    R = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    gk = np.zeros_like(phi_k)
    for i in range(len(v)):
        R += np.outer(phi_q[i], grad_o[i])
        gk[i] = R @ v[i]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "the gradient by the queries leaves out the token itself: its state is read before the token is added")
def query_state_exclusive(phi_q, phi_k, v, grad_o):
    _, gk, gv = _grads(phi_q, phi_k, v, grad_o)
    S = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    gq = np.zeros_like(phi_q)
    for i in range(len(v)):
        gq[i] = S @ grad_o[i]
        S += phi_k[i][:, None] * v[i]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "the reverse sum for grad_v is off by one: R of token i + 1 is used for token i, so the last row is 0")
def values_off_by_one(phi_q, phi_k, v, grad_o):
    gq, gk, _ = _grads(phi_q, phi_k, v, grad_o)
    R = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    gv = np.zeros_like(v)
    for i in range(len(v) - 1, -1, -1):
        gv[i] = phi_k[i] @ R
        R += phi_q[i][:, None] * grad_o[i]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 3
@kernel(
    "wrong",
    "the backward pass over chunks of 32 starts at the last whole chunk: where n % 32 != 0 (n > 32) the "
    "partial chunk gives nothing to the reverse state of the chunks before it",
)
def partial_chunk_dropped(phi_q, phi_k, v, grad_o):
    n, c = phi_q.shape
    gq, _, _ = _grads(phi_q, phi_k, v, grad_o)
    gk, gv = np.zeros_like(phi_k), np.zeros_like(v)
    R = np.zeros((c, v.shape[1]), F32)
    for a in reversed(range(0, n, 32)):
        q, k, w, g = (x[a : a + 32] for x in (phi_q, phi_k, v, grad_o))
        A, W = np.tril(q @ k.T), np.tril(g @ w.T)
        gk[a : a + 32] = w @ R.T + W.T @ q
        gv[a : a + 32] = k @ R + A.T @ g
        if len(w) == 32:
            R = R + q.T @ g
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 2
@kernel("wrong", "the reverse state is stored in bfloat16 between chunks of 16 tokens (n > 16)")
def bf16_reverse_state(phi_q, phi_k, v, grad_o):
    n, c = phi_q.shape
    gq, _, _ = _grads(phi_q, phi_k, v, grad_o)
    gk, gv = np.zeros_like(phi_k), np.zeros_like(v)
    R = np.zeros((c, v.shape[1]), F32)
    for a in reversed(range(0, n, 16)):
        q, k, w, g = (x[a : a + 16] for x in (phi_q, phi_k, v, grad_o))
        A, W = np.tril(q @ k.T), np.tril(g @ w.T)
        gk[a : a + 16] = w @ R.T + W.T @ q
        gv[a : a + 16] = k @ R + A.T @ g
        R = _bf16(R + q.T @ g)
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 2
@kernel(
    "wrong", "a float64 kernel whose products of cotangents and values (grad_o v^T) are made in float32", profile="f64"
)
def single_products_in_double(phi_q, phi_k, v, grad_o):
    A = np.tril(phi_q @ phi_k.T)
    W = np.tril(grad_o.astype(F32) @ v.astype(F32).T).astype(np.float64)
    return {"grad_phi_q": W @ phi_k, "grad_phi_k": W.T @ phi_q, "grad_v": A.T @ grad_o}


# category 4
@kernel("wrong", "for odd c the last feature's column of grad_phi_k is left at 0 (pairs of features are stored, c > 1)")
def odd_feature_unwritten(phi_q, phi_k, v, grad_o):
    gq, gk, gv = _grads(phi_q, phi_k, v, grad_o)
    c = phi_k.shape[1]
    if c > 1 and c % 2:
        gk = gk.copy()
        gk[:, c - 1] = 0
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# correct
@kernel(
    "correct",
    "halving: each half of the sequence is done alone, then the left half's state goes to the right "
    "half's queries and the right half's reverse state to the left half's keys and values",
)
def halving(phi_q, phi_k, v, grad_o):
    gq, gk, gv = np.zeros_like(phi_q), np.zeros_like(phi_k), np.zeros_like(v)

    def part(a, b):
        if b - a <= 3:
            for i in range(a, b):
                for j in range(a, i + 1):
                    w = grad_o[i] @ v[j]
                    gq[i] += w * phi_k[j]
                    gk[j] += w * phi_q[i]
                    gv[j] += (phi_q[i] @ phi_k[j]) * grad_o[i]
            return phi_k[a:b].T @ v[a:b], phi_q[a:b].T @ grad_o[a:b]
        h = (a + b) // 2
        S1, R1 = part(a, h)
        S2, R2 = part(h, b)
        gq[h:b] += grad_o[h:b] @ S1.T
        gk[a:h] += v[a:h] @ R2.T
        gv[a:h] += phi_k[a:h] @ R2
        return S1 + S2, R1 + R2

    if len(v):
        part(0, len(v))
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# correct
@kernel(
    "correct",
    "whole prefix sums: cumulative sums of outer products, the reverse one by flipping the tokens, in "
    "float64 and rounded once",
)
def flipped_cumulative_sums(phi_q, phi_k, v, grad_o):
    q, k, w, g = (x.astype(np.float64) for x in (phi_q, phi_k, v, grad_o))
    S = np.cumsum(k[:, :, None] * w[:, None, :], 0)
    R = np.cumsum((q[:, :, None] * g[:, None, :])[::-1], 0)[::-1]
    return {
        "grad_phi_q": np.einsum("ncm,nm->nc", S, g).astype(F32),
        "grad_phi_k": np.einsum("ncm,nm->nc", R, w).astype(F32),
        "grad_v": np.einsum("ncm,nc->nm", R, k).astype(F32),
    }


# category 6
@kernel(
    "wrong",
    "in chunks of 32, grad_phi_k lacks the contributions from inside the token's own chunk except its own"
    " (the triangle there is replaced by its diagonal, n > 1)",
)
def own_chunk_diagonal_only(phi_q, phi_k, v, grad_o):
    n, c = phi_q.shape
    gq, _, gv = _grads(phi_q, phi_k, v, grad_o)
    gk = np.zeros_like(phi_k)
    R = np.zeros((c, v.shape[1]), F32)
    for a in reversed(range(0, n, 32)):
        q, w, g = phi_q[a : a + 32], v[a : a + 32], grad_o[a : a + 32]
        gk[a : a + 32] = w @ R.T + (g * w).sum(1)[:, None] * q
        R = R + q.T @ g
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}
