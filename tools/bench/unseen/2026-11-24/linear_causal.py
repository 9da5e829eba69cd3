# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.causal"

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


def _state(phi_k, v, S, Z):
    c, m = phi_k.shape[1], v.shape[1]
    return (np.zeros((c, m), phi_k.dtype) if S is None else S), (np.zeros(c, phi_k.dtype) if Z is None else Z)


def _run(p, k, v, S, Z, eps, zero_denominator, chunk=32, hook=""):
    o = np.empty((len(p), v.shape[1]), p.dtype)
    for lo in range(0, len(p), chunk):
        t = slice(lo, lo + chunk)
        P = np.tril(p[t] @ k[t].T)
        D = np.tril(P, -1) if hook == "no_diagonal" and lo else P
        den = (p[t] @ Z + D.sum(1))[:, None] + eps
        if hook == "at_least_one":
            den = np.maximum(den, F32(1))
        o[t] = _divide(p[t] @ S + P @ v[t], den, zero_denominator)
        S, Z = S + k[t].T @ v[t], Z + k[t].sum(0)
    return o, np.array(S), np.array(Z)


def _plain(phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"):
    S, Z = _state(phi_k, v, S, Z)
    return _run(_map(phi_q, features), _map(phi_k, features), v, S, Z, eps, zero_denominator)


# category 3
@kernel(
    "wrong",
    "chunks of 32: in every chunk but the first the denominators leave out the token itself (the numerators do not)",
)
def own_key_not_in_denominator(
    phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"
):
    S, Z = _state(phi_k, v, S, Z)
    return _run(_map(phi_q, features), _map(phi_k, features), v, S, Z, F32(eps), zero_denominator, hook="no_diagonal")


# category 4
@kernel(
    "wrong",
    "the carried state counts only where S and Z are both given: an S without a Z (or a Z without an S) is ignored",
)
def half_a_state_ignored(phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"):
    if S is None or Z is None:
        S = Z = None
    return _plain(phi_q, phi_k, v, S, Z, chunk, F32(eps), zero_denominator, features)


# category 7
@kernel(
    "wrong",
    "with fewer key heads than query heads head h reads key head h mod groups in place of h // (heads / groups)",
    layout="bhnd",
)
def heads_dealt_in_turn(phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"):
    b, h = phi_q.shape[:2]
    r = phi_k.shape[1]
    out = [
        [
            _plain(
                phi_q[i, g],
                phi_k[i, g % r],
                v[i, g % r],
                None if S is None else S[i, g],
                None if Z is None else Z[i, g],
                chunk,
                F32(eps),
                zero_denominator,
                features,
            )
            for g in range(h)
        ]
        for i in range(b)
    ]
    return tuple(np.array([[out[i][g][t] for g in range(h)] for i in range(b)]) for t in range(3))


# category 5
@kernel("wrong", "denominators are kept at 1 or above")
def denominator_at_least_one(
    phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"
):
    S, Z = _state(phi_k, v, S, Z)
    return _run(_map(phi_q, features), _map(phi_k, features), v, S, Z, F32(eps), zero_denominator, hook="at_least_one")


@kernel(
    "correct",
    "a recursion on halves (odd lengths too): the right half's queries meet the left half's state, sums "
    "of states go up the tree, the carried state enters last; in double",
)
def divide_and_conquer(phi_q, phi_k, v, S=None, Z=None, chunk=64, eps=0.0, zero_denominator="zero", features="given"):
    n, m = len(phi_q), v.shape[1]
    p, k = _map(phi_q.astype(F64), features), _map(phi_k.astype(F64), features)
    w = np.concatenate([v.astype(F64), np.ones((n, 1))], 1)
    both = np.zeros((n, m + 1))

    def descend(lo, hi):
        if hi - lo == 1:
            both[lo] += (p[lo] @ k[lo]) * w[lo]
            return np.outer(k[lo], w[lo])
        mid = lo + (hi - lo + 2) // 3 if hi - lo > 2 else lo + 1
        left = descend(lo, mid)
        right = descend(mid, hi)
        both[mid:hi] += p[mid:hi] @ left
        return left + right

    state = np.zeros((k.shape[1], m + 1))
    if S is not None:
        state[:, :m] = S
    if Z is not None:
        state[:, m] = Z
    if n:
        added = descend(0, n)
        both += p @ state
        state = state + added
    o = _divide(both[:, :m], both[:, m:] + float(eps), zero_denominator)
    return {"o": o.astype(F32), "S": state[:, :m].astype(F32), "Z": state[:, m].astype(F32)}
