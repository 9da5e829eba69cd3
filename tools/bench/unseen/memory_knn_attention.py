# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.knn_attention"

F32 = np.float32


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _gates(bias, dtype=F32):
    b = float(bias)
    e = np.exp(-abs(b))
    hi, lo = 1 / (1 + e), e / (1 + e)
    return (dtype(hi), dtype(lo)) if b >= 0 else (dtype(lo), dtype(hi))


def _local(q, k, v, scale):
    n = len(q)
    x = (q @ k.T) * q.dtype.type(scale)
    x[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(x - x.max(1, keepdims=True)) if n else x
    return (p @ v) / p.sum(1, keepdims=True)


def _softmax(x):
    p = np.exp(x - x.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def _chosen(scores, top):
    """Indices of the largest products, ties to the lowest index."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :top]


def _recall(q, memory_k, memory_v, top, scale, chosen=None):
    if not len(memory_k):
        return np.zeros((len(q), memory_v.shape[1]), q.dtype)
    s = q @ memory_k.T
    T = _chosen(s if chosen is None else chosen, top)
    p = _softmax(np.take_along_axis(s, T, 1) * q.dtype.type(scale))
    return np.einsum("nt,ntm->nm", p, memory_v[T])


def _written(memory, rows):
    """The new memory where its capacity is that of the old one: the last r rows."""
    r = len(memory)
    both = np.concatenate([memory, rows])
    return both[len(both) - r :]


# category 1
@kernel("wrong", "the softmax over the chosen memories is normalised by the sum over all memories (r > top)")
def normalised_by_all(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    d = q.shape[1]
    scale = 1 / np.sqrt(d) if scale is None else scale
    g, l = _gates(gate_bias)
    o = l * _local(q, k, v, scale)
    if len(memory_k):
        s = q @ memory_k.T
        T = _chosen(s, top)
        p = np.take_along_axis(_softmax(s * F32(scale)), T, 1)
        o = o + g * np.einsum("nt,ntm->nm", p, memory_v[T])
    return {"o": o}


# category 1
@kernel(
    "wrong",
    "the sequence is written to the memory before the memory is searched: queries retrieve tokens of "
    "their own sequence",
    capabilities="c == r",
)
def written_before_read(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    mk, mv = _written(memory_k, k), _written(memory_v, v)
    return {"o": g * _recall(q, mk, mv, top, scale) + l * _local(q, k, v, scale), "memory_k": mk, "memory_v": mv}


# category 2
@kernel(
    "wrong", "the chosen memories' logits are rounded to bfloat16 before the softmax; the choice is made in float32"
)
def recalled_logits_bf16(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    o = l * _local(q, k, v, scale)
    if len(memory_k):
        s = q @ memory_k.T
        T = _chosen(s, top)
        p = _softmax(_bf16(np.take_along_axis(s, T, 1) * F32(scale)))
        o = o + g * np.einsum("nt,ntm->nm", p, memory_v[T])
    return {"o": o}


# category 2
@kernel(
    "wrong",
    "the search adds its products up in bfloat16, feature after feature: of close memories the wrong one "
    "is chosen (r > top; the softmax then has the exact products)",
)
def search_in_bf16(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    rough = np.zeros((len(q), len(memory_k)), F32)
    for t in range(q.shape[1]):
        rough = _bf16(rough + _bf16(q[:, t, None]) * _bf16(memory_k[:, t]))
    return {"o": g * _recall(q, memory_k, memory_v, top, scale, chosen=rough) + l * _local(q, k, v, scale)}


# category 3
@kernel(
    "wrong",
    "the memory is searched in tiles of 32: each tile's best `top` are found but only the best two of a "
    "tile are merged (r > 32, top > 2; with one tile the search is right)",
)
def two_per_tile(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    s = q @ memory_k.T
    r = len(memory_k)
    if r > 32:
        kept = np.full_like(s, -np.inf)
        for a in range(0, r, 32):
            T = a + _chosen(s[:, a : a + 32], 2)
            np.put_along_axis(kept, T, np.take_along_axis(s, T, 1), 1)
    else:
        kept = s
    # slots that no candidate fills are masked out of the softmax
    T = _chosen(kept, top)
    o = l * _local(q, k, v, scale)
    if r:
        x = np.take_along_axis(kept, T, 1) * F32(scale)
        o = o + g * np.einsum("nt,ntm->nm", _softmax(x), memory_v[T])
    return {"o": o}


# category 4
@kernel(
    "wrong",
    "with fewer memories than `top` the free slots keep logit 0 and value 0 and take part in the softmax (0 < r < top)",
)
def empty_slots_count(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    r = len(memory_k)
    mk, mv = memory_k, memory_v
    o = l * _local(q, k, v, scale)
    if 0 < r < top:
        mk = np.concatenate([mk, np.zeros((top - r, mk.shape[1]), F32)])
        mv = np.concatenate([mv, np.zeros((top - r, mv.shape[1]), F32)])
    if r:
        o = o + g * _recall(q, mk, mv, top, scale)
    return {"o": o}


# category 5
@kernel("wrong", "the gate is sigma(0.99 gate_bias)")
def gate_bias_scaled(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(0.99 * float(gate_bias))
    return {"o": g * _recall(q, memory_k, memory_v, top, scale) + l * _local(q, k, v, scale)}


# category 4
@kernel(
    "wrong",
    "a full memory is overwritten from its start: where n < r the new rows take the place of the first n "
    "rows in place of moving the rest down (c = r); o is right",
    capabilities="c == r",
)
def ring_buffer_order(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    o = g * _recall(q, memory_k, memory_v, top, scale) + l * _local(q, k, v, scale)
    r, n = len(memory_k), len(k)
    if n < r:
        mk, mv = memory_k.copy(), memory_v.copy()
        mk[:n], mv[:n] = k, v
    else:
        mk, mv = k[n - r :], v[n - r :]
    return {"o": o, "memory_k": mk, "memory_v": mv}


# correct
@kernel(
    "correct",
    "memories stream past in order, each query keeps a sorted list of its best `top` by insertion (a "
    "later equal product does not displace an earlier one), softmax in float64, rounded once",
    capabilities="c == r",
)
def streaming_insertion(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    D = np.float64
    n, d = q.shape
    scale = 1 / np.sqrt(d) if scale is None else scale
    g, l = _gates(gate_bias, D)
    Q, K, V, MK, MV = (x.astype(D) for x in (q, k, v, memory_k, memory_v))
    o = np.zeros((n, V.shape[1]))
    S = Q @ MK.T
    for i in range(n):
        best = []
        for j in range(len(MK)):
            p = S[i, j]
            if len(best) == top and not p > best[-1][0]:
                continue
            at = len(best)
            while at and p > best[at - 1][0]:
                at -= 1
            best.insert(at, (p, j))
            del best[top:]
        if best:
            x = np.array([p for p, _ in best]) * scale
            w = np.exp(x - x[0])
            o[i] += g * (w @ MV[[j for _, j in best]]) / w.sum()
        x = (K[: i + 1] @ Q[i]) * scale
        w = np.exp(x - x.max())
        o[i] += l * (w @ V[: i + 1]) / w.sum()
    return {"o": o.astype(F32), "memory_k": _written(memory_k, k), "memory_v": _written(memory_v, v)}


# correct
@kernel(
    "correct",
    "selection by a mask over all memories: a threshold from argpartition, and ties at the threshold "
    "filled from the lowest index; masked softmax over all r columns in float32",
)
def threshold_mask(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None):
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    g, l = _gates(gate_bias)
    o = l * _local(q, k, v, scale)
    r = len(memory_k)
    if r:
        s = q @ memory_k.T
        if r > top:
            edge = -np.partition(-s, top - 1, axis=1)[:, top - 1 : top]
            above, equal = s > edge, s == edge
            room = top - above.sum(1, keepdims=True)
            keep = above | (equal & (np.cumsum(equal, 1) <= room))
        else:
            keep = np.ones_like(s, bool)
        x = np.where(keep, s * F32(scale), F32(-np.inf))
        p = np.exp(x - x.max(1, keepdims=True))
        o = o + g * ((p @ memory_v) / p.sum(1, keepdims=True))
    return {"o": o}
