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


def _bf(a):
    b = np.ascontiguousarray(a, dtype=F32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)


def _read(p, S, Z, eps, zero_denominator):
    return _divide((p @ S)[None], np.asarray(p @ Z + eps).reshape(1, 1).astype(p.dtype), zero_denominator)[0].astype(
        p.dtype
    )


def _plain(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    S, Z = S + np.outer(k, v), Z + k
    return _read(p, S, Z, eps, zero_denominator), S, Z


# category 1
@kernel("wrong", "the numerator reads S from before the token while the denominator has the token's key")
def numerator_one_behind(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    after, total = S + np.outer(k, v), Z + k
    return _read(p, np.asarray(S), total, F32(eps), zero_denominator), after, total


# category 6
@kernel("wrong", "features exp: the exponent is limited to 1 from above, against overflow")
def exponent_limited(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    if features == "exp":
        phi_q, phi_k = np.minimum(phi_q, F32(1)), np.minimum(phi_k, F32(1))
    return _plain(phi_q, phi_k, v, S, Z, F32(eps), zero_denominator, features)


# category 7
@kernel("wrong", "the carried Z is read at the first entry of the batch for all entries (batch > 1)", layout="bhnd")
def z_of_first_entry(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    b, h = phi_q.shape[:2]
    r = h // phi_k.shape[1]
    out = [
        [
            _plain(phi_q[i, g], phi_k[i, g // r], v[i, g // r], S[i, g], Z[0, g], F32(eps), zero_denominator, features)
            for g in range(h)
        ]
        for i in range(b)
    ]
    return tuple(np.array([[out[i][g][t] for g in range(h)] for i in range(b)]) for t in range(3))


# category 2
@kernel("wrong", "the new S is rounded to bfloat16 before it is read and returned, in a float32 kernel")
def cache_in_bfloat16(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    p, k = _map(phi_q, features), _map(phi_k, features)
    S, Z = _bf(S + np.outer(k, v)), Z + k
    return _read(p, S, Z, F32(eps), zero_denominator), S, Z


@kernel(
    "correct",
    "all heads and entries at once, query heads folded by groups: the old state is read first and the "
    "token's own part (phi_q . phi_k) [v | 1] added to what it gave; the state is written afterwards; "
    "double",
    layout="bhnd",
)
def own_part_added(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero", features="given"):
    b, h, c = phi_q.shape
    r = phi_k.shape[1]
    m = v.shape[-1]
    p = _map(phi_q.astype(F64), features).reshape(b, r, h // r, c)
    k = _map(phi_k.astype(F64), features)
    w = v.astype(F64)
    old, total = S.astype(F64).reshape(b, r, h // r, c, m), Z.astype(F64).reshape(b, r, h // r, c)
    own = np.einsum("brgc,brc->brg", p, k)
    num = np.einsum("brgcm,brgc->brgm", old, p) + own[..., None] * w[:, :, None]
    den = (np.einsum("brgc,brgc->brg", total, p) + own + float(eps))[..., None]
    o = _divide(num, den, zero_denominator).reshape(b, h, m)
    S = (old + (k[..., None] * w[:, :, None])[:, :, None]).reshape(b, h, c, m)
    Z = (total + k[:, :, None]).reshape(b, h, c)
    return {"o": o.astype(F32), "S": S.astype(F32), "Z": Z.astype(F32)}
