# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.image_local_2d"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sc(scale, d):
    return 1.0 / math.sqrt(d) if scale is None else float(scale)


def row64(q, k, v, scale):
    l = (d64(k) @ d64(q)) * scale
    w = np.exp(l - l.max())
    return w @ d64(v) / w.sum()


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def dense(q, k, v, mask, scale, empty=0.0):
    return rows(q, k, v, lambda i: np.flatnonzero(mask[i]), scale, row64, empty)


def _mask(n, columns, hq, wq, hm, wm, causal, order=None):
    t = np.arange(n)
    r, c = t // columns, t % columns
    br, bc = r // hq, c // wq
    m = (r[None] >= (br * hq - hm)[:, None]) & (r[None] <= (br * hq + hq - 1)[:, None])
    m &= (c[None] >= (bc * wq - wm)[:, None]) & (c[None] <= (bc * wq + wq - 1 + wm)[:, None])
    if causal:
        key = np.lexsort((c, r, bc, br)) if order is None else order(r, c, br, bc)
        rank = np.empty(n, int)
        rank[key] = t
        m &= rank[None] <= rank[:, None]
    return m


@kernel(
    "correct",
    "the rectangle of a block row by row: earlier rows whole, own block up to the query, left of it only, right of "
    "it only above; the order of generation is decided by comparing, not by a rank; online softmax, float64",
)
def rectangle_walk(q, k, v, columns=6, block_rows=2, block_columns=2, above=1, beside=1, causal=True, scale=None):
    n = q.shape[0]
    scale = sc(scale, q.shape[1])
    o = np.zeros((n, v.shape[1]))
    for i in range(n):
        r, c = divmod(i, columns)
        r0, c0 = r - r % block_rows, c - c % block_columns
        m, z, acc = -np.inf, 0.0, np.zeros(v.shape[1])
        for y in range(max(0, r0 - above), r0 + block_rows):
            for x in range(max(0, c0 - beside), min(columns, c0 + block_columns + beside)):
                j = y * columns + x
                if j >= n:
                    continue
                inside = c0 <= x < c0 + block_columns
                if causal and y >= r0 and ((inside and (y, x) > (r, c)) or x >= c0 + block_columns):
                    continue
                l = scale * float(d64(q[i]) @ d64(k[j]))
                g = max(m, l)
                f, e = (math.exp(m - g) if z else 0.0), math.exp(l - g)
                m, z, acc = g, z * f + e, acc * f + e * d64(v[j])
        o[i] = acc / z
    return out(o)


@kernel("wrong", "causal order is the raster order of the image, j <= i, not the order of the blocks")
def raster_order(q, k, v, columns=6, block_rows=2, block_columns=2, above=1, beside=1, causal=True, scale=None):
    m = _mask(
        q.shape[0],
        columns,
        block_rows,
        block_columns,
        above,
        beside,
        causal,
        order=lambda r, c, br, bc: np.arange(len(r)),
    )
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel(
    "wrong", "columns wrap around: where the window crosses the left border it takes the last pixels of the row above"
)
def wraps_left(q, k, v, columns=6, block_rows=2, block_columns=2, above=1, beside=1, causal=True, scale=None):
    n = q.shape[0]
    m = _mask(n, columns, block_rows, block_columns, above, beside, causal)
    for i in range(n):
        r, c = divmod(i, columns)
        r0, c0 = r - r % block_rows, c - c % block_columns
        if c0 - beside < 0:
            for y in range(max(1, r0 - above), r0 + 1):
                for x in range(c0 - beside, 0):
                    if 0 <= y * columns + x < n:
                        m[i, y * columns + x] = True
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel("wrong", "a block that is cut off at the right border is shifted to the left to have its full width")
def shifted_border_block(q, k, v, columns=6, block_rows=2, block_columns=2, above=1, beside=1, causal=True, scale=None):
    n, wq = q.shape[0], block_columns
    m = _mask(n, columns, block_rows, wq, above, beside, causal)
    if columns % wq and columns > wq:
        t = np.arange(n)
        c = t % columns
        edge = c >= columns - columns % wq
        wide = _mask(n, columns, block_rows, wq, above, beside + wq - columns % wq, causal)
        m[edge] = wide[edge] & (c[None] >= columns - wq - beside)
    return dense(q, k, v, m, sc(scale, q.shape[1]))


@kernel("wrong", "above and beside are exchanged where the block is higher than wide")
def exchanged_extensions(q, k, v, columns=6, block_rows=2, block_columns=2, above=1, beside=1, causal=True, scale=None):
    if block_rows > block_columns:
        above, beside = beside, above
    return dense(
        q, k, v, _mask(q.shape[0], columns, block_rows, block_columns, above, beside, causal), sc(scale, q.shape[1])
    )
