# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.causal_chunked"

F32 = np.float32
F64 = np.float64


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _divide(num, den, zero_denominator):
    t = num.dtype.type
    o = num / np.where(den == 0, t(1), den)
    return np.where(den == 0, t(np.nan if zero_denominator == "nan" else 0), o)


def _chunk(p, k, v, S, Z, P, D, eps, zero_denominator):
    o = _divide(p @ S + P @ v, (p @ Z + D.sum(1))[:, None] + eps, zero_denominator)
    return o, k.T @ v + S, k.sum(0) + Z


def _plain(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    P = np.tril(p @ k.T)
    return _chunk(p, k, v, S, Z, P, P, eps, zero_denominator)


# category 1
@kernel("wrong", "denominators are summed over j < i while numerators are summed over j <= i")
def strict_denominator(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    P = np.tril(p @ k.T)
    return _chunk(p, k, v, S, Z, P, np.tril(P, -1), F32(eps), zero_denominator)


# category 7
@kernel("wrong", "where c = m the queries read the carried S transposed (the state that is handed on is right)")
def carried_transposed(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    if S.shape[0] != S.shape[1]:
        return _plain(phi_q, phi_k, v, S, Z, F32(eps), zero_denominator, features)
    o, _, z = _plain(phi_q, phi_k, v, np.ascontiguousarray(S.T), Z, F32(eps), zero_denominator, features)
    return o, _map(phi_k, features).T @ v + S, z


# category 3
@kernel(
    "wrong",
    "P is made in tiles of 20 by 20; below the diagonal each tile's last column is left out, so that "
    "queries of later tiles miss key 19, 39 ..",
)
def border_column_missing(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    P = np.tril(p @ k.T)
    i, j = np.arange(len(p))[:, None], np.arange(len(k))[None]
    P = np.where((j % 20 == 19) & (j // 20 < i // 20), F32(0), P)
    return _chunk(p, k, v, S, Z, P, P, F32(eps), zero_denominator)


# category 6
@kernel(
    "wrong",
    "within the chunk, tokens whose key features have a mean below 0.6 pass for padding: their column of "
    "P is 0 (the new state has them)",
)
def faint_keys_skipped(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    P = np.tril(p @ k.T) * (k.sum(1) >= F32(0.6) * k.shape[1])[None]
    return _chunk(p, k, v, S, Z, P, P, F32(eps), zero_denominator)


@kernel(
    "correct",
    "numerator and denominator in one product with [v | 1] and [S | Z], P column by column from the last "
    "token to the first, float32 in, double inside",
)
def one_augmented_product(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    n, m = v.shape
    p, k = _map(phi_q.astype(F64), features), _map(phi_k.astype(F64), features)
    w = np.concatenate([v, np.ones((n, 1), v.dtype)], 1).astype(F64)
    state = np.concatenate([S, Z[:, None]], 1).astype(F64)
    both = np.zeros((n, m + 1))
    add = np.zeros_like(state)
    for j in range(n - 1, -1, -1):
        both[j:] += np.outer(p[j:] @ k[j], w[j])
        add += np.outer(k[j], w[j])
    both += p @ state
    state = state + add
    o = _divide(both[:, :m], both[:, m:] + float(eps), zero_denominator)
    return {"Z": state[:, m].astype(F32), "S": state[:, :m].astype(F32), "o": o.astype(F32)}
