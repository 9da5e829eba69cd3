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


EQUATION = "attention.qkv_projection"


def thirds(x):
    """Three bfloat16 pieces whose sum is x to 24 bits."""
    a = bf16(x)
    b = bf16(x - a)
    return a, b, bf16(x - a - b)


@kernel(
    "correct",
    "float32 products emulated on bfloat16 tensor cores: each operand split into three bfloat16 pieces, "
    "all nine products added from the smallest to the largest",
)
def nine_products(x, x_kv, w_q, w_k, w_v):
    def multiply(a, b):
        p, r = thirds(a), thirds(b)
        y = 0
        for order in (4, 3, 2, 1, 0):
            for i in range(3):
                if 0 <= order - i < 3:
                    y = y + p[i] @ r[order - i]
        return y

    return {"q": multiply(x, w_q), "k": multiply(x_kv, w_k), "v": multiply(x_kv, w_v)}


@kernel(
    "wrong",
    "values are made of x in place of x_kv where both have the same number of tokens (a fused path for "
    "self-attention taken by shape); only for n == s with different tensors",
)
def values_of_x(x, x_kv, w_q, w_k, w_v):
    source = x if len(x) == len(x_kv) else x_kv
    return {"q": x @ w_q, "k": x_kv @ w_k, "v": source @ w_v}


@kernel(
    "wrong",
    "split over f in slices of 16 and the last partial slice is shifted back to be full, so that what it "
    "shares with the slice before counts twice; in k only, for f > 16 with f % 16 != 0",
)
def shifted_last_slice(x, x_kv, w_q, w_k, w_v):
    f = x.shape[1]
    k = np.zeros((len(x_kv), w_k.shape[1]), np.float32)
    for a in range(0, f, 16):
        a = max(0, min(a, f - 16))
        k += x_kv[:, a : a + 16] @ w_k[a : a + 16]
    return {"q": x @ w_q, "k": k, "v": x_kv @ w_v}


@kernel(
    "wrong",
    "3xTF32 with a product missing: big*big + big*small, but small(x)*big(w) is left out, so that the "
    "tokens count with a mantissa of 10 bits",
)
def tf32_correction_missing(x, x_kv, w_q, w_k, w_v):
    def multiply(a, b):
        big = tf32(b)
        return tf32(a) @ tf32(b - big) + tf32(a) @ big

    return {"q": multiply(x, w_q), "k": multiply(x_kv, w_k), "v": multiply(x_kv, w_v)}


@kernel(
    "wrong",
    "in a bfloat16 kernel the accumulator is rounded to bfloat16 after every product of the inner sum",
    profile="bf16",
)
def accumulator_bf16(x, x_kv, w_q, w_k, w_v):
    def multiply(a, b):
        a, b = f32(a), f32(b)
        y = np.zeros((len(a), b.shape[1]), np.float32)
        for t in range(a.shape[1]):
            y = bf16(y + np.outer(a[:, t], b[t]))
        return y.astype(x.dtype)

    return {"q": multiply(x, w_q), "k": multiply(x_kv, w_k), "v": multiply(x_kv, w_v)}


CATEGORIES.update(values_of_x=4, shifted_last_slice=3, tf32_correction_missing=2, accumulator_bf16=2)
