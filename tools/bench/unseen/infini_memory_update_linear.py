# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.memory_update_linear"

F32 = np.float32


def _map(x, kind):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _start(memory, z, d, m, dtype=F32):
    return (
        np.zeros((d, m), dtype) if memory is None else np.array(memory, dtype),
        np.zeros(d, dtype) if z is None else np.array(z, dtype),
    )


# category 1
@kernel("wrong", "the values pass the feature map as well (feature_map other than identity)")
def values_mapped(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    return {"memory": M + f.T @ _map(v, feature_map), "z": z + f.sum(0)}


# category 2
@kernel("wrong", "z runs in float16, token after token, inside a float32 kernel")
def z_runs_in_half(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    run = z.astype(np.float16)
    for row in f:
        run = (run + row.astype(np.float16)).astype(np.float16)
    return {"memory": M + f.T @ v, "z": run.astype(F32)}


# category 3
@kernel(
    "wrong",
    "blocks of 16 tokens, and where n % 16 != 0 (n > 16) the last block is taken as the last 16 tokens, "
    "so that some are stored twice",
)
def last_block_overlaps(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    n = len(v)
    for a in range(0, n, 16):
        if a + 16 > n:
            a = max(n - 16, 0)
        M = M + f[a : a + 16].T @ v[a : a + 16]
        z = z + f[a : a + 16].sum(0)
    return {"memory": M, "z": z}


# category 4
@kernel(
    "wrong",
    "with a carried state and n > 64 the old state is added once per block of 64 tokens (each block's "
    "partial result starts from it)",
)
def old_state_per_block(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    M0, z0 = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    M, zz = np.zeros_like(M0), np.zeros_like(z0)
    for a in range(0, max(len(v), 1), 64):
        M += M0 + f[a : a + 64].T @ v[a : a + 64]
        zz += z0 + f[a : a + 64].sum(0)
    return {"memory": M, "z": zz}


# category 5
@kernel("wrong", "elu_plus_one uses alpha = 0.999, 0.999 (e^x - 1) + 1 below 0", params={"feature_map": "elu_plus_one"})
def alpha_of_elu(k, v, memory=None, z=None):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = np.where(k > 0, k + 1, F32(0.999) * np.expm1(np.minimum(k, 0)) + F32(1)).astype(F32)
    return {"memory": M + f.T @ v, "z": z + f.sum(0)}


# category 2
@kernel(
    "wrong",
    "a bfloat16 kernel with a float32 state whose features are rounded to bfloat16 before they are "
    "summed, and whose block sums of 8 tokens are rounded to bfloat16 as well",
    profile="bf16",
)
def bf16_block_sums(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    import ml_dtypes

    low = lambda x: x.astype(ml_dtypes.bfloat16).astype(F32)
    x, w = np.asarray(k).astype(F32), np.asarray(v).astype(F32)
    M, z = _start(memory, z, x.shape[1], w.shape[1])
    f = low(_map(x, feature_map))
    for a in range(0, len(w), 8):
        M = M + low(f[a : a + 8].T @ w[a : a + 8])
        z = z + low(f[a : a + 8].sum(0))
    return {"memory": M, "z": z}


# correct
@kernel(
    "correct",
    "a binary tree over single tokens, with the larger half first, in float32; the old state joins at the root",
)
def token_tree(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    M, z = _start(memory, z, k.shape[1], v.shape[1])
    f = _map(k, feature_map)
    U = f[:, :, None] * np.concatenate([v, np.ones((len(v), 1), F32)], 1)[:, None, :]
    while len(U) > 1:
        h = (len(U) + 1) // 2
        left = U[:h].copy()
        left[: len(U) - h] += U[h:]
        U = left
    if len(U):
        M, z = M + U[0, :, :-1], z + U[0, :, -1]
    return {"memory": M, "z": z}


# correct
@kernel(
    "correct",
    "all heads as one product over a flat axis of tokens, each head's features masked to its own block of"
    " rows, in float64 and rounded once",
    layout="bhnd",
)
def block_diagonal_heads(k, v, memory=None, z=None, feature_map="elu_plus_one"):
    B, H, n, d = k.shape
    m = v.shape[3]
    M, s = np.zeros((B, H, d, m)), np.zeros((B, H, d))
    for b in range(B):
        wide = np.zeros((H * n, H * d))
        for h in range(H):
            wide[h * n : (h + 1) * n, h * d : (h + 1) * d] = _map(k[b, h].astype(np.float64), feature_map)
        M[b] = (wide.T @ v[b].reshape(H * n, m).astype(np.float64)).reshape(H, d, m)
        s[b] = wide.sum(0).reshape(H, d)
    if memory is not None:
        M = M + memory
    if z is not None:
        s = s + z
    return {"memory": M.astype(F32), "z": s.astype(F32)}
