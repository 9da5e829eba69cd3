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


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _mantissa10(x):
    u = np.ascontiguousarray(x, F32).view(np.uint32)
    u = (u + np.uint32(0xFFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return u.view(F32)


def _quotient(num, den, zero_denominator="zero"):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


def _start(S, Z, c, m, dtype=F32):
    S = np.zeros((c, m), dtype) if S is None else np.array(S, dtype)
    Z = np.zeros(c, dtype) if Z is None else np.array(Z, dtype)
    return S, Z


def _scan(phi_q, phi_k, v, S, Z, chunk):
    """Right, by chunks: numerators, denominators without eps, and the last state."""
    n, m = v.shape
    num, den = np.zeros((n, m), phi_q.dtype), np.zeros(n, phi_q.dtype)
    for a in range(0, n, chunk):
        q, k, w = phi_q[a : a + chunk], phi_k[a : a + chunk], v[a : a + chunk]
        P = np.tril(q @ k.T)
        num[a : a + chunk] = q @ S + P @ w
        den[a : a + chunk] = q @ Z + P.sum(1)
        S = S + k.T @ w
        Z = Z + k.sum(0)
    return num, den, S, Z


# category 2
@kernel("wrong", "S and Z are stored in bfloat16 between chunks of 32 tokens; all else is float32")
def bf16_state(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for a in range(0, n, 32):
        b = min(n, a + 32)
        num, den, S, Z = _scan(phi_q[a:b], phi_k[a:b], v[a:b], S, Z, 32)
        o[a:b] = _quotient(num, den + F32(eps))
        if b < n:
            S, Z = _bf16(S), _bf16(Z)
    return {"o": o, "S": S, "Z": Z}


# category 1
@kernel("wrong", "the denominator reads Z before the token's own key is added to it; the numerator sees the token")
def z_read_before_write(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for i in range(n):
        d = phi_q[i] @ Z + F32(eps)
        Z = Z + phi_k[i]
        S = S + phi_k[i][:, None] * v[i][None, :]
        if d != 0:
            o[i] = phi_q[i] @ S / d
    return {"o": o, "S": S, "Z": Z}


# category 3
@kernel("wrong", "where n % 64 != 0 the last, partial chunk is answered but not added to the S and Z that are returned")
def tail_not_stored(phi_q, phi_k, v, S=None, Z=None, eps=0.0, zero_denominator="zero"):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    full = n - n % 64
    n1, d1, S, Z = _scan(phi_q[:full], phi_k[:full], v[:full], S, Z, 64)
    n2, d2, _, _ = _scan(phi_q[full:], phi_k[full:], v[full:], S, Z, 64)
    num, den = np.concatenate([n1, n2]), np.concatenate([d1, d2])
    return {"o": _quotient(num, den + F32(eps), zero_denominator), "S": S, "Z": Z}


# category 4
@kernel(
    "wrong",
    "query head h reads the keys and values of group h % groups in place of h // (heads / groups): wrong "
    "only where 1 < groups < heads",
    layout="bhnd",
)
def groups_interleaved(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    B, H, n, c = phi_q.shape
    G, m = v.shape[1], v.shape[3]
    o, So, Zo = np.zeros((B, H, n, m), F32), np.zeros((B, H, c, m), F32), np.zeros((B, H, c), F32)
    for b in range(B):
        for h in range(H):
            g = h % G
            s0, z0 = _start(None if S is None else S[b, h], None if Z is None else Z[b, h], c, m)
            num, den, So[b, h], Zo[b, h] = _scan(phi_q[b, h], phi_k[b, g], v[b, g], s0, z0, 64)
            o[b, h] = _quotient(num, den + F32(eps))
    return {"o": o, "S": So, "Z": Zo}


# category 5
@kernel("wrong", "1e-3 is added to every denominator on top of eps")
def hidden_epsilon(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    S, Z = _start(S, Z, phi_q.shape[1], v.shape[1])
    num, den, S, Z = _scan(phi_q, phi_k, v, S, Z, 64)
    return {"o": num / (den + F32(eps) + F32(1e-3))[:, None], "S": S, "Z": Z}


# category 2
@kernel(
    "wrong",
    "the reciprocal of the denominator is rounded to a mantissa of 10 bits before the numerator is multiplied by it",
)
def half_reciprocal(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    S, Z = _start(S, Z, phi_q.shape[1], v.shape[1])
    num, den, S, Z = _scan(phi_q, phi_k, v, S, Z, 64)
    den = den + F32(eps)
    r = np.zeros_like(den)
    np.divide(F32(1), den, out=r, where=den != 0)
    return {"o": num * _mantissa10(r)[:, None], "S": S, "Z": Z}


# category 3
@kernel(
    "wrong",
    "chunks of 16: from the second chunk on the mask inside the chunk leaves out the diagonal, numerator "
    "and denominator alike (n > 16)",
)
def strict_from_second_chunk(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for t, a in enumerate(range(0, n, 16)):
        q, k, w = phi_q[a : a + 16], phi_k[a : a + 16], v[a : a + 16]
        P = np.tril(q @ k.T, -1 if t else 0)
        o[a : a + 16] = _quotient(P @ w + q @ S, P.sum(1) + q @ Z + F32(eps))
        S, Z = S + k.T @ w, Z + k.sum(0)
    return {"o": o, "S": S, "Z": Z}


# category 4
@kernel(
    "wrong",
    "with a carried state and several heads, all heads start from the Z of head 0 (S is each head's own)",
    layout="bhnd",
)
def carried_z_of_head_zero(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    B, H, n, c = phi_q.shape
    rep, m = H // v.shape[1], v.shape[3]
    o, So, Zo = np.zeros((B, H, n, m), F32), np.zeros((B, H, c, m), F32), np.zeros((B, H, c), F32)
    for b in range(B):
        for h in range(H):
            s0, z0 = _start(None if S is None else S[b, h], None if Z is None else Z[b, 0], c, m)
            num, den, So[b, h], Zo[b, h] = _scan(phi_q[b, h], phi_k[b, h // rep], v[b, h // rep], s0, z0, 32)
            o[b, h] = _quotient(num, den + F32(eps))
    return {"o": o, "S": So, "Z": Zo}


# category 1
@kernel(
    "wrong",
    "the values are written one token late: numerator and S hold phi_k_j v_(j-1)^T, with v_0 for the first token",
)
def values_one_late(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    S, Z = _start(S, Z, phi_q.shape[1], v.shape[1])
    late = np.concatenate([v[:1], v[:-1]])
    num, den, S, Z = _scan(phi_q, phi_k, late, S, Z, 64)
    return {"o": _quotient(num, den + F32(eps)), "S": S, "Z": Z}


# category 3
@kernel(
    "wrong",
    "chunks of 32: from the fifth chunk on (n > 128) queries read the state that the fourth chunk found, "
    "because the ring of chunk states has four slots and is not refilled; the state that is returned is "
    "right",
)
def stale_ring(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    ring, o = [], np.zeros_like(v)
    for t, a in enumerate(range(0, n, 32)):
        if t < 4:
            ring.append((S, Z))
        Sr, Zr = ring[min(t, 3)]
        q, k, w = phi_q[a : a + 32], phi_k[a : a + 32], v[a : a + 32]
        P = np.tril(q @ k.T)
        o[a : a + 32] = _quotient(q @ Sr + P @ w, q @ Zr + P.sum(1) + F32(eps))
        S, Z = S + k.T @ w, Z + k.sum(0)
    return {"o": o, "S": S, "Z": Z}


# category 5
@kernel(
    "wrong",
    "elu_plus_one has alpha = 1.001 in the exponential branch, 1.001 (e^x - 1) + 1, for queries and keys "
    "(features = elu_plus_one; the other maps are right)",
)
def elu_alpha(phi_q, phi_k, v, S=None, Z=None, eps=0.0, features="given"):
    def phi(x):
        if features == "elu_plus_one":
            e = np.exp(np.minimum(x, 0))
            return np.where(x > 0, x + 1, F32(1.001) * e - F32(0.001)).astype(F32)
        return {"given": lambda y: y, "relu": lambda y: np.maximum(y, 0), "exp": np.exp}[features](x)

    S, Z = _start(S, Z, phi_q.shape[1], v.shape[1])
    num, den, S, Z = _scan(phi(phi_q), phi(phi_k), v, S, Z, 64)
    return {"o": _quotient(num, den + F32(eps)), "S": S, "Z": Z}


# category 2
@kernel(
    "wrong",
    "a float64 kernel whose running sum of key features (Z and the denominators made of it) is float32",
    profile="f64",
)
def z_single_in_double(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1], np.float64)
    run = Z.astype(F32)
    num = np.zeros_like(v)
    den = np.zeros(n)
    for i in range(n):
        S += np.outer(phi_k[i], v[i])
        run = run + phi_k[i].astype(F32)
        num[i] = phi_q[i] @ S
        den[i] = phi_q[i] @ run.astype(np.float64)
    return {"o": _quotient(num, den + eps), "S": S, "Z": run.astype(np.float64)}


# category 4
@kernel(
    "wrong",
    "chunks of 256 whose causal mask compares token numbers kept as signed bytes: tokens 128 to 255 of a "
    "chunk see only themselves and tokens from 128 on (n > 128)",
)
def byte_positions(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for a in range(0, n, 256):
        q, k, w = phi_q[a : a + 256], phi_k[a : a + 256], v[a : a + 256]
        number = np.arange(len(w)).astype(np.uint8).view(np.int8)
        P = np.where(number[None, :] <= number[:, None], q @ k.T, F32(0))
        # a wrapped number is smaller than an unwrapped one: keep the upper triangle empty all the same
        P = np.tril(P)
        o[a : a + 256] = _quotient(q @ S + P @ w, q @ Z + P.sum(1) + F32(eps))
        S, Z = S + k.T @ w, Z + k.sum(0)
    return {"o": o, "S": S, "Z": Z}


# category 1
@kernel(
    "wrong",
    "a carried S is read in column-major order where it is square (c = m, S given): the kernel starts "
    "from its transpose",
)
def square_state_transposed(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    c, m = phi_q.shape[1], v.shape[1]
    S, Z = _start(S, Z, c, m)
    if c == m:
        S = S.reshape(-1).reshape((c, m), order="F")
    num, den, S, Z = _scan(phi_q, phi_k, v, S, Z, 48)
    return {"o": _quotient(num, den + F32(eps)), "S": S, "Z": Z}


# category 2
@kernel(
    "wrong",
    "a bfloat16 kernel that adds token after token to S and Z held in bfloat16 in place of float32",
    profile="bf16",
)
def bf16_accumulators(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    q, k, w = (np.asarray(x).astype(F32) for x in (phi_q, phi_k, v))
    S, Z = _start(S, Z, q.shape[1], w.shape[1])
    o = np.zeros_like(w)
    for i in range(len(q)):
        S = _bf16(S + np.outer(k[i], w[i]))
        Z = _bf16(Z + k[i])
        d = q[i] @ Z + F32(eps)
        if d != 0:
            o[i] = q[i] @ S / d
    return {"o": o.astype(v.dtype), "S": S, "Z": Z}


# category 5
@kernel(
    "wrong", "the state fades by a factor 0.9995 at each chunk boundary of 64 tokens, S and Z alike (a leftover decay)"
)
def leftover_decay(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for a in range(0, n, 64):
        if a:
            S, Z = S * F32(0.9995), Z * F32(0.9995)
        num, den, S, Z = _scan(phi_q[a : a + 64], phi_k[a : a + 64], v[a : a + 64], S, Z, 64)
        o[a : a + 64] = _quotient(num, den + F32(eps))
    return {"o": o, "S": S, "Z": Z}


# correct
@kernel(
    "correct",
    "a scan in two levels: chunks of 37 tokens, their sums scanned inside groups of 3 chunks, then the groups' totals",
)
def two_levels_of_37(phi_q, phi_k, v, S=None, Z=None, eps=0.0, zero_denominator="zero"):
    n, c = phi_q.shape
    m = v.shape[1]
    S, Z = _start(S, Z, c, m)
    state = np.concatenate([S, Z[:, None]], 1)
    v1 = np.concatenate([v, np.ones((n, 1), F32)], 1)
    starts = list(range(0, n, 37))
    sums = [phi_k[a : a + 37].T @ v1[a : a + 37] for a in starts]
    inside, totals = [], []
    for t, x in enumerate(sums):
        if t % 3 == 0:
            totals.append(np.zeros_like(state))
        inside.append(totals[-1])
        totals[-1] = totals[-1] + x
    before = [state]
    for x in totals:
        before.append(before[-1] + x)
    o = np.zeros_like(v)
    for t, a in enumerate(starts):
        q, k = phi_q[a : a + 37], phi_k[a : a + 37]
        both = q @ (before[t // 3] + inside[t]) + np.tril(q @ k.T) @ v1[a : a + 37]
        o[a : a + 37] = _quotient(both[:, :m], both[:, m] + F32(eps), zero_denominator)
    last = before[-1]
    return {"o": o, "S": last[:, :m].copy(), "Z": last[:, m].copy()}


# correct
@kernel(
    "correct",
    "the denominator is an extra column of ones among the values, and all of the recurrence runs in "
    "float64 and is rounded once",
)
def ones_column_in_double(phi_q, phi_k, v, S=None, Z=None, eps=0.0, features="given", zero_denominator="zero"):
    def phi(x):
        x = x.astype(np.float64)
        if features == "elu_plus_one":
            return np.maximum(x, 0) + np.exp(np.minimum(x, 0))
        if features == "relu":
            return np.where(x > 0, x, 0.0)
        return np.exp(x) if features == "exp" else x

    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1], np.float64)
    U = np.hstack([S, Z[:, None]])
    q, k, v1 = phi(phi_q), phi(phi_k), np.hstack([v.astype(np.float64), np.ones((n, 1))])
    both = np.zeros_like(v1)
    for i in range(n):
        U += k[i][:, None] * v1[i]
        both[i] = q[i] @ U
    o = _quotient(both[:, :-1], both[:, -1] + eps, zero_denominator)
    return {"o": o.astype(F32), "S": U[:, :-1].astype(F32), "Z": U[:, -1].astype(F32)}


# correct
@kernel("correct", "a recurrence token by token in float32 with Kahan's compensation in S and in Z")
def kahan_tokens(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    S, Z = _start(S, Z, phi_q.shape[1], v.shape[1])
    cS, cZ = np.zeros_like(S), np.zeros_like(Z)
    o = np.zeros_like(v)
    for i in range(len(v)):
        y = np.outer(phi_k[i], v[i]) - cS
        t = S + y
        cS = (t - S) - y
        S = t
        y = phi_k[i] - cZ
        t = Z + y
        cZ = (t - Z) - y
        Z = t
        d = phi_q[i] @ Z + F32(eps)
        if d != 0:
            o[i] = (phi_q[i] @ S) / d
    return {"o": o, "S": S, "Z": Z}


# correct
@kernel(
    "correct",
    "Blelloch's scan over tokens, up-sweep and down-sweep on a length padded with zeros to a power of "
    "two, then the token's own product is added",
    layout="bhnd",
)
def blelloch(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    B, H, n, c = phi_q.shape
    rep, m = H // v.shape[1], v.shape[3]
    size = 1 << max(0, (n - 1)).bit_length()
    o, So, Zo = np.zeros((B, H, n, m), F32), np.zeros((B, H, c, m), F32), np.zeros((B, H, c), F32)
    for b in range(B):
        for h in range(H):
            S0, Z0 = _start(None if S is None else S[b, h], None if Z is None else Z[b, h], c, m)
            w = np.concatenate([v[b, h // rep], np.ones((n, 1), F32)], 1)
            leaf = phi_k[b, h // rep][:, :, None] * w[:, None, :]
            x = np.zeros((size, c, m + 1), F32)
            x[:n] = leaf
            step = 1
            while step < size:
                x[2 * step - 1 :: 2 * step] += x[step - 1 :: 2 * step]
                step *= 2
            total = x[-1].copy()
            x[-1] = 0
            while step > 1:
                step //= 2
                left = x[step - 1 :: 2 * step].copy()
                x[step - 1 :: 2 * step] = x[2 * step - 1 :: 2 * step]
                x[2 * step - 1 :: 2 * step] += left
            state = np.concatenate([S0, Z0[:, None]], 1)
            incl = x[:n] + leaf + state
            both = np.einsum("nc,ncm->nm", phi_q[b, h], incl)
            o[b, h] = _quotient(both[:, :m], both[:, m] + F32(eps))
            So[b, h], Zo[b, h] = (total + state)[:, :m], (total + state)[:, m]
    return {"o": o, "S": So, "Z": Zo}


# correct
@kernel(
    "correct",
    "a bfloat16 kernel with float32 sums by chunks of 24 tokens, the chunk's triangle taken column by column",
    profile="bf16",
)
def bf16_columns_of_24(phi_q, phi_k, v, S=None, Z=None, eps=0.0, zero_denominator="zero"):
    q, k, w = (np.asarray(x).astype(F32) for x in (phi_q, phi_k, v))
    n, c = q.shape
    S, Z = _start(S, Z, c, w.shape[1])
    num, den = np.zeros_like(w), np.zeros(n, F32)
    for a in range(0, n, 24):
        b = min(n, a + 24)
        num[a:b], den[a:b] = q[a:b] @ S, q[a:b] @ Z
        for j in range(a, b):
            p = q[j:b] @ k[j]
            num[j:b] += p[:, None] * w[j]
            den[j:b] += p
        S, Z = S + k[a:b].T @ w[a:b], Z + k[a:b].sum(0)
    return {"o": _quotient(num, den + F32(eps), zero_denominator).astype(v.dtype), "S": S, "Z": Z}


# category 3
@kernel(
    "wrong",
    "chunks of 16 in groups of 4: the first chunk of each group after the first (tokens 64 to 79, 128 to "
    "143, ..) is added twice to the state that its group's later chunks read, not to the state that is "
    "returned (n > 80)",
)
def group_head_twice(phi_q, phi_k, v, S=None, Z=None, eps=0.0):
    n, c = phi_q.shape
    S, Z = _start(S, Z, c, v.shape[1])
    o = np.zeros_like(v)
    for a in range(0, n, 64):
        Sg, Zg = S, Z
        for b in range(a, min(n, a + 64), 16):
            q, k, w = phi_q[b : b + 16], phi_k[b : b + 16], v[b : b + 16]
            P = np.tril(q @ k.T)
            o[b : b + 16] = _quotient(q @ Sg + P @ w, q @ Zg + P.sum(1) + F32(eps))
            s, z = k.T @ w, k.sum(0)
            times = F32(2) if a and b == a else F32(1)
            Sg, Zg = Sg + times * s, Zg + times * z
            S, Z = S + s, Z + z
    return {"o": o, "S": S, "Z": Z}
