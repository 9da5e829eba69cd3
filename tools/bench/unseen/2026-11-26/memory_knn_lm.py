# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.knn_lm"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(f, keys, words, p_lm, top, share, distance, pick=None, rnd=None, shift=True, collect="add"):
    d = ((d64(keys) - d64(f)) ** 2).sum(1)
    if distance == "l2":
        d = np.sqrt(d)
    if rnd is not None:
        d = d64(rnd(d))
    t = (np.argsort(d, kind="stable") if pick is None else pick(d))[:top]
    e = np.exp(-(d[t] - d[t].min())) if shift else np.exp(-d[t])
    e = e / e.sum()
    knn = np.zeros(len(p_lm))
    if collect == "add":
        np.add.at(knn, words[t], e)
    else:
        knn[words[t]] = e
    return out(share * knn + (1 - share) * d64(p_lm))


@kernel(
    "correct",
    "streams over the datastore in tiles of five and keeps a sorted list of the best `top` (distance, index); "
    "distances as sums of squared "
    "differences in float64, weights relative to the nearest",
)
def streaming_top(f, keys, words, p_lm, top=4, share=0.25, distance="squared_l2"):
    best = []
    for a in range(0, keys.shape[0], 5):
        d = ((d64(keys[a : a + 5]) - d64(f)) ** 2).sum(1)
        best = sorted(best + [(x, a + i) for i, x in enumerate(d)])[:top]
    far = np.array([x for x, _ in best])
    far = np.sqrt(far) if distance == "l2" else far
    e = np.exp(far[0] - far)
    p = (1 - share) * d64(p_lm)
    for x, (_, i) in zip(e / e.sum(), best):
        p[int(words[i])] += share * x
    return out(p)


@kernel("wrong", "of neighbours with the same word only the last counts: p[w] = instead of p[w] +=")
def overwrites_words(f, keys, words, p_lm, top=4, share=0.25, distance="squared_l2"):
    return _run(f, keys, words, p_lm, top, share, distance, collect="set")


@kernel(
    "wrong", "squared distances are |f|^2 - 2 f.k + |k|^2 in float32, which cancels for contexts far from the origin"
)
def expanded_square(f, keys, words, p_lm, top=4, share=0.25, distance="squared_l2"):
    f, keys = np.asarray(f, F32), np.asarray(keys, F32)
    d = np.maximum((f @ f) - F32(2) * (keys @ f) + (keys * keys).sum(1), F32(0))
    d = d64(np.sqrt(d) if distance == "l2" else d)
    t = np.argsort(d, kind="stable")[:top]
    e = np.exp(d[t].min() - d[t])
    knn = np.zeros(len(p_lm))
    np.add.at(knn, words[t], e / e.sum())
    return out(share * knn + (1 - share) * d64(p_lm))


@kernel(
    "wrong",
    "e^-d is not shifted, in float32: where all neighbours are further than 104 the sum is 0, and the neighbours' "
    "share goes to the language model",
)
def unshifted(f, keys, words, p_lm, top=4, share=0.25, distance="squared_l2"):
    d = ((d64(keys) - d64(f)) ** 2).sum(1)
    d = np.sqrt(d) if distance == "l2" else d
    t = np.argsort(d, kind="stable")[:top]
    e = np.exp(-d[t].astype(F32)).astype(F64)
    if e.sum() == 0:
        return out(p_lm)
    knn = np.zeros(len(p_lm))
    np.add.at(knn, words[t], e / e.sum())
    return out(share * knn + (1 - share) * d64(p_lm))
