# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.scaled_dot_product_backward"

F32 = np.float32
F64 = np.float64


def _weights(q, k, mask, bias, scale, causal):
    n, s = len(q), len(k)
    ok = np.ones((n, s), bool)
    if causal:
        ok &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        ok &= mask
    if bias is not None:
        ok &= bias != -np.inf
    a = 1 / math.sqrt(q.shape[1]) if scale is None else float(scale)
    l = (q @ k.T) * a
    if bias is not None:
        l = l + bias
    l = np.where(ok, l, -np.inf)
    top = l.max(1, keepdims=True, initial=-np.inf)
    e = np.exp(l - np.where(np.isfinite(top), top, 0))
    den = e.sum(1, keepdims=True)
    return e / np.where(den == 0, 1, den), ok, a


def _unread(x, ok):
    return np.where(ok.any(0)[:, None], x, 0)


def _plain(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    w, ok, a = _weights(q, k, mask, bias, scale, causal)
    k, v = _unread(k, ok), _unread(v, ok)
    ga = np.where(ok, grad_o @ v.T, 0)
    gl = w * (ga - (w * ga).sum(1, keepdims=True))
    return (gl @ k) * a, (gl.T @ q) * a, w.T @ grad_o, gl


# category 2
@kernel("wrong", "the recomputed weights are rounded to float16 for grad_v")
def half_weights_for_grad_v(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    gq, gk, gv, gl = _plain(q, k, v, grad_o, mask, bias, scale, causal)
    w, ok, a = _weights(q, k, mask, bias, scale, causal)
    return gq, gk, w.astype(np.float16).astype(F32).T @ grad_o, gl


# category 7 (stale buffer)
@kernel(
    "wrong",
    "delta sits in a buffer of 32 rows that only the first tile of queries fills: rows from 32 on "
    "subtract delta of row i - 32, i - 64 ..",
)
def stale_delta(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    w, ok, a = _weights(q, k, mask, bias, scale, causal)
    k, v = _unread(k, ok), _unread(v, ok)
    ga = np.where(ok, grad_o @ v.T, F32(0))
    delta = (w * ga).sum(1, keepdims=True)
    gl = w * (ga - delta[np.arange(len(q)) % 32])
    return (gl @ k) * F32(a), (gl.T @ q) * F32(a), w.T @ grad_o, gl


# category 6
@kernel(
    "wrong", "the backward pass skips weights below 1/64 as if they were hidden (delta is still that of all weights)"
)
def faint_weights_skipped(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    w, ok, a = _weights(q, k, mask, bias, scale, causal)
    k, v = _unread(k, ok), _unread(v, ok)
    ga = np.where(ok, grad_o @ v.T, F32(0))
    delta = (w * ga).sum(1, keepdims=True)
    w = np.where(w < F32(0.015625), F32(0), w)
    gl = w * (ga - delta)
    return (gl @ k) * F32(a), (gl.T @ q) * F32(a), w.T @ grad_o, gl


# category 3
@kernel(
    "wrong",
    "queries come in tiles of 24; the last tile, where it is partial (and not the only one), writes "
    "grad_k over what was added up before",
)
def tail_overwrites_grad_k(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    gq, gk, gv, gl = _plain(q, k, v, grad_o, mask, bias, scale, causal)
    n = len(q)
    if n > 24 and n % 24:
        lo = n // 24 * 24
        gk = (gl[lo:].T @ q[lo:]) * F32(1 / math.sqrt(q.shape[1]) if scale is None else scale)
    return gq, gk, gv, gl


@kernel(
    "correct",
    "two passes: row log-sum-exps and delta = grad_o . o first, then columns of 7 keys at a time with "
    "weights 2^(l - lse), products transposed, in double",
    profile="f64",
)
def key_columns(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False, block=8):
    n, d = q.shape
    s, m = v.shape
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    L2E = math.log2(math.e)

    def logits(j):
        l = np.full((len(j), n), -np.inf)
        for c, jj in enumerate(j):
            ok = np.ones(n, bool)
            if causal:
                ok &= jj - (s - n) <= np.arange(n)
            if mask is not None:
                ok &= mask[:, jj]
            if bias is not None:
                ok &= bias[:, jj] > -np.inf
            if ok.any():
                x = a * (q[ok] @ k[jj])
                if bias is not None:
                    x = x + bias[ok, jj]
                l[c, ok] = L2E * x
        return l

    tiles = [np.arange(lo, min(lo + 7, s)) for lo in range(0, s, 7)]
    top = np.full(n, -np.inf)
    for j in tiles:
        top = np.maximum(top, logits(j).max(0))
    base = np.where(np.isfinite(top), top, 0)
    den, o = np.zeros(n), np.zeros((m, n))
    for j in tiles:
        e = np.exp2(logits(j) - base)
        den += e.sum(0)
        o += np.where((e > 0).any(1)[:, None], v[j], 0).T @ e
    lse = base + np.log2(np.where(den == 0, 1, den))
    delta = (grad_o.T * (o / np.where(den == 0, 1, den))).sum(0)
    gq, gk, gv, gl = np.zeros((n, d)), np.zeros((s, d)), np.zeros((s, m)), np.zeros((n, s))
    for j in tiles:
        p = np.exp2(logits(j) - lse)
        read = (p > 0).any(1)[:, None]
        g = p * (np.where(read, v[j], 0) @ grad_o.T - delta)
        gl[:, j] = g.T
        gv[j] = p @ grad_o
        gk[j] = a * (g @ q)
        gq += a * (g.T @ np.where(read, k[j], 0))
    return {"grad_q": gq, "grad_k": gk, "grad_v": gv, "grad_bias": gl}
