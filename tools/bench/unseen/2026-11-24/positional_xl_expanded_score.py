# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.xl_expanded_score"

F32 = np.float32
F64 = np.float64


def _plain(x_q, p_q, x_k, p_k, w_q, w_k):
    return ((x_q + p_q) @ w_q) @ ((x_k + p_k) @ w_k).T


# category 7
@kernel("wrong", "the third term reads G transposed: p_i G^T x_j^T")
def third_term_transposed(x_q, p_q, x_k, p_k, w_q, w_k):
    G = w_q @ w_k.T
    return (x_q @ G) @ x_k.T + (x_q @ G) @ p_k.T + (p_q @ G.T) @ x_k.T + (p_q @ G) @ p_k.T


# category 1
@kernel("wrong", "the term of position with position is left out on the diagonal i = j")
def diagonal_without_positions(x_q, p_q, x_k, p_k, w_q, w_k):
    a = _plain(x_q, p_q, x_k, p_k, w_q, w_k)
    i = np.arange(min(a.shape))
    a[i, i] -= ((p_q @ w_q) @ (p_k @ w_k).T)[i, i]
    return a


# category 3
@kernel(
    "wrong",
    "tiles of 24 keys: the positions are not added to the keys of the last partial tile (s not a multiple of 24)",
)
def tail_keys_without_position(x_q, p_q, x_k, p_k, w_q, w_k):
    lo = len(x_k) // 24 * 24
    k = np.concatenate([x_k[:lo] + p_k[:lo], x_k[lo:]])
    return ((x_q + p_q) @ w_q) @ (k @ w_k).T


# category 4
@kernel("wrong", "where n = s self-attention is assumed: keys get the positions of the queries, p_q in place of p_k")
def positions_of_queries(x_q, p_q, x_k, p_k, w_q, w_k):
    return _plain(x_q, p_q, x_k, p_q if len(x_q) == len(x_k) else p_k, w_q, w_k)


@kernel(
    "correct",
    "one product of [x_q | p_q] with [[G, G], [G, G]] and [x_k | p_k]^T, the d columns of the projections"
    " added one outer product after the other from the last, double",
)
def one_block_product(x_q, p_q, x_k, p_k, w_q, w_k):
    left = np.concatenate([x_q, p_q], 1).astype(F64)
    right = np.concatenate([x_k, p_k], 1).astype(F64)
    wq = np.concatenate([w_q, w_q]).astype(F64)
    wk = np.concatenate([w_k, w_k]).astype(F64)
    a = np.zeros((len(left), len(right)))
    for c in range(wq.shape[1] - 1, -1, -1):
        a += np.outer(left @ wq[:, c], right @ wk[:, c])
    return a.astype(F32)
