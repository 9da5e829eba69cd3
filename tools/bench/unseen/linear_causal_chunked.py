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


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _quotient(num, den, zero_denominator="zero"):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


# category 1
@kernel(
    "wrong", "the queries read the state with the chunk in it, and the chunk comes through P as well: it counts twice"
)
def reads_new_state(phi_q, phi_k, v, S, Z, eps=0.0):
    P = np.tril(phi_q @ phi_k.T)
    S = S + phi_k.T @ v
    Z = Z + phi_k.sum(0)
    return {"o": _quotient(phi_q @ S + P @ v, phi_q @ Z + P.sum(1) + F32(eps)), "S": S, "Z": Z}


# category 1
@kernel("wrong", "the sum of P in the denominator leaves out the diagonal, the product P v has it")
def diagonal_misses_denominator(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero"):
    A = phi_q @ phi_k.T
    num = phi_q @ S + np.tril(A) @ v
    den = phi_q @ Z + np.tril(A, -1).sum(1) + F32(eps)
    return {"o": _quotient(num, den, zero_denominator), "S": S + phi_k.T @ v, "Z": Z + phi_k.sum(0)}


# category 2
@kernel(
    "wrong",
    "P is rounded to bfloat16 for the product P v (operand of a tensor core), but its row sums are taken "
    "before the rounding",
)
def bf16_triangle(phi_q, phi_k, v, S, Z, eps=0.0):
    P = np.tril(phi_q @ phi_k.T)
    num = phi_q @ S + _bf16(P) @ v
    den = phi_q @ Z + P.sum(1) + F32(eps)
    return {"o": _quotient(num, den), "S": S + phi_k.T @ v, "Z": Z + phi_k.sum(0)}


# category 4
@kernel(
    "wrong",
    "a chunk with n % 16 != 0 is padded with copies of its last token, and the copies enter the Z that is"
    " returned (their values are 0, so S is right)",
)
def padding_enters_z(phi_q, phi_k, v, S, Z, eps=0.0):
    n = len(v)
    more = -n % 16 if n else 0
    k = np.pad(phi_k, ((0, more), (0, 0)), mode="edge") if more else phi_k
    P = np.tril(phi_q @ phi_k.T)
    o = _quotient(phi_q @ S + P @ v, phi_q @ Z + P.sum(1) + F32(eps))
    return {"o": o, "S": S + phi_k.T @ v, "Z": Z + k.sum(0)}


# category 5
@kernel("wrong", "eps is added to the state's part of the denominator and once more to the chunk's part (eps > 0)")
def eps_twice(phi_q, phi_k, v, S, Z, eps=0.0):
    P = np.tril(phi_q @ phi_k.T)
    old = phi_q @ Z + F32(eps)
    new = P.sum(1) + F32(eps)
    return {"o": _quotient(phi_q @ S + P @ v, old + new), "S": S + phi_k.T @ v, "Z": Z + phi_k.sum(0)}


# category 3
@kernel("wrong", "P is made of tiles of 16 x 16, and tiles four or more below the diagonal are skipped (n > 64)")
def far_tiles_skipped(phi_q, phi_k, v, S, Z, eps=0.0):
    n = len(v)
    num, den = phi_q @ S, phi_q @ Z
    for a in range(0, n, 16):
        for b in range(max(0, a - 48), a + 16, 16):
            t = phi_q[a : a + 16] @ phi_k[b : b + 16].T
            if a == b:
                t = np.tril(t)
            num[a : a + 16] += t @ v[b : b + 16]
            den[a : a + 16] += t.sum(1)
    return {"o": _quotient(num, den + F32(eps)), "S": S + phi_k.T @ v, "Z": Z + phi_k.sum(0)}


# category 4
@kernel(
    "wrong",
    "the state of (batch b, head h) is looked up at row b * batch + h in place of b * heads + h of the "
    "flat array: sequences after the first answer from another head's state where batch != heads",
    layout="bhnd",
)
def state_stride(phi_q, phi_k, v, S, Z, eps=0.0):
    B, H, n, c = phi_q.shape
    m = v.shape[3]
    rep = H // v.shape[1]
    flatS, flatZ = S.reshape(B * H, c, m), Z.reshape(B * H, c)
    o, So, Zo = np.zeros((B, H, n, m), F32), np.zeros_like(S), np.zeros_like(Z)
    for b in range(B):
        for h in range(H):
            row = (b * B + h) % (B * H)
            q, k, w = phi_q[b, h], phi_k[b, h // rep], v[b, h // rep]
            P = np.tril(q @ k.T)
            o[b, h] = _quotient(q @ flatS[row] + P @ w, q @ flatZ[row] + P.sum(1) + F32(eps))
            So[b, h] = S[b, h] + k.T @ w
            Zo[b, h] = Z[b, h] + k.sum(0)
    return {"o": o, "S": So, "Z": Zo}


# category 2
@kernel(
    "wrong", "the state's share of the numerator, phi_q S, passes through float16 before the chunk's share is added"
)
def half_state_share(phi_q, phi_k, v, S, Z, eps=0.0):
    P = np.tril(phi_q @ phi_k.T)
    share = np.clip(phi_q @ S, -65504, 65504).astype(np.float16).astype(F32)
    o = _quotient(share + P @ v, phi_q @ Z + P.sum(1) + F32(eps))
    return {"o": o, "S": S + phi_k.T @ v, "Z": Z + phi_k.sum(0)}


# correct
@kernel(
    "correct",
    "the carried state joins as c more keys: unit vectors as keys, with the rows of [S | Z] as values, "
    "put before the chunk's [v | 1] and summed in float64",
)
def state_as_keys(phi_q, phi_k, v, S, Z, eps=0.0, zero_denominator="zero"):
    n, c = phi_q.shape
    D = np.float64
    keys = np.concatenate([np.eye(c), phi_k.astype(D)])
    vals = np.concatenate([np.column_stack([S, Z]).astype(D), np.column_stack([v, np.ones(n)]).astype(D)])
    A = phi_q.astype(D) @ keys.T
    A[:, c:][np.triu_indices(n, 1)] = 0
    both = A @ vals
    new = keys.T @ vals
    return {
        "o": _quotient(both[:, :-1], both[:, -1] + eps, zero_denominator).astype(F32),
        "S": new[:, :-1].astype(F32),
        "Z": new[:, -1].astype(F32),
    }


# correct
@kernel(
    "correct",
    "features from 2^t with ln 2 split in two float32 parts and a polynomial of degree 7; the chunk in "
    "sub-chunks of 5 tokens",
)
def split_exponential(phi_q, phi_k, v, S, Z, eps=0.0, features="given", zero_denominator="zero"):
    def exp(x):
        x = np.clip(x, F32(-87), F32(88))
        t = np.rint(x * F32(1.44269504))
        r = (x - t * F32(0.693359375)) - t * F32(-2.12194440e-4)
        p = np.full_like(r, F32(1 / 5040))
        for a in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0):
            p = p * r + F32(a)
        return np.ldexp(p, t.astype(np.int32))

    def phi(x):
        if features == "elu_plus_one":
            return np.where(x > 0, x + 1, exp(np.minimum(x, 0)))
        if features == "relu":
            return np.where(x > 0, x, F32(0))
        return exp(x) if features == "exp" else x

    q, k = phi(phi_q), phi(phi_k)
    S, Z = S.copy(), Z.copy()
    o = np.zeros((len(q), v.shape[1]), F32)
    for a in range(0, len(q), 5):
        x, y, w = q[a : a + 5], k[a : a + 5], v[a : a + 5]
        P = np.tril(x @ y.T)
        o[a : a + 5] = _quotient(x @ S + P @ w, x @ Z + P.sum(1) + F32(eps), zero_denominator)
        S += y.T @ w
        Z += y.sum(0)
    return {"o": o, "S": S, "Z": Z}


# category 2
@kernel(
    "wrong",
    "a float16 kernel whose product phi_k^T v of the chunk comes out in float16 before it is added to the"
    " float32 S that is returned",
    profile="f16",
)
def half_chunk_product(phi_q, phi_k, v, S, Z, eps=0.0):
    q, k, w = (np.asarray(x).astype(F32) for x in (phi_q, phi_k, v))
    P = np.tril(q @ k.T)
    o = _quotient(q @ S + P @ w, q @ Z + P.sum(1) + F32(eps))
    return {"o": o.astype(v.dtype), "S": S + (k.T @ w).astype(np.float16).astype(F32), "Z": Z + k.sum(0)}
