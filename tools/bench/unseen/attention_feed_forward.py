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


EQUATION = "attention.feed_forward"
C = np.float32(0.7978845608028654)


def act(u, activation, cubic=0.044715):
    if activation == "relu":
        return np.maximum(u, 0)
    if activation == "identity":
        return u
    z = np.float32(2) * C * (u + np.float32(cubic) * u * u * u)
    return u / (np.float32(1) + np.exp(np.minimum(-z, np.float32(87))))


def add(y, b):
    return y if b is None else y + b


@kernel(
    "correct",
    "hidden units outside: the output is a Kahan sum of rank-1 updates, a hidden unit at a time, with the"
    " activation between",
)
def rank_one_kahan(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    y = np.zeros((len(x), w_2.shape[1]), np.float32)
    lost = np.zeros_like(y)
    for g in range(w_1.shape[1]):
        u = x @ w_1[:, g]
        if b_1 is not None:
            u = u + b_1[g]
        term = np.outer(act(u, activation), w_2[g]) - lost
        t = y + term
        lost = (t - y) - term
        y = t
    return add(y, b_2)


@kernel(
    "correct",
    "bfloat16 kernel with the tokens transposed; the hidden layer is rounded to bfloat16 between the two "
    "products, sums in float32",
    profile="bf16",
)
def transposed_bf16(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    u = f32(w_1).T @ f32(x).T
    if b_1 is not None:
        u = u + f32(b_1)[:, None]
    y = f32(w_2).T @ bf16(act(u, activation))
    if b_2 is not None:
        y = y + f32(b_2)[:, None]
    return y.T.astype(x.dtype)


@kernel("wrong", "gelu_tanh is replaced by the sigmoid form u sigma(1.702 u); relu and identity are right")
def gelu_by_sigmoid(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    u = add(x @ w_1, b_1)
    if activation == "gelu_tanh":
        h = u / (np.float32(1) + np.exp(np.minimum(np.float32(-1.702) * u, np.float32(87))))
    else:
        h = act(u, activation)
    return add(h @ w_2, b_2)


@kernel("wrong", "the hidden layer is stored in bfloat16 between the two products of a float32 kernel")
def hidden_bf16(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    return add(bf16(act(add(x @ w_1, b_1), activation)) @ w_2, b_2)


@kernel(
    "wrong",
    "the second product is split over slices of 32 hidden units and every slice adds b_2: it counts "
    "ceil(f / 32) times; only with b_2 and f > 32",
)
def bias_per_slice(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    h = act(add(x @ w_1, b_1), activation)
    y = np.zeros((len(x), w_2.shape[1]), np.float32)
    for a in range(0, w_1.shape[1], 32):
        y += add(h[:, a : a + 32] @ w_2[a : a + 32], b_2)
    return y


@kernel("wrong", "the cubic coefficient of gelu_tanh is 0.0447 in place of 0.044715; relu and identity are right")
def gelu_cubic_short(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    return add(act(add(x @ w_1, b_1), activation, 0.0447) @ w_2, b_2)


@kernel(
    "wrong",
    "the tokens after the last full chunk of 8 take a scalar path that forgets b_1; only with b_1 and n % 8 != 0",
)
def tail_without_bias(x, w_1, w_2, b_1=None, b_2=None, activation="relu"):
    u = x @ w_1
    full = len(x) // 8 * 8
    if b_1 is not None:
        u[:full] += b_1
    return add(act(u, activation) @ w_2, b_2)


CATEGORIES.update(gelu_by_sigmoid=1, hidden_bf16=2, bias_per_slice=3, gelu_cubic_short=5, tail_without_bias=4)
