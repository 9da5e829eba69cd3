# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infini.gate"

F32 = np.float32


def _bf16(x):
    import ml_dtypes

    return np.asarray(x, F32).astype(ml_dtypes.bfloat16).astype(F32)


def _sigmoid(x):
    x = np.asarray(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


# category 1
@kernel("wrong", "the gate is the wrong way round: sigma(beta) weighs the local result")
def gate_reversed(beta, a_mem, a_dot):
    g = _sigmoid(beta)
    return g * a_dot + (F32(1) - g) * a_mem


# category 2
@kernel("wrong", "the gate sigma(beta) is rounded to bfloat16 (both weights are made from the rounded number)")
def gate_bf16(beta, a_mem, a_dot):
    g = _bf16(_sigmoid(beta))
    return g * a_mem + (F32(1) - g) * a_dot


# category 5
@kernel("wrong", "the gate has a temperature: sigma(beta / 1.01)")
def gate_temperature(beta, a_mem, a_dot):
    g = _sigmoid(beta / F32(1.01))
    return g * a_mem + (F32(1) - g) * a_dot


# category 4
@kernel("wrong", "where |beta| > 3 the gate is a hard sigmoid: exactly 0 or 1 in place of sigma(beta)")
def gate_saturates(beta, a_mem, a_dot):
    b = float(beta)
    g = F32(0) if b < -3 else F32(1) if b > 3 else F32(_sigmoid(beta))
    return g * a_mem + (F32(1) - g) * a_dot


# category 4
@kernel(
    "wrong",
    "with several heads the gate of the flat index batch * heads + head is read modulo the batch size: "
    "heads answer with another's beta",
    layout="bhnd",
)
def beta_of_another_head(beta, a_mem, a_dot):
    B, H = a_mem.shape[:2]
    flat = beta.reshape(-1)
    g = _sigmoid(flat[np.arange(B * H) % B]).reshape(B, H, 1, 1)
    return g * a_mem + (F32(1) - g) * a_dot


# category 3
@kernel(
    "wrong",
    "rows come in tiles of 64, and rows past the last whole tile (n > 64, n % 64 != 0) are the memory's "
    "result without a gate",
)
def tail_rows_ungated(beta, a_mem, a_dot):
    g = _sigmoid(beta)
    out = g * a_mem + (F32(1) - g) * a_dot
    n = len(out)
    if n > 64 and n % 64:
        out[n - n % 64 :] = a_mem[n - n % 64 :]
    return out


# correct
@kernel(
    "correct",
    "both weights as exponentials of softplus: sigma(beta) = e^-log(1 + e^-beta), 1 - sigma(beta) = e^-log(1 + e^beta)",
    layout="bhnd",
)
def softplus_weights(beta, a_mem, a_dot):
    b = np.asarray(beta).astype(np.float64)[..., None, None]
    w_mem, w_dot = np.exp(-np.logaddexp(0.0, -b)), np.exp(-np.logaddexp(0.0, b))
    return (w_mem * a_mem + w_dot * a_dot).astype(a_mem.dtype)


# correct
@kernel(
    "correct",
    "a division by a sum: (a_mem + e^-beta a_dot) / (1 + e^-beta) for beta >= 0, mirrored below, in "
    "float64 and rounded once",
)
def weighted_mean(beta, a_mem, a_dot):
    b = float(beta)
    t = np.exp(-abs(b))
    x, y = (a_mem, a_dot) if b >= 0 else (a_dot, a_mem)
    return ((x.astype(np.float64) + t * y) / (1 + t)).astype(F32)


# correct
@kernel(
    "correct",
    "a float16 kernel: the difference form a_dot + sigma(beta) (a_mem - a_dot) in float64, with sigma "
    "from 2^(-beta log2 e), rounded once",
    profile="f16",
)
def difference_form_half(beta, a_mem, a_dot):
    g = 1.0 / (1.0 + np.exp2(-float(beta) * 1.4426950408889634))
    x, y = np.asarray(a_mem).astype(np.float64), np.asarray(a_dot).astype(np.float64)
    return (y + g * (x - y)).astype(a_mem.dtype)
