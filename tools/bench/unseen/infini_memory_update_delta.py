# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.memory_update_delta"

F32 = np.float32


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _quotient(num, den, zero_denominator="zero"):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


def _start(memory, z, d, m, dtype=F32):
    return (
        np.zeros((d, m), dtype) if memory is None else np.array(memory, dtype),
        np.zeros(d, dtype) if z is None else np.array(z, dtype),
    )


# category 1
@kernel("wrong", "r divides by phi(k) z' with the segment already in z, the memory is the one from before the segment")
def r_with_new_z(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    z = z + f.sum(0)
    r = _quotient(f @ M, f @ z + F32(eps))
    return {"memory": M + f.T @ (v - r), "z": z}


# category 1
@kernel(
    "wrong",
    "token by token: each token is compared with the state that the tokens before it in the segment have "
    "already changed (n > 1)",
)
def sequential_delta(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    for t in range(len(v)):
        r = _quotient((f[t] @ M)[None], np.array([f[t] @ z + F32(eps)], F32))[0]
        M = M + np.outer(f[t], v[t] - r)
        z = z + f[t]
    return {"memory": M, "z": z}


# category 2
@kernel("wrong", "what the memory answers, r, is in bfloat16 before it is subtracted (a memory that is not empty)")
def retrieved_bf16(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one", zero_denominator="zero"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    r = _bf16(_quotient(f @ M, f @ z + F32(eps), zero_denominator))
    return {"memory": M + f.T @ (v - r), "z": z + f.sum(0)}


# category 5
@kernel("wrong", "the delta is v - 0.998 r (a memory that is not empty)")
def delta_strength(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    r = _quotient(f @ M, f @ z + F32(eps))
    return {"memory": M + f.T @ (v - F32(0.998) * r), "z": z + f.sum(0)}


# category 3
@kernel(
    "wrong",
    "tokens come in tiles of 32 and each tile is compared with the memory and z that the tile before it left (n > 32)",
)
def tiles_as_segments(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    for a in range(0, len(v), 32):
        f = _map(k[a : a + 32], feature_map)
        r = _quotient(f @ M, f @ z + F32(eps))
        M, z = M + f.T @ (v[a : a + 32] - r), z + f.sum(0)
    return {"memory": M, "z": z}


# category 4
@kernel(
    "wrong",
    "with a carried state and several heads r is retrieved from the next head's memory (own z): head h "
    "asks h + 1, the last asks head 0",
    layout="bhnd",
)
def asks_next_head(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    B, H, n, d = k.shape
    M = np.zeros((B, H, d, v.shape[3]), F32) if memory is None else memory
    z = np.zeros((B, H, d), F32) if z is None else z
    f = _map(k, feature_map)
    r = _quotient(f @ np.roll(M, -1, axis=1), np.einsum("bhnd,bhd->bhn", f, z) + F32(eps))
    return {"memory": M + np.swapaxes(f, 2, 3) @ (v - r), "z": z + f.sum(2)}


# correct
@kernel(
    "correct",
    "without r: memory + phi^T v - (phi^T diag(1 / den) phi) memory, a d x d matrix applied to the "
    "memory, in float64 and rounded once",
    params={"zero_denominator": "zero"},
)
def gram_matrix(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one"):
    D = np.float64
    M, z = _start(memory, z, k.shape[1], v.shape[1], D)
    f = _map(k.astype(D), feature_map)
    den = f @ z + eps
    w = np.zeros_like(den)
    np.divide(1.0, den, out=w, where=den != 0)
    A = (f * w[:, None]).T @ f
    return {"memory": (M + f.T @ v.astype(D) - A @ M).astype(F32), "z": (z + f.sum(0)).astype(F32)}


# correct
@kernel(
    "correct",
    "tokens from the last to the first with a compensated sum of the updates, which is added to the old "
    "memory at the end",
)
def backwards_compensated(k, v, memory=None, z=None, eps=0.0, feature_map="elu_plus_one", zero_denominator="zero"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    add, lost = np.zeros_like(M), np.zeros_like(M)
    zadd, zlost = np.zeros_like(z), np.zeros_like(z)
    for t in range(len(v) - 1, -1, -1):
        f = _map(k[t], feature_map)
        r = _quotient((f @ M)[None], np.array([f @ z + F32(eps)], F32), zero_denominator)[0]
        y = f[:, None] * (v[t] - r) - lost
        s = add + y
        add, lost = s, (s - add) - y
        y = f - zlost
        s = zadd + y
        zadd, zlost = s, (s - zadd) - y
    return {"memory": M + add, "z": z + zadd}
