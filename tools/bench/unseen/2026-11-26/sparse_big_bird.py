# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "sparse.big_bird"

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


def row_online32(q, k, v, scale, tile=3):
    q = np.asarray(q, F32) * F32(scale)
    top, total, acc = F32(-np.inf), F32(0), np.zeros(v.shape[1], F32)
    for a in range(0, k.shape[0], tile):
        l = np.asarray(k[a : a + tile], F32) @ q
        new = max(top, l.max())
        f = np.exp(top - new) if np.isfinite(top) else F32(0)
        w = np.exp(l - new)
        total = total * f + w.sum(dtype=F32)
        acc = acc * f + w @ np.asarray(v[a : a + tile], F32)
        top = new
    return acc / total


def rows(q, k, v, see, scale, row=row64, empty=0.0):
    o = np.full((q.shape[0], v.shape[1]), empty, F64)
    for i in range(q.shape[0]):
        j = np.asarray(see(i), int)
        if j.size:
            o[i] = row(q[i], k[j], v[j], scale)
    return out(o)


def dense(q, k, v, mask, scale, empty=0.0):
    return rows(q, k, v, lambda i: np.flatnonzero(mask[i]), scale, row64, empty)


def _mask(n, block, radius, first, last, random, rand_row=None, window=True, both=True, nblocks=None):
    blocks = -(-n // block) if nblocks is None else nblocks
    b = np.arange(n) // block
    glob = (b < first) | (b >= blocks - last)
    m = np.abs(b[:, None] - b[None]) <= radius
    m |= glob[None]
    if both:
        m |= glob[:, None]
    for i in range(n):
        r = b[i] * block if rand_row is None else rand_row(i, b[i])
        for t in random[r]:
            m[i] |= b == t // block
    return m


@kernel(
    "correct",
    "block by block: the keys of a block's queries are gathered once as a sorted list of blocks, then one softmax "
    "per block of rows in base 2; float64 inside",
)
def gathered_blocks(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    n = q.shape[0]
    blocks = -(-n // block)
    f = sc(scale, q.shape[1]) / math.log(2)
    everything = set(range(min(first_global, blocks))) | set(range(max(0, blocks - last_global), blocks))
    o = np.zeros((n, v.shape[1]))
    for a in range(blocks):
        mine = range(a * block, min(n, (a + 1) * block))
        seen = (
            set(range(blocks))
            if a in everything
            else everything | set(range(max(0, a - radius), min(blocks, a + radius + 1)))
        )
        seen |= {int(t) // block for t in random[a * block]}
        js = np.concatenate([np.arange(e * block, min(n, (e + 1) * block)) for e in sorted(seen)])
        l = f * (d64(q[list(mine)]) @ d64(k[js]).T)
        w = np.exp2(l - l.max(1, keepdims=True))
        o[list(mine)] = (w / w.sum(1, keepdims=True)) @ d64(v[js])
    return out(o)


@kernel("wrong", "every query reads the list of its own row of `random`, not that of the first token of its block")
def own_random_row(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    return dense(
        q,
        k,
        v,
        _mask(q.shape[0], block, radius, first_global, last_global, random, rand_row=lambda i, b: i),
        sc(scale, q.shape[1]),
    )


@kernel(
    "wrong",
    "the last global blocks are counted from floor(n / block): where the last block is short it is not among them, "
    "the one before is",
)
def short_last_block(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    n = q.shape[0]
    whole = n // block
    b = np.arange(n) // block
    m = _mask(n, block, radius, first_global, 0, random)
    glob = (b >= whole - last_global) & (b < whole)
    return dense(q, k, v, m | glob[None] | glob[:, None], sc(scale, q.shape[1]))


@kernel(
    "wrong", "entries of the lists are taken for numbers of blocks, not for tokens of them (bounded by the last block)"
)
def lists_of_blocks(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    n = q.shape[0]
    r = np.minimum(random, (n - 1) // block) * block
    return dense(q, k, v, _mask(n, block, radius, first_global, last_global, r), sc(scale, q.shape[1]))


@kernel("wrong", "a random block that is seen by the window or is global as well counts twice")
def random_twice(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    n = q.shape[0]
    m = _mask(n, block, radius, first_global, last_global, random[:, :0])

    def see(i):
        b = {int(t) // block for t in random[i // block * block]}
        return np.concatenate([np.flatnonzero(m[i])] + [np.arange(e * block, min(n, (e + 1) * block)) for e in b])

    return rows(q, k, v, see, sc(scale, q.shape[1]))


@kernel("correct", "a whole mask of tokens, float32 online softmax over the visible keys in tiles of three")
def masked_float32(q, k, v, random, block=2, radius=1, first_global=1, last_global=1, scale=None):
    m = _mask(q.shape[0], block, radius, first_global, last_global, random)
    return rows(q, k, v, lambda i: np.flatnonzero(m[i]), sc(scale, q.shape[1]), row_online32)
