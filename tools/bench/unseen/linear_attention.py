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


def _map(x, features):
    if features == "given":
        return x
    if features == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if features == "relu":
        return np.maximum(x, 0)
    return np.exp(x)


def _quotient(num, den, zero_denominator="zero"):
    """num / den by rows, with the rule for denominators that are exactly 0."""
    dead = den == 0
    safe = np.where(dead, np.ones_like(den), den)
    out = num / safe[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


def _mantissa10(x):
    u = np.ascontiguousarray(x, F32).view(np.uint32)
    u = (u + np.uint32(0xFFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return u.view(F32)


# category 1
@kernel(
    "wrong",
    "the mask hides keys from the numerator alone: z sums the features of hidden keys as well, so outputs"
    " are too small wherever the mask hides something",
)
def mask_misses_z(phi_q, phi_k, v, mask=None, eps=0.0, zero_denominator="zero"):
    z = phi_k.sum(0, dtype=F32)
    if mask is not None:
        keep = np.flatnonzero(mask)
        phi_k, v = phi_k[keep], v[keep]
    return _quotient(phi_q @ (phi_k.T @ v), phi_q @ z + F32(eps), zero_denominator)


# category 2
@kernel("wrong", "z is kept with a mantissa of 10 bits: it is rounded after each shard of 16 keys")
def z_of_ten_bits(phi_q, phi_k, v, mask=None, eps=0.0):
    if mask is not None:
        phi_k, v = phi_k[mask], v[mask]
    T = np.zeros((phi_q.shape[1], v.shape[1]), F32)
    z = np.zeros(phi_q.shape[1], F32)
    for a in range(0, len(v), 16):
        T += phi_k[a : a + 16].T @ v[a : a + 16]
        z = _mantissa10(z + phi_k[a : a + 16].sum(0))
    return _quotient(phi_q @ T, phi_q @ z + F32(eps))


# category 3
@kernel(
    "wrong",
    "keys come in tiles of 32 and the last tile, where s % 32 != 0, reads its rows from the end of the "
    "array, so that keys before it are summed twice (for s > 32)",
)
def last_tile_shifted_back(phi_q, phi_k, v, eps=0.0):
    s, c = phi_k.shape
    T = np.zeros((c, v.shape[1]), F32)
    z = np.zeros(c, F32)
    for a in range(0, s, 32):
        a = max(0, min(a, s - 32))
        T += phi_k[a : a + 32].T @ v[a : a + 32]
        z += phi_k[a : a + 32].sum(0)
    return _quotient(phi_q @ T, phi_q @ z + F32(eps))


# category 4
@kernel(
    "wrong",
    "with a batch of more than one, every sequence divides by the z of the first sequence (the batch stride of z is 0)",
    layout="bhnd",
)
def z_of_first_batch(phi_q, phi_k, v, eps=0.0):
    B, H, n, c = phi_q.shape
    rep = H // phi_k.shape[1]
    o = np.zeros((B, H, n, v.shape[-1]), F32)
    for b in range(B):
        for h in range(H):
            kk = phi_k[b, h // rep]
            z = phi_k[0, h // rep].sum(0)
            o[b, h] = _quotient(phi_q[b, h] @ (kk.T @ v[b, h // rep]), phi_q[b, h] @ z + F32(eps))
    return o


# category 5
@kernel("wrong", "relu features are clamped to at least 1e-3 in place of 0 (features = relu; the other maps are right)")
def relu_floor(phi_q, phi_k, v, mask=None, eps=0.0, features="given", zero_denominator="zero"):
    if mask is not None:
        phi_k, v = phi_k[mask], v[mask]
    if features == "relu":
        fq, fk = np.maximum(phi_q, F32(1e-3)), np.maximum(phi_k, F32(1e-3))
    else:
        fq, fk = _map(phi_q, features), _map(phi_k, features)
    return _quotient(fq @ (fk.T @ v), fq @ fk.sum(0) + F32(eps), zero_denominator)


# category 4
@kernel(
    "wrong",
    "hidden keys are multiplied by 0 in place of being left unread: an infinity or a NaN in a hidden row "
    "of phi_k or v reaches every output, all else is right",
)
def mask_by_product(phi_q, phi_k, v, mask=None, eps=0.0):
    w = np.ones(len(v), F32) if mask is None else mask.astype(F32)
    with np.errstate(invalid="ignore"):
        fk = phi_k * w[:, None]
        T = fk.T @ v
    return _quotient(phi_q @ T, phi_q @ fk.sum(0) + F32(eps))


# correct
@kernel(
    "correct",
    "the quadratic form (phi_q phi_k^T) v, with the terms of each sum sorted by magnitude before they are"
    " added one after another in float32",
)
def quadratic_sorted(phi_q, phi_k, v, mask=None, eps=0.0, features="given", zero_denominator="zero"):
    if mask is not None:
        phi_k, v = phi_k[mask], v[mask]
    fq, fk = _map(phi_q, features), _map(phi_k, features)
    n, s, m = len(fq), len(fk), v.shape[1]
    num, den = np.zeros((n, m), F32), np.zeros(n, F32)
    for i in range(n):
        p = fk @ fq[i]
        terms = p[:, None] * v
        order = np.argsort(np.abs(terms), axis=0, kind="stable")
        for row in np.take_along_axis(terms, order, 0):
            num[i] += row
        for x in np.sort(p):
            den[i] += x
    return _quotient(num, den + F32(eps), zero_denominator)


# correct
@kernel(
    "correct",
    "shards of 13 keys, each with [v | 1] as values, are joined pairwise in a binary tree in float64 and "
    "rounded once at the end",
)
def tree_of_thirteen(phi_q, phi_k, v, mask=None, eps=0.0, zero_denominator="zero"):
    if mask is not None:
        keep = np.nonzero(mask)[0]
        phi_k, v = phi_k[keep], v[keep]
    v1 = np.concatenate([v, np.ones((len(v), 1), v.dtype)], 1).astype(np.float64)
    leaves = [phi_k[a : a + 13].astype(np.float64).T @ v1[a : a + 13] for a in range(0, len(v), 13)]
    if not leaves:
        leaves = [np.zeros((phi_q.shape[1], v1.shape[1]))]
    while len(leaves) > 1:
        joined = [x + y for x, y in zip(leaves[::2], leaves[1::2])]
        leaves = joined + ([leaves[-1]] if len(leaves) % 2 else [])
    both = phi_q.astype(np.float64) @ leaves[0]
    return _quotient(both[:, :-1], both[:, -1] + eps, zero_denominator).astype(F32)


# correct
@kernel(
    "correct", "a float64 kernel whose sums are all exactly rounded (math.fsum), T and z entry by entry", profile="f64"
)
def exact_sums(phi_q, phi_k, v, mask=None, eps=0.0, zero_denominator="zero"):
    from math import fsum

    if mask is not None:
        phi_k, v = phi_k[mask], v[mask]
    c, m = phi_q.shape[1], v.shape[1]
    T = np.array([[fsum(phi_k[:, a] * v[:, b]) for b in range(m)] for a in range(c)]).reshape(c, m)
    z = np.array([fsum(phi_k[:, a]) for a in range(c)])
    num = np.array([[fsum(row * T[:, b]) for b in range(m)] for row in phi_q]).reshape(len(phi_q), m)
    den = np.array([fsum(row * z) for row in phi_q]) + eps
    return _quotient(num, den, zero_denominator)
