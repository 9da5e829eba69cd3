# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "adaptive.ltt_threshold"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _p(r, n, delta):
    return np.exp(-2 * n * np.maximum(0, delta - r) ** 2)


def _stop(candidates, p, eps):
    bad = np.flatnonzero(p > eps)
    a = int(bad[0]) if bad.size else len(p)
    return out(candidates[a - 1] if a else np.inf), np.int64(a), out(p)


@kernel(
    "correct",
    "risks by a sum of deviations from delta, delta - r = mean(delta - loss), in float64; candidates tested one at "
    "a time with a running flag",
)
def mean_of_deviations(candidates, losses, delta=0.5, eps=0.1):
    k, n = losses.shape
    threshold, accepted, alive, p = np.inf, 0, True, np.zeros(k)
    for a in range(k):
        m = max(0.0, math.fsum(delta - float(x) for x in losses[a]) / n)
        p[a] = math.exp(-2.0 * n * m * m)
        alive = alive and p[a] <= eps
        if alive:
            threshold, accepted = candidates[a], accepted + 1
    return out(threshold), np.int64(accepted), out(p)


@kernel("wrong", "testing does not stop at the first failure: the last candidate whose p is small enough is accepted")
def does_not_stop(candidates, losses, delta=0.5, eps=0.1):
    p = _p(d64(losses).mean(1), losses.shape[1], delta)
    good = np.flatnonzero(p <= eps)
    a = int(good[-1]) + 1 if good.size else 0
    return out(candidates[a - 1] if a else np.inf), np.int64(a), out(p)


@kernel("wrong", "p above 1/2, that of risks near delta or above, is written as 1")
def p_saturates(candidates, losses, delta=0.5, eps=0.1):
    r = d64(losses).mean(1)
    t, a, p = _stop(candidates, _p(r, losses.shape[1], delta), eps)
    return t, a, np.where(p > 0.5, F32(1), p)


@kernel("wrong", "Bonferroni: p is compared with eps / K")
def bonferroni(candidates, losses, delta=0.5, eps=0.1):
    return _stop(candidates, _p(d64(losses).mean(1), losses.shape[1], delta), eps / len(candidates))


@kernel("wrong", "where no candidate is accepted the threshold is the first, the safest, candidate")
def safest_when_none(candidates, losses, delta=0.5, eps=0.1):
    t, a, p = _stop(candidates, _p(d64(losses).mean(1), losses.shape[1], delta), eps)
    return (out(candidates[0]) if a == 0 else t), a, p
