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


EQUATION = "positional.distance_aware"


def attend(x, v):
    p = np.exp(x - x.max(-1, keepdims=True))
    return (p @ v) / p.sum(-1, keepdims=True)


def factors(R, beta):
    """The formula, in float64."""
    R, beta = np.asarray(R, np.float64), float(beta)
    return f32(np.exp(np.logaddexp(0, beta) - np.logaddexp(0, beta - R)))


def gap(n, s):
    return np.abs(np.arange(n)[:, None] - np.arange(s)[None])


@kernel(
    "correct",
    "a factor for each distance, from a table of max(n, s) entries made in float64 by log1p of "
    "exponentials, gathered along the diagonals; the factor multiplies the query's rectified product "
    "before the scale",
)
def table_of_distances(q, k, v, alpha, beta, scale=None):
    n, d = q.shape
    s = len(k)
    table = factors(float(alpha) * np.arange(max(n, s)), beta)
    f = table[gap(n, s)]
    return {"o": attend(np.maximum(q @ k.T, 0) * f * scale_of(scale, d), v), "f": f}


@kernel(
    "wrong",
    "products of 0 or below hide their key (logit -inf) in place of giving it the logit 0; a query "
    "without any positive product sees all keys alike",
)
def negatives_hidden(q, k, v, alpha, beta, scale=None):
    n, d = q.shape
    f = factors(float(alpha) * gap(n, len(k)), beta)
    x = q @ k.T
    x = np.where((x > 0) | ~(x > 0).any(1, keepdims=True), np.maximum(x, 0) * f * scale_of(scale, d), -np.inf).astype(
        np.float32
    )
    return {"o": attend(x, v), "f": f}


@kernel(
    "wrong", "the distance is aligned at the bottom right, |i + s - n - j|, as causal kernels count; only for n != s"
)
def aligned_bottom_right(q, k, v, alpha, beta, scale=None):
    n, d = q.shape
    s = len(k)
    f = factors(float(alpha) * np.abs(np.arange(n)[:, None] + (s - n) - np.arange(s)[None]), beta)
    return {"o": attend(np.maximum(q @ k.T, 0) * f * scale_of(scale, d), v), "f": f}


@kernel("wrong", "the factors are stored in bfloat16 (the optional output f as well) in a float32 kernel")
def factors_bf16(q, k, v, alpha, beta, scale=None):
    n, d = q.shape
    f = bf16(factors(float(alpha) * gap(n, len(k)), beta))
    return {"o": attend(np.maximum(q @ k.T, 0) * f * scale_of(scale, d), v), "f": f}


@kernel(
    "wrong",
    "the exponent beta - R is clamped at 4 against overflow: where alpha is negative and keys are far "
    "away the factor stays at (1 + e^beta) / (1 + e^4) in place of falling towards 0",
)
def exponent_clamped(q, k, v, alpha, beta, scale=None):
    n, d = q.shape
    R = np.float32(alpha) * gap(n, len(k)).astype(np.float32)
    f = (1 + np.exp(np.float32(beta))) / (1 + np.exp(np.minimum(np.float32(beta) - R, np.float32(4))))
    return {"o": attend(np.maximum(q @ k.T, 0) * f * scale_of(scale, d), v), "f": f}


@kernel(
    "wrong",
    "keys are walked in a band around the query: those 64 or more places away are dropped from the "
    "softmax (a query with none nearer sees all); only where |i - j| >= 64 occurs",
    layout="bhnd",
)
def far_keys_dropped(q, k, v, alpha, beta, scale=None):
    rep = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, rep, 1), np.repeat(v, rep, 1)
    n, d = q.shape[-2:]
    s = k.shape[-2]
    near = gap(n, s)
    a, b = (np.broadcast_to(np.asarray(t, np.float64), q.shape[:2])[..., None, None] for t in (alpha, beta))
    f = f32(np.exp(np.logaddexp(0, b) - np.logaddexp(0, b - a * near)))
    x = np.maximum(q @ turn(k), 0) * f * scale_of(scale, d)
    keep = (near < 64) | ~(near < 64).any(1, keepdims=True)
    return {"o": attend(np.where(keep, x, -np.inf).astype(np.float32), v), "f": f}


CATEGORIES.update(negatives_hidden=1, aligned_bottom_right=4, factors_bf16=2, exponent_clamped=5, far_keys_dropped=3)
