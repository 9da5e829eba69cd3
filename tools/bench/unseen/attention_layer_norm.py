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


EQUATION = "attention.layer_norm"


def affine(y, gamma, beta):
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


@kernel("correct", "moments by Welford on 4 strided lanes of each row, merged in a tree by Chan's formula")
def welford_lanes(x, gamma=None, beta=None, eps=1e-5):
    n, d = x.shape
    parts = []
    for lane in range(min(4, d)):
        count, mean, square = 0, np.zeros(n, np.float32), np.zeros(n, np.float32)
        for a in range(lane, d, 4):
            count += 1
            step = x[:, a] - mean
            mean = mean + step / np.float32(count)
            square = square + step * (x[:, a] - mean)
        parts.append((count, mean, square))
    while len(parts) > 1:
        (ca, ma, sa), (cb, mb, sb) = parts.pop(0), parts.pop(0)
        step = mb - ma
        c = ca + cb
        parts.append((c, ma + step * np.float32(cb / c), sa + sb + step * step * np.float32(ca * cb / c)))
    count, mean, square = parts[0]
    y = (x - mean[:, None]) / np.sqrt(square / np.float32(d) + np.float32(eps))[:, None]
    return affine(y, gamma, beta).astype(np.float32)


@kernel(
    "correct",
    "float16 kernel: shifted moments about the row's first entry in float32, beta - mu gamma / sigma "
    "folded into one offset, rounded once",
    profile="f16",
)
def shifted_moments_f16(x, gamma=None, beta=None, eps=1e-5):
    n, d = x.shape
    z = f32(x)
    z = z - z[:, :1]
    mean = z.mean(1, keepdims=True)
    variance = ((z - mean) ** 2).mean(1, keepdims=True)
    g = 1 / np.sqrt(variance + np.float32(eps))
    if gamma is not None:
        g = g * f32(gamma)
    y = (z - mean) * g
    if beta is not None:
        y = y + f32(beta)
    return y.astype(np.float16)


@kernel("wrong", "the variance is divided by d - 1 (torch.var's default) in place of d")
def unbiased_variance(x, gamma=None, beta=None, eps=1e-5):
    z = x - x.mean(1, keepdims=True)
    variance = (z * z).sum(1, keepdims=True) / np.float32(max(1, x.shape[1] - 1))
    return affine(z / np.sqrt(variance + np.float32(eps)), gamma, beta)


@kernel("wrong", "eps is added to the standard deviation, outside the root")
def eps_outside(x, gamma=None, beta=None, eps=1e-5):
    z = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((z * z).mean(1, keepdims=True)) + np.float32(eps)
    return affine(z / deviation, gamma, beta)


@kernel(
    "wrong",
    "the variance is E[x^2] - E[x]^2 in float32, cut off at 0: it cancels where the mean of a row is much"
    " larger than its deviation",
)
def one_pass_variance(x, gamma=None, beta=None, eps=1e-5):
    mean = x.mean(1, keepdims=True)
    variance = np.maximum((x * x).mean(1, keepdims=True) - mean * mean, 0)
    return affine((x - mean) / np.sqrt(variance + np.float32(eps)), gamma, beta)


@kernel(
    "wrong",
    "moments are summed by vectors of 4 and the d % 4 last features are left out of both sums, which are "
    "still divided by d; the features themselves are normalised; only for d % 4 != 0",
)
def vector_tail_lost(x, gamma=None, beta=None, eps=1e-5):
    d = x.shape[1]
    body = x[:, : d // 4 * 4]
    mean = body.sum(1, keepdims=True) / np.float32(d)
    variance = ((body - mean) ** 2).sum(1, keepdims=True) / np.float32(d)
    return affine((x - mean) / np.sqrt(variance + np.float32(eps)), gamma, beta)


@kernel(
    "wrong", "1 / sqrt is the hardware estimate with a mantissa of 12 bits, without the Newton step that should follow"
)
def rsqrt_estimate(x, gamma=None, beta=None, eps=1e-5):
    z = x - x.mean(1, keepdims=True)
    r = 1 / np.sqrt((z * z).mean(1, keepdims=True) + np.float32(eps))
    fraction, exponent = np.frexp(r)
    r = np.ldexp(np.rint(fraction * np.float32(4096)) / np.float32(4096), exponent).astype(np.float32)
    return affine(z * r, gamma, beta)


CATEGORIES.update(unbiased_variance=1, eps_outside=5, one_pass_variance=4, vector_tail_lost=3, rsqrt_estimate=2)
