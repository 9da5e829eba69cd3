# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


EQUATION = "positional.xl_expanded_score"


@kernel(
    "correct",
    "the four terms as one product: (x_q + p_q) w_q is the sum of two products, [x_k | p_k] is stacked "
    "and its two halves added after the last product, in tiles of 10 keys",
)
def stacked_halves(x_q, p_q, x_k, p_k, w_q, w_k):
    q = x_q @ w_q + p_q @ w_q
    a = np.empty((len(q), len(x_k)), np.float32)
    for b in range(0, len(x_k), 10):
        both = np.concatenate([x_k[b : b + 10], p_k[b : b + 10]]) @ w_k
        y = both @ q.T
        half = len(both) // 2
        a[:, b : b + 10] = (y[:half] + y[half:]).T
    return a


@kernel(
    "wrong",
    "the third term p_i G x_j takes the transpose of G: queries' positions go through w_k and tokens of "
    "keys through w_q",
)
def third_term_transposed(x_q, p_q, x_k, p_k, w_q, w_k):
    q, k, r = x_q @ w_q, x_k @ w_k, p_k @ w_k
    return q @ k.T + q @ r.T + (p_q @ w_k) @ (x_k @ w_q).T + (p_q @ w_q) @ r.T


@kernel("wrong", "token and position are added in bfloat16 before the projections of a float32 kernel")
def embedding_sum_bf16(x_q, p_q, x_k, p_k, w_q, w_k):
    return (bf16(x_q + p_q) @ w_q) @ (bf16(x_k + p_k) @ w_k).T


@kernel(
    "wrong",
    "the term of two positions is made for j >= i only and mirrored below the diagonal, as if G were "
    "symmetric; only for n == s (other shapes are made in full)",
)
def positions_mirrored(x_q, p_q, x_k, p_k, w_q, w_k):
    q, r = x_q @ w_q, p_q @ w_q
    k, t = x_k @ w_k, p_k @ w_k
    last = r @ t.T
    if len(q) == len(k):
        last = np.triu(last) + np.triu(last, 1).T
    return q @ k.T + q @ t.T + r @ k.T + last


@kernel("wrong", "the scores are divided by sqrt(d), where the equation has no scale; only for d > 1")
def scaled(x_q, p_q, x_k, p_k, w_q, w_k):
    return ((x_q + p_q) @ w_q) @ ((x_k + p_k) @ w_k).T * np.float32(1 / np.sqrt(w_q.shape[1]))


CATEGORIES.update(third_term_transposed=1, embedding_sum_bf16=2, positions_mirrored=4, scaled=5)
