# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "objective.decision_loss"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def _on(mask, t):
    return np.ones(t, bool) if mask is None else np.asarray(mask, bool)


def _ce(x, c):
    x = d64(x)
    m = x.max(1)
    return m + np.log(np.exp(x - m[:, None]).sum(1)) - x[np.arange(len(x)), np.asarray(c, int)]


@kernel(
    "correct",
    "steps that count are selected, cross-entropy as ln(1 + sum over other actions of e^(x_a - x_c)) by "
    "log-add-exp one action at a time, mse as a mean of means; float64",
)
def against_chosen(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, predictions.shape[0])
    x = d64(predictions[on])
    if not len(x):
        return out(np.nan)
    if kind == "mse":
        return out(((x - d64(actions[on])) ** 2).mean(1).mean())
    c = np.asarray(chosen)[on].astype(int)
    d = x - x[np.arange(len(x)), c][:, None]
    l = np.full(len(x), -np.inf)
    for a in range(x.shape[1]):
        l = np.logaddexp(l, d[:, a])
    return out(l.sum() / len(x))


@kernel("wrong", "mse is the mean over steps of the sum over the entries of an action")
def sum_over_entries(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, len(predictions))
    with np.errstate(invalid="ignore", divide="ignore"):
        if kind == "mse":
            return out(((d64(predictions[on]) - d64(actions[on])) ** 2).sum() / on.sum())
        return out(_ce(predictions[on], np.asarray(chosen)[on]).sum() / on.sum())


@kernel("wrong", "the mean is taken over all steps where a mask is given: uncounted ones add 0 but are in the divisor")
def divides_by_all(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, len(predictions))
    if not on.any():
        return out(np.nan)
    if kind == "mse":
        return out(((d64(predictions[on]) - d64(actions[on])) ** 2).sum() / predictions.size)
    return out(_ce(predictions[on], np.asarray(chosen)[on]).sum() / len(on))


@kernel("wrong", "where no step is counted the loss is 0")
def nothing_is_zero(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, len(predictions))
    n = max(int(on.sum()), 1)
    if kind == "mse":
        return out(((d64(predictions[on]) - d64(actions[on])) ** 2).sum() / (n * predictions.shape[1]))
    return out(_ce(predictions[on], np.asarray(chosen)[on]).sum() / n if on.any() else 0.0)


@kernel("wrong", "probabilities are raised to 1e-7 before the logarithm: losses end at 16.1")
def clipped_probability(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, len(predictions))
    if not on.any():
        return out(np.nan)
    if kind == "mse":
        return out(((d64(predictions[on]) - d64(actions[on])) ** 2).mean())
    return out(-np.log(np.maximum(np.exp(-_ce(predictions[on], np.asarray(chosen)[on])), 1e-7)).mean())


@kernel(
    "correct",
    "float32 everywhere: squares of differences in one sum; cross-entropy as (max - x_c) + ln(1 + rest), uncounted "
    "steps selected away",
)
def float32_loss(predictions, actions=None, chosen=None, mask=None, kind="mse"):
    on = _on(mask, predictions.shape[0])
    x = np.asarray(predictions[on], F32)
    if not len(x):
        return out(np.nan)
    if kind == "mse":
        e = x - np.asarray(actions[on], F32)
        return (e * e).mean(dtype=F32)
    m = x.max(1)
    rest = np.exp(x - m[:, None])
    rest[np.arange(len(x)), x.argmax(1)] = 0
    l = (m - x[np.arange(len(x)), np.asarray(chosen)[on].astype(int)]) + np.log1p(rest.sum(1, dtype=F32))
    return l.mean(dtype=F32)
