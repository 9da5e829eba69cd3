# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.multi_head"

F32 = np.float32
F64 = np.float64


def _seen(n, s, causal, mask):
    ok = np.ones((n, s), bool)
    if causal:
        ok &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        ok &= mask
    return ok


def _soft(l, ok):
    l = np.where(ok, l, -np.inf)
    top = l.max(1, keepdims=True, initial=-np.inf)
    e = np.exp(l - np.where(np.isfinite(top), top, 0))
    t = e.sum(1, keepdims=True)
    return e / np.where(t == 0, 1, t)


def _mix(w, ok, v):
    if np.isfinite(v).all():
        return w @ v
    return np.stack([w[i, ok[i]] @ v[ok[i]] for i in range(len(w))])


def _plain(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    h, f, d = w_q.shape
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    ok = _seen(len(x_q), len(x_k), causal, mask)
    o = np.zeros((len(x_q), w_o.shape[2]), x_q.dtype)
    for g in range(h):
        w = _soft(((x_q @ w_q[g]) @ (x_k @ w_k[g]).T) * a, ok)
        o = o + _mix(w, ok, x_v @ w_v[g]) @ w_o[g]
    return o


# category 7
@kernel(
    "wrong",
    "the heads' results are concatenated column by column (column c of all heads together) while w_o's "
    "rows stay in order of heads: with several heads of several columns they do not meet",
    profile="bf16",
)
def concatenated_by_column(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    out = x_q.dtype
    x_q, x_k, x_v, w_q, w_k, w_v, w_o = (t.astype(F32) for t in (x_q, x_k, x_v, w_q, w_k, w_v, w_o))
    h, f, d = w_q.shape
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    ok = _seen(len(x_q), len(x_k), causal, mask)
    heads = [_mix(_soft(((x_q @ w_q[g]) @ (x_k @ w_k[g]).T) * F32(a), ok), ok, x_v @ w_v[g]) for g in range(h)]
    flat = np.stack(heads, 2).reshape(len(x_q), -1)
    return (flat @ w_o.reshape(-1, w_o.shape[2])).astype(out)


# category 4
@kernel(
    "wrong",
    "with a mask and more than one head the mask is applied to the first head only (its heads stride is "
    "that of the batch)",
)
def mask_for_first_head(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    first = _plain(
        x_q,
        x_k,
        x_v,
        w_q[:1],
        w_k[:1],
        w_v[:1],
        w_o[:1],
        mask,
        1 / math.sqrt(w_q.shape[2]) if scale is None else scale,
        causal,
    )
    if len(w_q) == 1:
        return first
    return first + _plain(x_q, x_k, x_v, w_q[1:], w_k[1:], w_v[1:], w_o[1:], None, scale, causal)


# category 5
@kernel(
    "wrong",
    "the default scale is 1/sqrt(f / h), the width that a head would have if the heads shared the tokens'"
    " width, in place of 1/sqrt(d)",
)
def scale_of_token_width(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    h, f, d = w_q.shape
    return _plain(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask, math.sqrt(h / f) if scale is None else scale, causal)


# category 2
@kernel("wrong", "the softmax weights are float32 in a float64 kernel", profile="f64")
def weights_in_single(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    h, f, d = w_q.shape
    a = 1 / math.sqrt(d) if scale is None else float(scale)
    ok = _seen(len(x_q), len(x_k), causal, mask)
    o = np.zeros((len(x_q), w_o.shape[2]), F64)
    for g in range(h):
        w = _soft(((x_q @ w_q[g]) @ (x_k @ w_k[g]).T) * a, ok).astype(F32).astype(F64)
        o += _mix(w, ok, x_v @ w_v[g]) @ w_o[g]
    return o


@kernel(
    "correct",
    "absorbed weights: w_q w_k^T and w_v w_o are multiplied first, heads from the last to the first, "
    "logits transposed (keys by queries), base 2, division at the end, all in double",
)
def absorbed_weights(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    h, f, d = w_q.shape
    n, s = len(x_q), len(x_k)
    a = (1 / math.sqrt(d) if scale is None else float(scale)) * math.log2(math.e)
    ok = _seen(n, s, causal, mask)
    used = ok.any(0)
    q = x_q.astype(F64)
    k = np.where(used[:, None], x_k, 0).astype(F64)
    v = np.where(used[:, None], x_v, 0).astype(F64)
    odd = not (np.isfinite(k).all() and np.isfinite(v).all())
    out = np.zeros((n, w_o.shape[2]), F64)
    for g in range(h - 1, -1, -1):
        kq = k @ (w_k[g].astype(F64) @ w_q[g].astype(F64).T)
        vo = v @ (w_v[g].astype(F64) @ w_o[g].astype(F64))
        t = np.where(ok.T, (kq @ q.T) * a, -np.inf)
        top = t.max(0, initial=-np.inf)
        e = np.exp2(t - np.where(np.isfinite(top), top, 0))
        den = e.sum(0)
        num = np.stack([e[ok[i], i] @ vo[ok[i]] for i in range(n)]) if odd and n else e.T @ vo
        out += num / np.where(den == 0, 1, den)[:, None]
    return out.astype(F32)
