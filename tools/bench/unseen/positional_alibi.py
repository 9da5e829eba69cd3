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


EQUATION = "positional.alibi"


def slopes_of(heads):
    def plain(c):
        return [2.0 ** (-8.0 * (h + 1) / c) for h in range(c)]

    c = 1
    while 2 * c <= heads:
        c *= 2
    return np.array(plain(c) + plain(2 * c)[0::2][: heads - c])


def attend(x, seen, v):
    x = np.where(seen, x, -np.inf).astype(x.dtype)
    p = np.exp(x - x.max(-1, keepdims=True))
    return (p @ v) / p.sum(-1, keepdims=True)


def distances(n, s, query_offset):
    return np.arange(n)[:, None] + (s - n + int(query_offset)) - np.arange(s)[None]


@kernel(
    "correct",
    "tiles of 16 queries; the bias is anchored at the tile's first query, a (j - position of that query),"
    " since what a row adds to all its logits cancels; slopes from a float64 table, keys from last to "
    "first in tiles of 24 online",
)
def anchored_bias(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    H, n, d = q.shape
    s, m = v.shape[-2:]
    slopes = f32(slopes_of(H) if slopes is None else slopes)[:, None, None]
    scale = scale_of(scale, d)
    out = np.empty((H, n, m), np.float32)
    for i in range(0, n, 16):
        far = distances(n, s, query_offset)[i : i + 16]
        rows = far.shape[0]
        top = np.full((H, rows), -np.inf, np.float32)
        total = np.zeros((H, rows), np.float32)
        acc = np.zeros((H, rows, m), np.float32)
        for b in range(s, 0, -24):
            a = max(0, b - 24)
            x = (q[:, i : i + 16] @ turn(k[:, a:b])) * scale
            if symmetric:
                x = x - slopes * np.abs(far[:, a:b]).astype(np.float32)
            else:
                x = np.where(far[:, a:b] >= 0, x - slopes * far[:1, a:b].astype(np.float32), -np.inf).astype(np.float32)
            new = np.maximum(top, x.max(-1))
            safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
            keep = np.exp(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
            p = np.exp(x - safe[..., None])
            total = total * keep + p.sum(-1)
            acc = acc * keep[..., None] + p @ v[:, a:b]
            top = new
        out[:, i : i + 16] = acc / total[..., None]
    return out


@kernel(
    "wrong",
    "slopes are 2^(-8 (h + 1) / heads) for every number of heads; only where heads is no power of two and"
    " slopes are not given",
)
def slopes_of_any_count(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    H, n, d = q.shape
    if slopes is None:
        slopes = 2.0 ** (-8.0 * np.arange(1, H + 1) / H)
    far = distances(n, k.shape[1], query_offset)
    x = (q @ turn(k)) * scale_of(scale, d) - f32(slopes)[:, None, None] * np.abs(far).astype(np.float32)
    return attend(x, symmetric | (far >= 0), v)


@kernel("wrong", "the bias is added before the scale and scaled with the products", profile="bf16")
def bias_scaled(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    kind = q.dtype
    q, k, v = map(f32, (q, k, v))
    H, n, d = q.shape
    slopes = f32(slopes_of(H) if slopes is None else slopes)
    far = distances(n, k.shape[1], query_offset)
    x = (q @ turn(k) - slopes[:, None, None] * np.abs(far).astype(np.float32)) * scale_of(scale, d)
    return (attend(x, symmetric | (far >= 0), v)).astype(kind)


@kernel(
    "wrong",
    "positions are held in bfloat16 before they are subtracted, in a float32 kernel: those above 256 are "
    "rounded to even numbers and worse; only for positions above 256, by length or query_offset",
)
def positions_bf16(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    H, n, d = q.shape
    s = k.shape[1]
    slopes = f32(slopes_of(H) if slopes is None else slopes)
    far = distances(n, s, query_offset)
    i = bf16(np.arange(n) + s - n + int(query_offset))
    j = bf16(np.arange(s))
    x = (q @ turn(k)) * scale_of(scale, d) - slopes[:, None, None] * np.abs(i[:, None] - j)
    return attend(x, symmetric | (far >= 0), v)


@kernel(
    "wrong", "with symmetric the distance keeps its sign, so that keys ahead of the query are rewarded; only symmetric"
)
def symmetric_signed(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    H, n, d = q.shape
    slopes = f32(slopes_of(H) if slopes is None else slopes)
    far = distances(n, k.shape[1], query_offset)
    x = (q @ turn(k)) * scale_of(scale, d) - slopes[:, None, None] * far.astype(np.float32)
    return attend(x, symmetric | (far >= 0), v)


@kernel(
    "wrong",
    "slopes come from powf(2, -8 / heads) rounded to bfloat16 and multiplied up head by head: off by a "
    "little more for each head; only for more than 8 heads (below, the powers are exact) and where slopes"
    " are not given",
)
def slope_base_bf16(q, k, v, slopes=None, scale=None, symmetric=False, query_offset=0):
    H, n, d = q.shape
    if slopes is None:
        c = 2 ** int(np.floor(np.log2(H)))
        slopes = bf16(2.0 ** (-8.0 / c)) ** np.arange(1, c + 1)
        if c < H:
            slopes = np.concatenate([slopes, bf16(2.0 ** (-4.0 / c)) ** np.arange(1, 2 * (H - c), 2)])
    far = distances(n, k.shape[1], query_offset)
    x = (q @ turn(k)) * scale_of(scale, d) - f32(slopes)[:, None, None] * np.abs(far).astype(np.float32)
    return attend(x, symmetric | (far >= 0), v)


CATEGORIES.update(slopes_of_any_count=4, bias_scaled=1, positions_bf16=2, symmetric_signed=4, slope_base_bf16=5)
