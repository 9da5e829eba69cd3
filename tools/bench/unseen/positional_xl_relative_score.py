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


EQUATION = "positional.xl_relative_score"


def parts(x_q, x_k, w_q, w_e, w_r, u, v, r):
    q, k = x_q @ w_q, x_k @ w_e
    return (q + u) @ k.T, q + v, r @ w_r


def places(n, s):
    return np.arange(n)[:, None] + (s - n) - np.arange(s)[None]


def relative(t, behind, ahead, w_r, o):
    """t . (r_o w_r) for every pair; 0 ahead of the query without rows for it."""
    n, s = o.shape
    score = np.take_along_axis(t @ behind.T, np.maximum(o, 0), 1)
    if ahead is None:
        return score
    front = np.take_along_axis(t @ (ahead[:n] @ w_r).T, np.minimum(np.maximum(-o, 0), n - 1), 1)
    return np.where(o >= 0, score, front).astype(t.dtype)


def hide(a, o, r_ahead):
    return a if r_ahead is not None else np.where(o >= 0, a, 0).astype(a.dtype)


@kernel(
    "correct",
    "float64 kernel with the relative shift: distances from far ahead to far behind in one projected "
    "table, product of every query with it, and each row read from its own start in a strided view",
    profile="f64",
)
def relative_shift(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    n, s = len(x_q), len(x_k)
    d = w_q.shape[1]
    front = np.zeros((n - 1, r.shape[1])) if r_ahead is None else r_ahead[1:n]
    # column c stands for distance s - 1 - c, down to -(n - 1)
    table = np.concatenate([r[::-1], front]) @ w_r
    q = x_q @ w_q
    scores = (q + v) @ table.T
    # row i starts at column n - 1 - i
    step = scores.strides
    view = np.lib.stride_tricks.as_strided(scores[:, n - 1 :], (n, s), (step[0] - step[1], step[1]), writeable=False)
    a = ((q + u) @ (x_k @ w_e).T + view) * scale_of(scale, d, np.float64)
    return hide(a, places(n, s), r_ahead)


@kernel(
    "correct",
    "the query's projection is folded into the tokens: (w_q w_e^T) and (w_q w_r^T) are made first in "
    "float64, biases become vectors of width f, the sum of four terms in float64 is rounded once",
)
def folded_projections(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    wide = [np.asarray(t, np.float64) for t in (x_q, x_k, w_q, w_e, w_r, u, v, r)]
    x_q, x_k, w_q, w_e, w_r, u, v, r = wide
    n, s = len(x_q), len(x_k)
    o = places(n, s)
    content = (x_q @ (w_q @ w_e.T) + w_e @ u) @ x_k.T
    t = x_q @ (w_q @ w_r.T) + w_r @ v
    position = np.take_along_axis(t @ r.T, np.maximum(o, 0), 1)
    if r_ahead is not None:
        front = np.take_along_axis(t @ r_ahead[:n].astype(np.float64).T, np.minimum(np.maximum(-o, 0), n - 1), 1)
        position = np.where(o >= 0, position, front)
    return f32(hide((content + position) * float(scale_of(scale, w_q.shape[1], np.float64)), o, r_ahead))


@kernel("wrong", "the biases are exchanged: v stands with content and u with distance")
def biases_exchanged(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    o = places(len(x_q), len(x_k))
    content, t, behind = parts(x_q, x_k, w_q, w_e, w_r, v, u, r)
    return hide((content + relative(t, behind, r_ahead, w_r, o)) * scale_of(scale, w_q.shape[1]), o, r_ahead)


@kernel(
    "wrong",
    "the relative shift by padding and reshaping leaves the wrapped entries of the next row ahead of the "
    "query, where scores should be 0; only without r_ahead and with n > 1",
)
def shift_wraps(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    n, s = len(x_q), len(x_k)
    o = places(n, s)
    content, t, behind = parts(x_q, x_k, w_q, w_e, w_r, u, v, r)
    if r_ahead is None:
        b = np.pad(t @ behind[::-1].T, ((0, 0), (1, 0)))
        position = b.reshape(s + 1, n)[1:].reshape(n, s)
    else:
        position = relative(t, behind, r_ahead, w_r, o)
    return (content + position) * scale_of(scale, w_q.shape[1])


@kernel(
    "wrong",
    "the memory is forgotten in the distance: o = i - j in place of i + (s - n) - j, so that memory "
    "shifts all distances; only for n < s",
)
def memory_not_counted(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    n, s = len(x_q), len(x_k)
    o = np.arange(n)[:, None] - np.arange(s)[None]
    content, t, behind = parts(x_q, x_k, w_q, w_e, w_r, u, v, r)
    position = np.take_along_axis(t @ behind.T, np.maximum(o, 0), 1)
    true = places(n, s)
    if r_ahead is not None:
        front = relative(t, behind, r_ahead, w_r, true)
        position = np.where(true >= 0, position, front).astype(np.float32)
    return hide((content + position) * scale_of(scale, w_q.shape[1]), true, r_ahead)


@kernel("wrong", "the projected distances r w_r are cached in float16 in a float32 kernel (those of r_ahead are not)")
def distances_f16(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    o = places(len(x_q), len(x_k))
    content, t, behind = parts(x_q, x_k, w_q, w_e, w_r, u, v, r)
    return hide((content + relative(t, f16(behind), r_ahead, w_r, o)) * scale_of(scale, w_q.shape[1]), o, r_ahead)


@kernel(
    "wrong",
    "a key p places ahead reads row p - 1 of r_ahead, row 0 included that should never be read; only with"
    " r_ahead and n > 1",
)
def ahead_off_by_one(x_q, x_k, w_q, w_e, w_r, u, v, r, r_ahead=None, scale=None):
    o = places(len(x_q), len(x_k))
    content, t, behind = parts(x_q, x_k, w_q, w_e, w_r, u, v, r)
    ahead = None if r_ahead is None else np.concatenate([r_ahead[:1], r_ahead[:-1]])
    return hide((content + relative(t, behind, ahead, w_r, o)) * scale_of(scale, w_q.shape[1]), o, r_ahead)


CATEGORIES.update(biases_exchanged=1, shift_wraps=3, memory_not_counted=4, distances_f16=2, ahead_off_by_one=4)
