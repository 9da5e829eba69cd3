# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.depth_loss"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _run(log_p, omega, q, q_star, alpha, total=None, norm=None, clip=0.0, eps=0.0):
    w = d64(omega)
    t = log_p.shape[1]
    a = -(w @ d64(log_p)).sum() / (w.sum() if norm is None else norm(w, t))
    lq = np.log(np.maximum(d64(q), clip) + eps)
    b = -(d64(q_star) * lq).sum()
    return out(a), out(b), out(a + alpha * b)


@kernel(
    "correct",
    "weights are divided by their sum first, layers are added from the last to the first, and cross-entropy skips "
    "entries of weight 0; float64",
)
def normalised_weights(log_p, omega, q, q_star, alpha=1.0):
    w = d64(omega) / d64(omega).sum()
    a = 0.0
    for n in range(len(w) - 1, -1, -1):
        a -= w[n] * math.fsum(log_p[n].tolist())
    on = np.asarray(q_star) != 0
    b = -math.fsum(d64(q_star)[on] * np.log(d64(q)[on]))
    return out(a), out(b), out(a + alpha * b)


@kernel("wrong", "the loss of the tokens is a mean over the tokens, too")
def mean_over_tokens(log_p, omega, q, q_star, alpha=1.0):
    return _run(log_p, omega, q, q_star, alpha, norm=lambda w, t: w.sum() * max(t, 1))


@kernel("wrong", "weights are not divided by their sum, but by the number of layers")
def divided_by_layers(log_p, omega, q, q_star, alpha=1.0):
    return _run(log_p, omega, q, q_star, alpha, norm=lambda w, t: len(w))


@kernel("wrong", "1e-4 is added to q before its logarithm")
def epsilon_in_log(log_p, omega, q, q_star, alpha=1.0):
    return _run(log_p, omega, q, q_star, alpha, eps=1e-4)
