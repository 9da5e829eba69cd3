# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.gate"

F32 = np.float32
F64 = np.float64


def _plain(beta, a_mem, a_dot):
    one = a_dot.dtype.type(1)
    g = one / (one + np.exp(-beta))
    return (g * a_mem + (one - g) * a_dot).astype(a_dot.dtype)


# category 6
@kernel("wrong", "for beta < 0 the stable branch of the sigmoid is e^beta alone: its division by 1 + e^beta is missing")
def negative_branch_not_divided(beta, a_mem, a_dot):
    b = F32(beta)
    g = F32(1) / (F32(1) + np.exp(-b)) if b >= 0 else np.exp(b)
    return g * a_mem + (F32(1) - g) * a_dot


# category 7
@kernel(
    "wrong",
    "two heads share a block, and both read the gate of the block's first head (wrong for odd heads)",
    layout="bhnd",
)
def gate_of_even_head(beta, a_mem, a_dot):
    h = a_dot.shape[1]
    b = beta[:, np.minimum(np.arange(h) // 2 * 2, beta.shape[1] - 1)][:, :, None, None]
    g = F32(1) / (F32(1) + np.exp(-b))
    return g * a_mem + (F32(1) - g) * a_dot


# category 2
@kernel("wrong", "the gate sigma(beta) is kept in bfloat16")
def gate_in_bfloat16(beta, a_mem, a_dot):
    g = np.array([F32(1) / (F32(1) + np.exp(-F32(beta)))], F32)
    b = g.view(np.uint32)
    g = ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(F32)[0]
    return g * a_mem + (F32(1) - g) * a_dot


# category 1
@kernel("wrong", "the gate is a softmax over beta and -beta, which is sigma(2 beta)")
def softmax_of_both_signs(beta, a_mem, a_dot):
    b = np.array([F32(beta), -F32(beta)], F32)
    e = np.exp(b - b.max())
    e = e / e.sum()
    return e[0] * a_mem + e[1] * a_dot


@kernel(
    "correct",
    "as the mean plus half the difference times tanh(beta / 2), in double, returned in float16",
    profile="f16",
)
def by_tanh(beta, a_mem, a_dot):
    mem, dot = a_mem.astype(F64), a_dot.astype(F64)
    return (0.5 * (mem + dot) + 0.5 * math.tanh(0.5 * float(beta)) * (mem - dot)).astype(a_dot.dtype)
