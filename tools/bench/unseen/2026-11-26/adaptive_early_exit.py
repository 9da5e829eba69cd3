# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.early_exit"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def bf16(x):
    x = np.asarray(x, F32)
    u = np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.uint64)
    u = (u + 0x7FFF + ((u >> 16) & 1)) & 0xFFFF0000
    r = u.astype(np.uint32).view(F32).reshape(x.shape)
    return np.where(np.isfinite(x), r, x).astype(F32)


def _first(ok, n):
    return np.where(ok[:, : n - 1].any(1), ok[:, : n - 1].argmax(1) + 1, n) if n > 1 else np.ones(len(ok), np.int64)


@kernel(
    "correct",
    "from the last layer down: the exit starts as N and is overwritten by each earlier layer that is sure enough",
)
def backwards(c, tau):
    e = np.full(c.shape[0], c.shape[1], np.int64)
    for a in range(c.shape[1] - 2, -1, -1):
        e[c[:, a] >= tau[a]] = a + 1
    return e


@kernel("wrong", "a confidence that equals the threshold does not leave (> in place of >=)")
def strictly_above(c, tau):
    return _first(c > tau[None], c.shape[1])


@kernel("wrong", "confidences and thresholds are rounded to bfloat16 before they are compared")
def bf16_compare(c, tau):
    return _first(bf16(c) >= bf16(tau)[None], c.shape[1])


@kernel("wrong", "one threshold for all: that of the first layer")
def first_threshold(c, tau):
    return _first(c >= tau[0], c.shape[1])


@kernel("wrong", "compares with a tolerance: c + 1e-6 >= tau")
def tolerant(c, tau):
    return _first(d64(c) + 1e-6 >= d64(tau)[None], c.shape[1])


@kernel(
    "correct",
    "the last layer's comparison is replaced by one that always holds and the first true column is taken; nothing "
    "is rounded",
)
def sentinel_column(c, tau):
    ok = np.asarray(c) >= np.asarray(tau)[None]
    ok[:, -1] = True
    return ok.argmax(1) + 1
