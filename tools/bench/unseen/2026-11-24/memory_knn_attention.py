# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.knn_attention"

F32 = np.float32
F64 = np.float64

# The capacity c is a size of an optional output and not an argument: these kernels return o alone.


def _unit(x):
    r = np.sqrt((x * x).sum(1, keepdims=True))
    return x / np.where(r == 0, 1, r)


def _soft(l):
    e = np.exp(l - l.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _local(q, k, v, a):
    n = len(q)
    if n == 0:
        return np.zeros_like(v)
    return _soft(np.where(np.tril(np.ones((n, n), bool)), (q @ k.T) * a, q.dtype.type(-np.inf))) @ v


def _found(x, memory_v, top, a, hook=""):
    n, r = x.shape
    out = np.zeros((n, memory_v.shape[1]), x.dtype)
    if hook == "tail_not_searched" and r > 32:
        r = r // 32 * 32
    t = min(top, r)
    for i in range(n if t else 0):
        if hook == "ties_to_last":
            j = (r - 1 - np.argsort(-x[i, :r][::-1], kind="stable"))[:t]
        else:
            j = np.argsort(-x[i, :r], kind="stable")[:t]
        w = _soft(x[i, j] * a)
        out[i] = w @ memory_v[np.sort(j) if hook == "values_in_index_order" else j]
    return out


def _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise, hook=""):
    a = 1 / math.sqrt(q.shape[1]) if scale is None else float(scale)
    qm, km = (_unit(q), _unit(memory_k)) if normalise == "queries_keys" else (q, memory_k)
    g = (1 / (1 + np.exp(-np.asarray(gate_bias, q.dtype)))).astype(q.dtype)
    if hook == "local_normalised" and normalise == "queries_keys":
        q, k = qm, _unit(k)
    return {"o": g * _found(qm @ km.T, memory_v, top, a, hook) + (1 - g) * _local(q, k, v, a)}


def _plain(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    return _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise)


# category 6
@kernel(
    "wrong",
    "of equal products the memory with the highest index is chosen (shows where a tie crosses the border "
    "of the chosen)",
)
def ties_to_last(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    return _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise, "ties_to_last")


# category 4
@kernel("wrong", "with normalise = queries_keys the local attention runs on unit vectors too")
def local_normalised(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    return _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise, "local_normalised")


# category 3
@kernel(
    "wrong", "the memory is searched in tiles of 32; with more than 32 memories the last partial tile is not searched"
)
def tail_not_searched(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    return _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise, "tail_not_searched")


# category 7
@kernel(
    "wrong",
    "the chosen values are gathered in order of their index while the weights stand in order of rank",
    profile="f64",
)
def values_in_index_order(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    return _all(q, k, v, memory_k, memory_v, gate_bias, top, scale, normalise, "values_in_index_order")


@kernel(
    "correct",
    "the products of the search in one einsum, then a heap of the best memories per query filled from the"
    " last memory to the first; the local part by a running softmax over keys; gate by tanh; double",
)
def heap_of_memories(q, k, v, memory_k, memory_v, gate_bias, top=4, scale=None, normalise="none"):
    import heapq

    n, d = q.shape
    r = len(memory_k)
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    Q, K, V = q.astype(F64), k.astype(F64), v.astype(F64)
    x = np.einsum("id,jd->ij", Q, memory_k.astype(F64))
    if normalise == "queries_keys":
        nq = np.sqrt(np.einsum("id,id->i", Q, Q))
        nk = np.sqrt(np.einsum("jd,jd->j", memory_k.astype(F64), memory_k.astype(F64)))
        x = x / np.where(nq == 0, 1, nq)[:, None] / np.where(nk == 0, 1, nk)[None]
    g = 0.5 * (1 + math.tanh(0.5 * float(gate_bias)))
    rest = 0.5 * (1 - math.tanh(0.5 * float(gate_bias)))
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        heap = []
        for j in range(r - 1, -1, -1):
            item = (x[i, j], -j)
            if len(heap) < top:
                heapq.heappush(heap, item)
            elif item > heap[0]:
                heapq.heapreplace(heap, item)
        if heap:
            j = np.array([-b for _, b in heap])
            e = np.exp(a * (x[i, j] - x[i, j].max()))
            o[i] += g * (e @ memory_v[j].astype(F64)) / e.sum()
        high, den, num = -np.inf, 0.0, np.zeros(v.shape[1])
        for j in range(i, -1, -1):
            l = a * float(Q[i] @ K[j])
            new = max(high, l)
            c, e = (math.exp(high - new) if den else 0.0), math.exp(l - new)
            high, den, num = new, den * c + e, num * c + e * V[j]
        o[i] += rest * num / den
    return {"o": o.astype(F32)}
