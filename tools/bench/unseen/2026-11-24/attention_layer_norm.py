# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.layer_norm"

F32 = np.float32
F64 = np.float64


def _plain(x, gamma=None, beta=None, eps=1e-5):
    mu = x.mean(1, keepdims=True)
    c = x - mu
    y = c / np.sqrt((c * c).mean(1, keepdims=True) + eps)
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


# category 3
@kernel(
    "wrong",
    "Welford over vectors of 32 features: the last vector, where it is partial, is merged with the weight"
    " of 32 features and not with its own count (d > 32, 32 does not divide d)",
)
def welford_full_tail(x, gamma=None, beta=None, eps=1e-5):
    n, d = x.shape
    mean = np.zeros((n, 1), F32)
    m2 = np.zeros((n, 1), F32)
    count = F32(0)
    for lo in range(0, d, 32):
        part = x[:, lo : lo + 32]
        c = F32(32) if d > 32 else F32(part.shape[1])
        pm = part.mean(1, keepdims=True)
        p2 = np.square(part - pm).mean(1, keepdims=True) * c
        delta = pm - mean
        total = count + c
        mean = mean + delta * (c / total)
        m2 = m2 + p2 + delta * delta * (count * c / total)
        count = total
    y = (x - mean) / np.sqrt(m2 / count + F32(eps))
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


# category 5
@kernel("wrong", "eps is a floor of the variance, max(v, eps), and not added to it", profile="f64")
def eps_as_floor(x, gamma=None, beta=None, eps=1e-5):
    c = x - x.mean(1, keepdims=True)
    y = c / np.sqrt(np.maximum((c * c).mean(1, keepdims=True), eps))
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


# category 4
@kernel(
    "wrong", "with beta given and gamma not, beta joins before the division by the standard deviation", profile="f16"
)
def beta_alone_before_division(x, gamma=None, beta=None, eps=1e-5):
    out = x.dtype
    x = x.astype(F32)
    if beta is None or gamma is not None:
        return _plain(x, gamma, beta, F32(eps)).astype(out)
    c = x - x.mean(1, keepdims=True)
    return ((c + beta) / np.sqrt((c * c).mean(1, keepdims=True) + F32(eps))).astype(out)


# category 2
@kernel("wrong", "the mean goes through shared memory as bfloat16 before it is subtracted")
def mean_in_bfloat16(x, gamma=None, beta=None, eps=1e-5):
    mu = np.ascontiguousarray(x.mean(1, keepdims=True))
    b = mu.view(np.uint32)
    mu = ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)
    c = x - mu
    y = c / np.sqrt((c * c).mean(1, keepdims=True) + F32(eps))
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


@kernel(
    "correct",
    "moments of halves merged recursively (a tree of pairs, odd halves too), the gain folded into one "
    "multiply and one add per entry, in double",
)
def tree_of_moments(x, gamma=None, beta=None, eps=1e-5):
    def moments(a):
        w = a.shape[1]
        if w == 1:
            return 1, a[:, 0], np.zeros(len(a))
        h = (w + 2) // 3
        n1, m1, s1 = moments(a[:, :h])
        n2, m2, s2 = moments(a[:, h:])
        t = m2 - m1
        return n1 + n2, m1 + t * (n2 / (n1 + n2)), s1 + s2 + t * t * (n1 * n2 / (n1 + n2))

    a = x.astype(F64)
    count, mean, m2 = moments(a)
    r = 1.0 / np.sqrt(m2 / count + float(eps))
    g = r[:, None] * (np.ones(x.shape[1]) if gamma is None else gamma.astype(F64))[None]
    y = (a - mean[:, None]) * g
    if beta is not None:
        y += beta.astype(F64)
    return y.astype(F32)
