# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "linear.attention"

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


def _cut(a):
    return (np.ascontiguousarray(a, dtype=F32).view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)


def _kept(k, v, mask):
    return (k, v) if mask is None else (k[mask], v[mask])


def _plain(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    k, v = _kept(phi_k, v, mask)
    p, k = _map(phi_q, features), _map(k, features)
    return _divide(p @ (k.T @ v), (p @ k.sum(0))[:, None] + eps, zero_denominator)


# category 7
@kernel(
    "wrong",
    "shards of 16 keys read the mask at the index within the shard: keys from 16 on are shown or hidden "
    "as key j mod 16",
)
def mask_of_first_shard(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    if mask is not None:
        shown = mask[np.arange(len(mask)) % 16]
        phi_k = np.where(mask[:, None] | np.isfinite(phi_k), phi_k, F32(0))
        mask = shown
    return _plain(phi_q, phi_k, v, mask, shard, F32(eps), zero_denominator, features)


# category 4
@kernel(
    "wrong",
    "with a mask and features that are made here, hidden rows are set to 0 before the map: phi(0) = 1 "
    "(elu_plus_one, exp) stays in z",
)
def zeroed_before_map(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    if mask is not None:
        phi_k = np.where(mask[:, None], phi_k, F32(0))
        v = np.where(mask[:, None], v, F32(0))
    return _plain(phi_q, phi_k, v, None, shard, F32(eps), zero_denominator, features)


# category 5
@kernel("wrong", "1e-4 joins every denominator beside eps, in a float64 kernel", profile="f64")
def second_epsilon(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    return _plain(phi_q, phi_k, v, mask, shard, eps + 1e-4, zero_denominator, features)


# category 2
@kernel(
    "wrong",
    "the states T and z are bfloat16 arrays: every key is added and the sums cut (rounded towards 0) "
    "again, so that small terms are lost against large sums",
    profile="bf16",
)
def state_in_bfloat16(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    k, w = _kept(phi_k.astype(F32), v.astype(F32), mask)
    p, k = _map(phi_q.astype(F32), features), _map(k, features)
    state, z = np.zeros((k.shape[1], w.shape[1]), F32), np.zeros(k.shape[1], F32)
    for j in range(len(k)):
        state, z = _cut(state + np.outer(k[j], w[j])), _cut(z + k[j])
    return _divide(p @ state, (p @ z)[:, None] + F32(eps), zero_denominator).astype(phi_q.dtype)


@kernel(
    "correct",
    "as similarities, without a state: queries by tiles of 5 against keys from the last to the first in "
    "tiles of 9, weights normalised after the sums, in double",
)
def quadratic_form(phi_q, phi_k, v, mask=None, shard=8, eps=0.0, zero_denominator="zero", features="given"):
    n, m = len(phi_q), v.shape[1]
    order = np.arange(len(phi_k))[::-1]
    if mask is not None:
        order = order[mask[order]]
    o = np.empty((n, m))
    for lo in range(0, n, 5):
        p = _map(phi_q[lo : lo + 5].astype(F64), features)
        num, den = np.zeros((m, len(p))), np.zeros(len(p))
        for at in range(0, len(order), 9):
            j = order[at : at + 9]
            w = _map(phi_k[j].astype(F64), features) @ p.T
            den += w.sum(0)
            num += v[j].T.astype(F64) @ w
        o[lo : lo + 5] = _divide(num.T, den[:, None] + float(eps), zero_denominator)
    return o.astype(F32)
