# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.depth_geometric"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def bf16(x):
    x = np.asarray(x, F32)
    u = np.ascontiguousarray(x).reshape(-1).view(np.uint32).astype(np.uint64)
    u = (u + 0x7FFF + ((u >> 16) & 1)) & 0xFFFF0000
    r = u.astype(np.uint32).view(F32).reshape(x.shape)
    return np.where(np.isfinite(x), r, x).astype(F32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F32)


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


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


@kernel(
    "correct",
    "as a product of logarithms summed: e^(ln X_n + sum ln(1 - X_m)), with log-sigmoids of the logits by softplus, "
    "log1p of probabilities; float64",
)
def sums_of_logs(x, given="probabilities"):
    x = d64(x)
    t, n = x.shape
    with np.errstate(divide="ignore"):
        if given == "logits":
            on, off = -np.logaddexp(0, -x), -np.logaddexp(0, x)
        else:
            on, off = np.log(x), np.log1p(-x)
    before = np.concatenate([np.zeros((t, 1)), np.cumsum(off[:, : n - 1], 1)], 1)
    return out(np.exp(np.where(np.arange(n) == n - 1, before, before + on)))


def _stick(x, keep, n):
    q, left = np.zeros(x.shape), np.ones(x.shape[0])
    for a in range(n):
        q[:, a] = left if a == n - 1 else left * x[:, a]
        left = left * keep[:, a]
    return q


@kernel(
    "wrong", "the last layer's own probability is read: q(N) = X_N prod (1 - X_m), and rows are divided by their sum"
)
def renormalised(x, given="probabilities"):
    p = d64(x) if given == "probabilities" else sig(x)
    left = np.concatenate([np.ones((p.shape[0], 1)), np.cumprod(1 - p, 1)[:, :-1]], 1)
    with np.errstate(invalid="ignore"):
        q = p * left
        return out(q / q.sum(1, keepdims=True))


@kernel(
    "wrong",
    "of logits, 1 - X is 1 minus the sigmoid as it was stored in float16: 0 from logits of about 8 on, with few "
    "digits before",
)
def cancelled_complement(x, given="probabilities"):
    p = d64(x) if given == "probabilities" else sig(x)
    return out(_stick(p, 1 - p if given == "probabilities" else 1 - d64(f16(p)), x.shape[1]))


@kernel("wrong", "the last layer takes 1 minus the float32 sum of the others rounded to bfloat16")
def one_minus_sum(x, given="probabilities"):
    p = d64(x) if given == "probabilities" else sig(x)
    q = _stick(p, 1 - p, x.shape[1])
    q[:, -1] = 1 - d64(bf16(q[:, :-1].sum(1)))
    return out(q)


@kernel("wrong", "two layers: the first has the probability of leaving and the second its own, not the rest")
def two_layers(x, given="probabilities"):
    p = d64(x) if given == "probabilities" else sig(x)
    q = _stick(p, 1 - p, x.shape[1])
    if x.shape[1] == 2:
        q[:, 1] *= p[:, 1]
    return out(q)
