# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


def scale_of(scale, d, dtype=np.float32):
    return dtype(1.0 / np.sqrt(d) if scale is None else scale)


def turn(x):
    return np.swapaxes(x, -1, -2)


def weighted(p, v):
    """p @ v where a weight of 0 does not read its row."""
    ok = np.isfinite(v).all(-1)
    if ok.all():
        return p @ v
    out = p @ np.where(ok[..., None], v, 0).astype(v.dtype)
    for j in np.flatnonzero(~ok.reshape(-1, ok.shape[-1]).all(0)):
        w = p[..., j, None]
        row = np.where(ok[..., j, None], 0, v[..., j, :]).astype(v.dtype)
        out = out + np.where(w != 0, w * row[..., None, :], 0).astype(out.dtype)
    return out


EQUATION = "attention.multi_head"


def visible(n, s, mask=None, causal=False):
    seen = np.ones((n, s), bool)
    if causal:
        seen &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        seen = seen & np.asarray(mask, bool)
    return seen


def attend(q, k, v, seen, scale):
    x = np.where(seen, (q @ turn(k)) * scale, -np.inf).astype(q.dtype)
    top = x.max(-1, keepdims=True)
    p = np.exp(x - np.where(np.isfinite(top), top, 0).astype(q.dtype))
    total = p.sum(-1, keepdims=True)
    return weighted(p, v) / np.where(total > 0, total, 1).astype(q.dtype)


@kernel(
    "correct",
    "W_V and W_O of a head are folded into one matrix in float64 and rounded once; heads are added into "
    "the output one after the other, and no concatenation exists",
)
def values_folded_into_output(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    seen = visible(len(x_q), len(x_k), mask, causal)
    scale = scale_of(scale, w_q.shape[2])
    o = np.zeros((len(x_q), w_o.shape[2]), np.float64)
    for h in range(len(w_q)):
        fold = w_v[h].astype(np.float64) @ w_o[h].astype(np.float64)
        o += attend(x_q @ w_q[h], x_k @ w_k[h], f32(x_v.astype(np.float64) @ fold), seen, scale)
    return f32(o)


@kernel(
    "correct",
    "bfloat16 kernel: projections, weights and concatenated heads rounded to bfloat16 as each product's "
    "operands, all sums in float32, output projection by pairs of heads in a tree",
    profile="bf16",
)
def tree_of_heads_bf16(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    seen = visible(len(x_q), len(x_k), mask, causal)
    scale = scale_of(scale, w_q.shape[2])
    parts = []
    for h in range(len(w_q)):
        q, k, v = (bf16(f32(x) @ f32(w[h])) for x, w in ((x_q, w_q), (x_k, w_k), (x_v, w_v)))
        parts.append(bf16(attend(q, k, v, seen, scale)) @ f32(w_o[h]))
    while len(parts) > 1:
        parts = [sum(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0].astype(x_q.dtype)


def heads(x_q, x_k, x_v, w_q, w_k, w_v):
    return x_q @ w_q, x_k @ w_k, x_v @ w_v


@kernel(
    "wrong",
    "the default scale is 1/sqrt(h d), of the width of all heads together; a scale that is given is used,"
    " and one head is unharmed",
)
def scale_of_all_heads(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    q, k, v = heads(x_q, x_k, x_v, w_q, w_k, w_v)
    seen = visible(len(x_q), len(x_k), mask, causal)
    o = attend(q, k, v, seen, scale_of(scale, w_q.shape[0] * w_q.shape[2]))
    return np.einsum("hnm,hme->ne", o, w_o)


@kernel(
    "wrong",
    "the concatenation is numbered by column and head (reshape without the transposition), so that W_O "
    "meets the wrong rows; only with several heads and several columns",
)
def concatenation_transposed(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    q, k, v = heads(x_q, x_k, x_v, w_q, w_k, w_v)
    seen = visible(len(x_q), len(x_k), mask, causal)
    o = attend(q, k, v, seen, scale_of(scale, w_q.shape[2]))
    h, n, m = o.shape
    return o.transpose(1, 2, 0).reshape(n, m * h) @ w_o.reshape(h * m, -1)


@kernel(
    "wrong",
    "the mask reaches head 0 only, the other heads see every key that causal order leaves; only with a "
    "mask and more than one head",
    profile="bf16",
)
def mask_for_head_zero(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    kind = x_q.dtype
    x_q, x_k, x_v, w_q, w_k, w_v, w_o = map(f32, (x_q, x_k, x_v, w_q, w_k, w_v, w_o))
    q, k, v = heads(x_q, x_k, x_v, w_q, w_k, w_v)
    n, s = len(x_q), len(x_k)
    seen = np.stack([visible(n, s, mask if h == 0 else None, causal) for h in range(len(w_q))])
    return (np.einsum("hnm,hme->ne", attend(q, k, v, seen, scale_of(scale, w_q.shape[2])), w_o)).astype(kind)


@kernel(
    "wrong", "the concatenated heads are kept in float16 between attention and output projection of a float32 kernel"
)
def concatenation_f16(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    q, k, v = heads(x_q, x_k, x_v, w_q, w_k, w_v)
    o = f16(attend(q, k, v, visible(len(x_q), len(x_k), mask, causal), scale_of(scale, w_q.shape[2])))
    return np.einsum("hnm,hme->ne", o, w_o)


@kernel(
    "wrong",
    "the output projection walks the h m rows of W_O in tiles of 16 and a last partial tile is read from "
    "the end backwards to be full, so that the rows it shares with the tile before count twice; only for "
    "h m > 16 with h m % 16 != 0",
)
def overlapping_last_tile(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, scale=None, causal=False):
    q, k, v = heads(x_q, x_k, x_v, w_q, w_k, w_v)
    o = attend(q, k, v, visible(len(x_q), len(x_k), mask, causal), scale_of(scale, w_q.shape[2]))
    h, n, m = o.shape
    o = o.transpose(1, 0, 2).reshape(n, h * m)
    w = w_o.reshape(h * m, -1)
    y = np.zeros((n, w.shape[1]), np.float32)
    for a in range(0, h * m, 16):
        a = max(0, min(a, h * m - 16))
        y += o[:, a : a + 16] @ w[a : a + 16]
    return y


CATEGORIES.update(
    scale_of_all_heads=1, concatenation_transposed=1, mask_for_head_zero=4, concatenation_f16=2, overlapping_last_tile=3
)
