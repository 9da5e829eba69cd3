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


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _inverse(d):
    """1 / d, and 0 where d is exactly 0."""
    r = np.zeros_like(d)
    np.divide(np.ones_like(d), d, out=r, where=d != 0)
    return r


def _numerator(q, k, v, g):
    """Gradients of the numerator, right: by queries, keys, values."""
    A, W = np.tril(q @ k.T), np.tril(g @ v.T)
    return W @ k, W.T @ q, A.T @ g


def _forward(q, k, v, eps):
    P = np.tril(q @ k.T)
    d = P.sum(1) + q.dtype.type(eps)
    return (P @ v) * _inverse(d)[:, None], d


def _parts(q, k, v, grad_o, eps):
    o, d = _forward(q, k, v, eps)
    r = _inverse(d)
    return grad_o * r[:, None], -(grad_o * o).sum(1) * r


# category 6
@kernel("wrong", "the gradient by the keys lacks the term that comes through the denominator, sum of e_j phi_q_j")
def keys_without_denominator(phi_q, phi_k, v, grad_o, eps=0.0):
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "the reverse sum of e_j phi_q_j in the gradient by the keys starts at j = i + 1 in place of j = i")
def reverse_sum_strict(phi_q, phi_k, v, grad_o, eps=0.0):
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    t = e[:, None] * phi_q
    gk = gk + (np.cumsum(t[::-1], 0, dtype=F32)[::-1] - t)
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "e_i divides by the square of the denominator: -(grad_o . o) / d^2 (o is already divided once)")
def e_divided_twice(phi_q, phi_k, v, grad_o, eps=0.0):
    o, d = _forward(phi_q, phi_k, v, eps)
    r = _inverse(d)
    G, e = grad_o * r[:, None], -(grad_o * o).sum(1) * r * r
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "the backward pass makes its denominators again without eps (eps > 0), o is made with it")
def eps_forgotten_backward(phi_q, phi_k, v, grad_o, eps=0.0):
    o, _ = _forward(phi_q, phi_k, v, eps)
    _, d = _forward(phi_q, phi_k, v, 0.0)
    r = _inverse(d)
    G, e = grad_o * r[:, None], -(grad_o * o).sum(1) * r
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 2
@kernel("wrong", "the outputs o that the forward pass saved for e are in bfloat16")
def saved_output_bf16(phi_q, phi_k, v, grad_o, eps=0.0):
    o, d = _forward(phi_q, phi_k, v, eps)
    o = _bf16(o)
    r = _inverse(d)
    G, e = grad_o * r[:, None], -(grad_o * o).sum(1) * r
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 3
@kernel(
    "wrong",
    "backward over chunks of 64: the carried sum of e_j phi_q_j is overwritten by each chunk's own sum in"
    " place of being added to, so chunks more than one behind are lost (n > 128)",
)
def carry_overwritten(phi_q, phi_k, v, grad_o, eps=0.0):
    n, c = phi_q.shape
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    carry = np.zeros(c, F32)
    for a in reversed(range(0, n, 64)):
        t = e[a : a + 64, None] * phi_q[a : a + 64]
        gk[a : a + 64] += np.cumsum(t[::-1], 0, dtype=F32)[::-1] + carry
        carry = t.sum(0)
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel(
    "wrong",
    "grad_v uses grad_o in place of G for the token itself (the diagonal of the triangle is not divided by d_i)",
)
def diagonal_undivided(phi_q, phi_k, v, grad_o, eps=0.0):
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    own = (phi_q * phi_k).sum(1)[:, None]
    gv = gv + own * (grad_o - G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# correct
@kernel(
    "correct",
    "the gradients of the numerator alone on the values [v | 1] with the cotangents [G | e], by chunks of"
    " 11 with states in float64, rounded once",
)
def augmented_chunks_of_11(phi_q, phi_k, v, grad_o, eps=0.0):
    n, c = phi_q.shape
    m = v.shape[1]
    q, k, g = (x.astype(np.float64) for x in (phi_q, phi_k, grad_o))
    w = np.hstack([v.astype(np.float64), np.ones((n, 1))])
    gq, gk, gw = np.zeros((n, c)), np.zeros((n, c)), np.zeros((n, m + 1))
    c2 = np.zeros((n, m + 1))
    S = np.zeros((c, m + 1))
    for a in range(0, n, 11):
        s = slice(a, a + 11)
        both = q[s] @ S + np.tril(q[s] @ k[s].T) @ w[s]
        r = _inverse(both[:, m] + eps)
        c2[s, :m] = g[s] * r[:, None]
        c2[s, m] = -(g[s] * both[:, :m]).sum(1) * r * r
        gq[s] = c2[s] @ S.T + np.tril(c2[s] @ w[s].T) @ k[s]
        S = S + k[s].T @ w[s]
    R = np.zeros((c, m + 1))
    for a in reversed(range(0, n, 11)):
        s = slice(a, a + 11)
        gk[s] = w[s] @ R.T + np.tril(c2[s] @ w[s].T).T @ q[s]
        gw[s] = k[s] @ R + np.tril(q[s] @ k[s].T).T @ c2[s]
        R = R + q[s].T @ c2[s]
    return {"grad_phi_q": gq.astype(F32), "grad_phi_k": gk.astype(F32), "grad_v": gw[:, :m].astype(F32)}


# correct
@kernel(
    "correct",
    "the attention matrix way: with a = P / d, the cotangent of P is (grad_o v^T - (grad_o . o)) / d "
    "inside the triangle, and three products with it give the gradients; row by row, float32",
)
def through_the_matrix(phi_q, phi_k, v, grad_o, eps=0.0):
    n = len(v)
    gq, gk, gv = np.zeros_like(phi_q), np.zeros_like(phi_k), np.zeros_like(v)
    for i in range(n):
        p = phi_k[: i + 1] @ phi_q[i]
        d = p.sum() + F32(eps)
        if d == 0:
            continue
        a = p / d
        o = a @ v[: i + 1]
        dp = (v[: i + 1] @ grad_o[i] - grad_o[i] @ o) / d
        gv[: i + 1] += a[:, None] * grad_o[i]
        gq[i] = dp @ phi_k[: i + 1]
        gk[: i + 1] += dp[:, None] * phi_q[i]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 5
@kernel(
    "wrong",
    "denominators are clamped to at least 1 before the division, in G and in e alike (short prefixes with"
    " small features, d_i < 1)",
)
def denominator_clamped(phi_q, phi_k, v, grad_o, eps=0.0):
    P = np.tril(phi_q @ phi_k.T)
    d = np.maximum(P.sum(1) + F32(eps), F32(1))
    o = (P @ v) / d[:, None]
    G, e = grad_o / d[:, None], -(grad_o * o).sum(1) / d
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel("wrong", "the denominator's term in grad_phi_q takes Z without the token's own key, e_i Z_(i-1)")
def query_term_with_old_z(phi_q, phi_k, v, grad_o, eps=0.0):
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * (np.cumsum(phi_k, 0, dtype=F32) - phi_k)
    gk = gk + np.cumsum((e[:, None] * phi_q)[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}


# category 6
@kernel(
    "wrong",
    "e_j is taken at the receiving token: grad_phi_k_i gets e_i times the sum over j >= i of phi_q_j in "
    "place of the sum of e_j phi_q_j (n > 1)",
)
def e_outside_the_sum(phi_q, phi_k, v, grad_o, eps=0.0):
    G, e = _parts(phi_q, phi_k, v, grad_o, eps)
    gq, gk, gv = _numerator(phi_q, phi_k, v, G)
    gq = gq + e[:, None] * np.cumsum(phi_k, 0, dtype=F32)
    gk = gk + e[:, None] * np.cumsum(phi_q[::-1], 0, dtype=F32)[::-1]
    return {"grad_phi_q": gq, "grad_phi_k": gk, "grad_v": gv}
