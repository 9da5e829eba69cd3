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


EQUATION = "attention.scaled_dot_product_backward"


def visible(n, s, mask=None, bias=None, causal=False):
    seen = np.ones((n, s), bool)
    if causal:
        seen &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        seen = seen & np.asarray(mask, bool)
    if bias is not None:
        seen = seen & (bias != -np.inf)
    return seen


def logits(q, k, bias, scale, seen):
    x = (q @ k.T) * scale
    if bias is not None:
        x = x + np.where(bias == -np.inf, 0, bias).astype(x.dtype)
    return np.where(seen, x, -np.inf).astype(x.dtype)


def weights(x):
    """The softmax of each row; a row that sees nothing is 0."""
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    p = np.exp(x - top[:, None])
    total = p.sum(1, keepdims=True)
    return p / np.where(total > 0, total, 1).astype(x.dtype)


@kernel(
    "correct",
    "loop over tiles of 24 keys outside, weights recomputed in base 2 from the saved maximum and inverse "
    "sum of each row, delta from grad_o . o of a forward pass of its own, grad_q accumulated across the "
    "tiles",
)
def keys_outside(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    n, d = q.shape
    s, m = v.shape
    scale = scale_of(scale, d)
    log2e = np.float32(1.4426950408889634)
    seen = visible(n, s, mask, bias, causal)
    x = logits(q, k, bias, scale, seen)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp2((x - top[:, None]) * log2e)
    total = p.sum(1)
    inverse = np.where(total > 0, 1 / np.where(total > 0, total, 1), 0).astype(np.float32)
    delta = (grad_o * weighted(p, v)).sum(1) * inverse
    grad_q = np.zeros_like(q)
    grad_k, grad_v = np.empty_like(k), np.empty_like(v)
    grad_bias = np.empty((n, s), np.float32)
    for b in range(0, s, 24):
        t = slice(b, b + 24)
        p = np.exp2((x[:, t] - top[:, None]) * log2e) * inverse[:, None]
        grad_a = np.where(seen[:, t], grad_o @ v[t].T, 0).astype(np.float32)
        grad_l = p * (grad_a - delta[:, None])
        grad_v[t] = p.T @ grad_o
        grad_k[t] = (grad_l.T @ q) * scale
        grad_q += weighted(grad_l, k[t])
        grad_bias[:, t] = grad_l
    return {"grad_q": grad_q * scale, "grad_k": grad_k, "grad_v": grad_v, "grad_bias": grad_bias}


@kernel(
    "correct",
    "each query on its own with the Jacobian diag(a) - a a^T of its softmax written out, in float64, "
    "rounded to float32 once at the end",
)
def explicit_jacobian(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    scale = float(scale_of(scale, d, np.float64))
    q, k, v, grad_o = (t.astype(np.float64) for t in (q, k, v, grad_o))
    grad_q, grad_k, grad_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    grad_bias = np.zeros((n, s))
    for i in range(n):
        see = np.flatnonzero(seen[i])
        if not len(see):
            continue
        x = (k[see] @ q[i]) * scale
        if bias is not None:
            x = x + bias[i, see]
        a = np.exp(x - x.max())
        a /= a.sum()
        jacobian = np.diag(a) - np.outer(a, a)
        g = jacobian @ (v[see] @ grad_o[i])
        grad_bias[i, see] = g
        grad_q[i] = scale * (g @ k[see])
        grad_k[see] += scale * np.outer(g, q[i])
        grad_v[see] += np.outer(a, grad_o[i])
    return {"grad_q": f32(grad_q), "grad_k": f32(grad_k), "grad_v": f32(grad_v), "grad_bias": f32(grad_bias)}


def gradients(q, k, v, grad_o, mask, bias, scale, causal):
    n, s = len(q), len(k)
    scale = scale_of(scale, q.shape[1], q.dtype.type)
    seen = visible(n, s, mask, bias, causal)
    a = weights(logits(q, k, bias, scale, seen))
    grad_a = np.where(seen, grad_o @ v.T, 0).astype(q.dtype)
    return scale, seen, a, grad_a


@kernel(
    "wrong",
    "the scale is folded into q for the recomputation, which gives grad_k its scale, but grad_q leaves without it",
)
def grad_q_unscaled(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    grad_l = a * (grad_a - (a * grad_a).sum(1, keepdims=True))
    return {
        "grad_q": weighted(grad_l, k),
        "grad_k": grad_l.T @ (q * scale),
        "grad_v": a.T @ grad_o,
        "grad_bias": grad_l,
    }


@kernel("wrong", "delta is summed over the tile of 32 keys at hand in place of the whole row; only for s > 32")
def delta_of_the_tile(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    grad_l = np.empty_like(a)
    for b in range(0, len(k), 32):
        t = slice(b, b + 32)
        grad_l[:, t] = a[:, t] * (grad_a[:, t] - (a[:, t] * grad_a[:, t]).sum(1, keepdims=True))
    return {
        "grad_q": weighted(grad_l, k) * scale,
        "grad_k": (grad_l.T @ q) * scale,
        "grad_v": a.T @ grad_o,
        "grad_bias": grad_l,
    }


@kernel("wrong", "the path through the denominator is missing: grad_l = a * grad_a, without delta")
def no_denominator_path(q, k, v, grad_o, mask=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, None, scale, causal)
    grad_l = a * grad_a
    return {"grad_q": weighted(grad_l, k) * scale, "grad_k": (grad_l.T @ q) * scale, "grad_v": a.T @ grad_o}


@kernel(
    "wrong", "delta = grad_o . o is formed of an output o that the forward pass saved in bfloat16, in a float32 kernel"
)
def delta_of_bf16_output(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    delta = (grad_o * bf16(weighted(a, v))).sum(1, keepdims=True)
    grad_l = a * (grad_a - delta)
    return {"grad_q": weighted(grad_l, k) * scale, "grad_k": (grad_l.T @ q) * scale, "grad_v": a.T @ grad_o}


@kernel(
    "wrong",
    "the recomputation aligns its causal mask at the top left while log-sum-exp and delta of the forward "
    "pass are aligned at the bottom right: the last s - n visible keys of a row get no gradient; only "
    "causal with n < s",
)
def recomputed_top_left(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    delta = (a * grad_a).sum(1, keepdims=True)
    if causal:
        a = np.where(np.tril(np.ones(a.shape, bool)), a, 0).astype(a.dtype)
    grad_l = a * (grad_a - delta)
    return {
        "grad_q": weighted(grad_l, k) * scale,
        "grad_k": (grad_l.T @ q) * scale,
        "grad_v": a.T @ grad_o,
        "grad_bias": grad_l,
    }


@kernel(
    "wrong",
    "the last partial block of 16 queries adds nothing to grad_k and grad_v (its loop runs over n // 16 "
    "blocks once there is one full block), while grad_q is complete; only for n > 16 with n % 16 != 0",
)
def last_query_block_lost(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    grad_l = a * (grad_a - (a * grad_a).sum(1, keepdims=True))
    grad_k, grad_v = np.zeros_like(k), np.zeros_like(v)
    for block in range(max(1, len(q) // 16)):
        t = slice(16 * block, 16 * block + 16)
        grad_k += (grad_l[t].T @ q[t]) * scale
        grad_v += a[t].T @ grad_o[t]
    return {"grad_q": weighted(grad_l, k) * scale, "grad_k": grad_k, "grad_v": grad_v, "grad_bias": grad_l}


@kernel(
    "wrong",
    "grad_bias is written after the scale was multiplied in: it is scale times what it should be, unless "
    "the scale is 1",
)
def grad_bias_scaled(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    grad_l = a * (grad_a - (a * grad_a).sum(1, keepdims=True)) * scale
    return {"grad_q": weighted(grad_l, k), "grad_k": grad_l.T @ q, "grad_v": a.T @ grad_o, "grad_bias": grad_l}


@kernel(
    "wrong",
    "in a float64 kernel delta is accumulated in float32 (the buffer of the forward pass is float32)",
    profile="f64",
)
def f64_delta_in_f32(q, k, v, grad_o, mask=None, bias=None, scale=None, causal=False):
    scale, seen, a, grad_a = gradients(q, k, v, grad_o, mask, bias, scale, causal)
    delta = (a * grad_a).astype(np.float32).sum(1, keepdims=True)
    grad_l = a * (grad_a - delta.astype(np.float64))
    return {
        "grad_q": weighted(grad_l, k) * scale,
        "grad_k": (grad_l.T @ q) * scale,
        "grad_v": a.T @ grad_o,
        "grad_bias": grad_l,
    }


CATEGORIES.update(
    grad_q_unscaled=6,
    delta_of_the_tile=6,
    no_denominator_path=6,
    delta_of_bf16_output=2,
    recomputed_top_left=4,
    last_query_block_lost=3,
    grad_bias_scaled=6,
    f64_delta_in_f32=2,
)
