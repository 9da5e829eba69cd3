# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.causal_step"

F32 = np.float32


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _answer(q, S, d, zero_denominator="zero"):
    if d == 0:
        return np.full(S.shape[1], 0 if zero_denominator == "zero" else np.nan, S.dtype)
    return (q @ S) / d


# category 1
@kernel("wrong", "the output is read before the token is written: it does not see itself; the new state is right")
def read_before_write(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero"):
    o = _answer(phi_q, S, phi_q @ Z + F32(eps), zero_denominator)
    return {"o": o, "S": S + np.outer(phi_k, v), "Z": Z + phi_k}


# category 2
@kernel(
    "wrong",
    "the state is handed on in bfloat16 precision: the S that is returned is rounded, o is made before the rounding",
)
def state_handed_on_bf16(phi_q, phi_k, v, S, Z, eps=0.0):
    S = S + np.outer(phi_k, v)
    Z = Z + phi_k
    return {"o": _answer(phi_q, S, phi_q @ Z + F32(eps)), "S": _bf16(S), "Z": Z}


# category 5
@kernel("wrong", "the old Z fades by a factor 0.999 at each step, the old S does not")
def z_fades(phi_q, phi_k, v, S, Z, eps=0.0):
    S = S + np.outer(phi_k, v)
    Z = F32(0.999) * Z + phi_k
    return {"o": _answer(phi_q, S, phi_q @ Z + F32(eps)), "S": S, "Z": Z}


# category 4
@kernel(
    "wrong",
    "the denominator's dot product runs over pairs of features: for odd c > 1 the last feature is missing in it",
)
def odd_width_dot(phi_q, phi_k, v, S, Z, eps=0.0):
    S = S + np.outer(phi_k, v)
    Z = Z + phi_k
    c = len(Z)
    even = c - c % 2 if c > 1 else c
    return {"o": _answer(phi_q, S, phi_q[:even] @ Z[:even] + F32(eps)), "S": S, "Z": Z}


# category 4
@kernel(
    "wrong",
    "with a batch of more than one the denominator is taken from the sequence before it in the batch (the"
    " last for the first)",
    layout="bhnd",
)
def denominator_of_neighbour(phi_q, phi_k, v, S, Z, eps=0.0):
    B, H, c = phi_q.shape
    rep = H // phi_k.shape[1]
    k, w = np.repeat(phi_k, rep, 1), np.repeat(v, rep, 1)
    S = S + k[..., :, None] * w[..., None, :]
    Z = Z + k
    d = (phi_q * Z).sum(-1) + F32(eps)
    d = np.roll(d, 1, axis=0)
    num = np.einsum("bhc,bhcm->bhm", phi_q, S)
    o = np.where(d[..., None] == 0, F32(0), num / np.where(d == 0, F32(1), d)[..., None])
    return {"o": o, "S": S, "Z": Z}


# correct
@kernel(
    "correct", "the query is divided first: (phi_q / d) S' with d = phi_q Z' + eps, features in any of the four maps"
)
def query_divided_first(phi_q, phi_k, v, S, Z, eps=0.0, features="given", zero_denominator="zero"):
    if features == "elu_plus_one":
        q, k = (np.maximum(x, 0) + np.exp(-np.maximum(-x, 0)) for x in (phi_q, phi_k))
    elif features == "relu":
        q, k = (x * (x > 0) for x in (phi_q, phi_k))
    elif features == "exp":
        q, k = np.exp(phi_q), np.exp(phi_k)
    else:
        q, k = phi_q, phi_k
    S2, Z2 = S + k[:, None] * v, Z + k
    d = (q * Z2).sum() + F32(eps)
    if d == 0:
        o = np.full(len(v), 0.0 if zero_denominator == "zero" else np.nan, F32)
    else:
        o = ((q / d)[:, None] * S2).sum(0)
    return {"o": o, "S": S2, "Z": Z2}


# correct
@kernel(
    "correct",
    "the output without the new state: phi_q S + (phi_q . phi_k) v over phi_q Z + phi_q . phi_k, in "
    "float64 and rounded once",
)
def state_and_token_apart(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero"):
    q, k, w, S, Z = (np.asarray(x, np.float64) for x in (phi_q, phi_k, v, S, Z))
    p = q @ k
    d = q @ Z + p + eps
    if d == 0:
        o = np.full(len(w), 0.0 if zero_denominator == "zero" else np.nan)
    else:
        o = (q @ S + p * w) / d
    return {"o": o.astype(F32), "S": (S + np.outer(k, w)).astype(F32), "Z": (Z + k).astype(F32)}


# category 2
@kernel("wrong", "the denominator phi_q Z' is summed in float16, feature after feature, inside a float32 kernel")
def denominator_in_half(phi_q, phi_k, v, S, Z, eps=0.0):
    S = S + np.outer(phi_k, v)
    Z = Z + phi_k
    d = np.float16(0)
    for p in phi_q * Z:
        d = np.float16(d + np.float16(p))
    return {"o": _answer(phi_q, S, F32(d) + F32(eps)), "S": S, "Z": Z}
