# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "rl.returns_to_go"

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


@kernel(
    "correct",
    "blocks of four from the end: suffix sums inside of a block by doubling, plus the total of the blocks behind; "
    "float64",
)
def blocked_suffix(r):
    t = len(r)
    x = np.concatenate([d64(r), np.zeros(-t % 4)]).reshape(-1, 4)
    x[:, :3] += x[:, 1:].copy()
    x[:, :2] += x[:, 2:].copy()
    behind = np.concatenate([np.cumsum(x[::-1, 0])[::-1][1:], [0.0]]) if len(x) else np.zeros(0)
    return out((x + behind[:, None]).reshape(-1)[:t])


@kernel("wrong", "rewards are stored as bfloat16 (sums are exact)")
def bf16_rewards(r):
    return out(np.cumsum(d64(bf16(r))[::-1])[::-1])


@kernel("wrong", "the reward of the step itself is left out, at the last step it is kept")
def excludes_step(r):
    x = d64(r)
    o = np.cumsum(x[::-1])[::-1] - x
    o[-1:] = x[-1:]
    return out(o)


@kernel(
    "wrong",
    "blocks of 32 steps, and a block takes the total of the next one only, not of all behind it (beyond 64 steps)",
)
def next_block_only(r):
    x = d64(r)
    return out([x[a : (a // 32 + 2) * 32].sum() for a in range(len(x))])


@kernel("wrong", "a discount of 0.999 is applied")
def discounted(r):
    o, g = np.zeros(len(r)), 0.0
    for a in range(len(r) - 1, -1, -1):
        g = float(r[a]) + 0.999 * g
        o[a] = g
    return out(o)


@kernel("correct", "from the end in float32 with a compensation for what each sum loses (Kahan)")
def kahan(r):
    o, s, c = np.zeros(len(r), F32), F32(0), F32(0)
    for a in range(len(r) - 1, -1, -1):
        y = F32(r[a]) - c
        t = s + y
        c = (t - s) - y
        s = t
        o[a] = s
    return o
