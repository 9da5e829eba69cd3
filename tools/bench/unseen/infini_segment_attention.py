# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.segment_attention"

F32 = np.float32


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _map(x, kind="elu_plus_one"):
    if kind == "elu_plus_one":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)
    if kind == "relu":
        return np.maximum(x, 0)
    return np.exp(x) if kind == "exp" else x


def _gates(beta, dtype=F32):
    """sigma(beta) and 1 - sigma(beta)."""
    b = float(beta)
    e = np.exp(-abs(b))
    hi, lo = 1 / (1 + e), e / (1 + e)
    return (dtype(hi), dtype(lo)) if b >= 0 else (dtype(lo), dtype(hi))


def _quotient(num, den, zero_denominator="zero"):
    dead = den == 0
    out = num / np.where(dead, np.ones_like(den), den)[..., None]
    out[dead] = 0 if zero_denominator == "zero" else np.nan
    return out


def _rotate(x, positions, base=10000.0):
    d = x.shape[1]
    angle = np.asarray(positions, np.float64)[:, None] * base ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    out = np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * c - x[:, 1::2] * s
    out[:, 1::2] = x[:, 0::2] * s + x[:, 1::2] * c
    return out


def _local(q, k, v, scale):
    n = len(q)
    x = (q @ k.T) * q.dtype.type(scale)
    x[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(x - x.max(1, keepdims=True)) if n else x
    return (p @ v) / p.sum(1, keepdims=True)


def _start(memory, z, d, m, dtype=F32):
    return (
        np.zeros((d, m), dtype) if memory is None else np.array(memory, dtype),
        np.zeros(d, dtype) if z is None else np.array(z, dtype),
    )


def _store(M, z, f, v, update, zero_denominator="zero"):
    if update == "delta":
        v = v - _quotient(f @ M, f @ z, zero_denominator)
    return M + f.T @ v, z + f.sum(0)


# category 1
@kernel("wrong", "the segment is stored before the memory is read: every segment retrieves from a memory that holds it")
def stored_before_read(
    q, k, v, beta, memory=None, z=None, segment=None, update="linear", scale=None, feature_map="elu_plus_one"
):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    scale = 1 / np.sqrt(d) if scale is None else scale
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        M, z = _store(M, z, _map(k[s], feature_map), v[s], update)
        f = _map(q[s], feature_map)
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(q[s], k[s], v[s], scale)
    return {"o": o, "memory": M, "z": z}


# category 1
@kernel(
    "wrong",
    "the memory is read with rotated queries and stores rotated keys (position = rotary)",
    params={"position": "rotary"},
    capabilities="d % 2 == 0",
)
def memory_sees_positions(q, k, v, beta, memory=None, z=None, segment=None, scale=None, offset=0):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    scale = 1 / np.sqrt(d) if scale is None else scale
    L = segment or max(n, 1)
    q, k = _rotate(q, offset + np.arange(n)), _rotate(k, offset + np.arange(n))
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f = _map(q[s])
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(q[s], k[s], v[s], scale)
        M, z = _store(M, z, _map(k[s]), v[s], "linear")
    return {"o": o, "memory": M, "z": z}


# category 2
@kernel("wrong", "memory and z are kept in bfloat16 between segments (more than one segment)")
def bf16_between_segments(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        if a:
            M, z = _bf16(M), _bf16(z)
        f = _map(q[s], feature_map)
        o[s] = g * _quotient(f @ M, f @ z, zero_denominator) + l * _local(q[s], k[s], v[s], 1 / np.sqrt(d))
        M, z = _store(M, z, _map(k[s], feature_map), v[s], update, zero_denominator)
    return {"o": o, "memory": M, "z": z}


# category 3
@kernel(
    "wrong", "a last segment that is shorter than `segment` (n % segment != 0, n > segment) is answered but not stored"
)
def short_segment_not_stored(q, k, v, beta, memory=None, z=None, segment=None, update="linear"):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f = _map(q[s])
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(q[s], k[s], v[s], 1 / np.sqrt(d))
        if a + L <= n or a == 0:
            M, z = _store(M, z, _map(k[s]), v[s], update)
    return {"o": o, "memory": M, "z": z}


# category 3
@kernel(
    "wrong",
    "online softmax over key tiles of 16: when the maximum grows the weighted values are rescaled, the "
    "running sum of weights is not (a segment of more than 16 tokens)",
)
def sum_not_rescaled(q, k, v, beta, memory=None, z=None, segment=None, update="linear", scale=None):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    scale = F32(1 / np.sqrt(d) if scale is None else scale)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        b = min(n, a + L)
        rows = np.arange(a, b)
        top, tot, acc = np.full(b - a, -np.inf, F32), np.zeros(b - a, F32), np.zeros((b - a, v.shape[1]), F32)
        for t in range(a, b, 16):
            cols = np.arange(t, min(b, t + 16))
            x = np.where(cols[None] <= rows[:, None], (q[rows] @ k[cols].T) * scale, F32(-np.inf))
            new = np.maximum(top, x.max(1))
            p = np.exp(x - new[:, None])
            acc = acc * np.exp(top - new)[:, None] + p @ v[cols]
            tot = tot + p.sum(1)
            top = new
        f = _map(q[a:b])
        o[a:b] = g * _quotient(f @ M, f @ z) + l * acc / tot[:, None]
        M, z = _store(M, z, _map(k[a:b]), v[a:b], update)
    return {"o": o, "memory": M, "z": z}


# category 4
@kernel(
    "wrong",
    "while the memory is empty the gate is skipped: the first segment gives its local result whole, not "
    "(1 - sigma(beta)) times it (no carried state)",
)
def first_segment_ungated(q, k, v, beta, memory=None, z=None, segment=None, update="linear"):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        loc = _local(q[s], k[s], v[s], 1 / np.sqrt(d))
        f = _map(q[s])
        o[s] = loc if not z.any() else g * _quotient(f @ M, f @ z) + l * loc
        M, z = _store(M, z, _map(k[s]), v[s], update)
    return {"o": o, "memory": M, "z": z}


# category 4
@kernel(
    "wrong",
    "with a carried state and several heads, z is updated per head but all heads divide by the z of the "
    "last head of their sequence",
    layout="bhnd",
)
def z_of_last_head(q, k, v, beta, memory=None, z=None, segment=None):
    B, H, n, d = q.shape
    m = v.shape[3]
    M = np.zeros((B, H, d, m), F32) if memory is None else memory.copy()
    zs = np.zeros((B, H, d), F32) if z is None else z.copy()
    carried = z is not None
    L = segment or max(n, 1)
    o = np.zeros((B, H, n, m), F32)
    for b in range(B):
        for a in range(0, n, L):
            s = slice(a, a + L)
            zread = zs[b].copy()
            for h in range(H):
                g, l = _gates(beta[b, h])
                f = _map(q[b, h, s])
                use = zread[H - 1] if carried else zread[h]
                o[b, h, s] = g * _quotient(f @ M[b, h], f @ use) + l * _local(
                    q[b, h, s], k[b, h, s], v[b, h, s], 1 / np.sqrt(d)
                )
                M[b, h], zs[b, h] = _store(M[b, h], zs[b, h], _map(k[b, h, s]), v[b, h, s], "linear")
    return {"o": o, "memory": M, "z": zs}


# category 5
@kernel(
    "wrong",
    "rotary positions have base 9990 in place of 10000 (position = rotary, d > 2)",
    params={"position": "rotary"},
    capabilities="d % 2 == 0",
)
def rotary_base(q, k, v, beta, memory=None, z=None, segment=None, update="linear", offset=0):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    at = offset + np.arange(n)
    qr, kr = _rotate(q, at, 9990.0), _rotate(k, at, 9990.0)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f = _map(q[s])
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(qr[s], kr[s], v[s], 1 / np.sqrt(d))
        M, z = _store(M, z, _map(k[s]), v[s], update)
    return {"o": o, "memory": M, "z": z}


# category 1
@kernel(
    "wrong",
    "the delta update of a segment is made with the memory before it but the z after it (update = delta, "
    "a memory that is not empty)",
    params={"update": "delta"},
)
def delta_with_new_z(q, k, v, beta, memory=None, z=None, segment=None, feature_map="elu_plus_one"):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f = _map(q[s], feature_map)
        o[s] = g * _quotient(f @ M, f @ z) + l * _local(q[s], k[s], v[s], 1 / np.sqrt(d))
        fk = _map(k[s], feature_map)
        z = z + fk.sum(0)
        M = M + fk.T @ (v[s] - _quotient(fk @ M, fk @ z))
    return {"o": o, "memory": M, "z": z}


# category 2
@kernel("wrong", "the memory's answer is rounded to float16 before the gate mixes it in (a memory that is not empty)")
def answer_in_half(q, k, v, beta, memory=None, z=None, segment=None, update="linear", feature_map="elu_plus_one"):
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        f = _map(q[s], feature_map)
        ans = _quotient(f @ M, f @ z).astype(np.float16).astype(F32)
        o[s] = g * ans + l * _local(q[s], k[s], v[s], 1 / np.sqrt(d))
        M, z = _store(M, z, _map(k[s], feature_map), v[s], update)
    return {"o": o, "memory": M, "z": z}


# correct
@kernel(
    "correct",
    "online softmax row by row over key tiles of 7 in base 2 (scale log2 e inside the product), all in "
    "float64 and rounded once",
    layout="bhnd",
)
def tiles_of_seven_base_two(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    update="linear",
    scale=None,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    D = np.float64
    B, H, n, d = q.shape
    m = v.shape[3]
    f2 = (1 / np.sqrt(d) if scale is None else scale) * np.log2(np.e)
    L = segment or max(n, 1)
    o, Mo, zo = np.zeros((B, H, n, m), F32), np.zeros((B, H, d, m), F32), np.zeros((B, H, d), F32)
    for b in range(B):
        for h in range(H):
            M, s = _start(None if memory is None else memory[b, h], None if z is None else z[b, h], d, m, D)
            Q, K, V = (x[b, h].astype(D) for x in (q, k, v))
            g, l = _gates(beta[b, h], D)
            for a in range(0, n, L):
                e = min(n, a + L)
                loc = np.zeros((e - a, m))
                for i in range(a, e):
                    top, tot, acc = -np.inf, 0.0, np.zeros(m)
                    for t in range(a, i + 1, 7):
                        u = min(i + 1, t + 7)
                        x = (K[t:u] @ Q[i]) * f2
                        new = max(top, x.max())
                        p = np.exp2(x - new)
                        fade = np.exp2(top - new)
                        tot, acc, top = tot * fade + p.sum(), acc * fade + p @ V[t:u], new
                    loc[i - a] = acc / tot
                f = _map(Q[a:e], feature_map)
                o[b, h, a:e] = g * _quotient(f @ M, f @ s, zero_denominator) + l * loc
                M, s = _store(M, s, _map(K[a:e], feature_map), V[a:e], update, zero_denominator)
            Mo[b, h], zo[b, h] = M, s
    return {"o": o, "memory": Mo, "z": zo}


# correct
@kernel(
    "correct",
    "two passes: first the memories before all segments by a cumulative sum of segment sums (linear "
    "update), then all segments in reverse order",
    params={"update": "linear"},
)
def memories_first(
    q,
    k,
    v,
    beta,
    memory=None,
    z=None,
    segment=None,
    scale=None,
    position="none",
    offset=0,
    feature_map="elu_plus_one",
    zero_denominator="zero",
):
    n, d = q.shape
    m = v.shape[1]
    M, z = _start(memory, z, d, m)
    g, l = _gates(beta)
    scale = 1 / np.sqrt(d) if scale is None else scale
    L = segment or max(n, 1)
    starts = list(range(0, n, L))
    fk = _map(k, feature_map)
    v1 = np.hstack([v, np.ones((n, 1), F32)])
    U = np.zeros((len(starts) + 1, d, m + 1), F32)
    U[0, :, :m], U[0, :, m] = M, z
    for t, a in enumerate(starts):
        U[t + 1] = fk[a : a + L].T @ v1[a : a + L]
    U = np.cumsum(U, 0, dtype=F32)
    if position == "rotary":
        at = offset + np.arange(n)
        qr, kr = _rotate(q, at), _rotate(k, at)
    else:
        qr, kr = q, k
    o = np.zeros_like(v)
    for t in range(len(starts) - 1, -1, -1):
        s = slice(starts[t], starts[t] + L)
        both = _map(q[s], feature_map) @ U[t]
        ans = _quotient(both[:, :m], both[:, m], zero_denominator)
        o[s] = l * _local(qr[s], kr[s], v[s], scale) + g * ans
    return {"o": o, "memory": U[-1, :, :m].copy(), "z": U[-1, :, m].copy()}


# correct
@kernel(
    "correct",
    "a bfloat16 kernel with rotary positions as complex numbers turned from the segment's own start (only"
    " differences of positions matter), float32 inside",
    profile="bf16",
    capabilities="d % 2 == 0",
    params={"position": "rotary"},
)
def complex_relative_rotary(q, k, v, beta, memory=None, z=None, segment=None, update="linear", offset=0):
    out_type = v.dtype
    q, k, v = (np.ascontiguousarray(np.asarray(x).astype(F32)) for x in (q, k, v))
    n, d = q.shape
    M, z = _start(memory, z, d, v.shape[1])
    g, l = _gates(beta)
    L = segment or max(n, 1)
    o = np.zeros_like(v)
    for a in range(0, n, L):
        s = slice(a, a + L)
        turn = np.exp(1j * np.arange(len(q[s]))[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)).astype(np.complex64)
        qc, kc = (x[s].view(np.complex64) * turn for x in (q, k))
        x = (qc @ kc.conj().T).real * F32(1 / np.sqrt(d))
        x = np.where(np.tri(len(x), dtype=bool), x, F32(-np.inf))
        p = np.exp(x - x.max(1, keepdims=True))
        f = _map(q[s])
        o[s] = g * _quotient(f @ M, f @ z) + l * ((p @ v[s]) / p.sum(1, keepdims=True))
        M, z = _store(M, z, _map(k[s]), v[s], update)
    return {"o": o.astype(out_type), "memory": M, "z": z}
