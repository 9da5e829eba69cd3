# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infty.memory_update"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def basis(t, c, s):
    t, c, s = d64(t), d64(c), d64(s)
    z = (t[None, :] - c[:, None]) / s[:, None]
    return np.exp(-0.5 * z * z) / (s[:, None] * math.sqrt(2 * math.pi))


def _places(m, l, tau, refit, grid, past):
    o = 0.0 if grid == "left" else 1.0
    if not past:
        return (np.arange(l) + o) / l
    if refit == "uniform":
        return (np.arange(m + l) + o) / (m + l)
    a = tau * (np.arange(m) + o) / max(m, 1)
    b = tau + (1 - tau) * (np.arange(l) + o) / max(l, 1)
    return np.concatenate([a, b])


def _points(u, how):
    m = len(u)
    if how == "given":
        return d64(u)
    return (np.arange(m) + (0.0 if how == "left" else 1.0)) / max(m, 1)


def _fit(x, psi, penalty):
    b = psi.shape[0]
    return np.linalg.solve(psi @ psi.T + penalty * np.eye(b), psi @ x).T


@kernel("correct", "least squares by a QR decomposition of [psi^T; sqrt(lambda) I] in float64, no normal equations")
def augmented_qr(
    x_new, u, c, s, coefficients=None, tau=0.5, penalty=0.5, past_points="left", refit="contracted", grid="left"
):
    x = d64(x_new)
    m, l, b = len(u), x.shape[0], len(c)
    if coefficients is not None:
        x = np.concatenate([basis(_points(u, past_points), c, s).T @ d64(coefficients).T, x])
    psi = basis(_places(m, l, tau, refit, grid, coefficients is not None), c, s)
    q, r = np.linalg.qr(np.concatenate([psi.T, math.sqrt(penalty) * np.eye(b)]))
    rhs = q[: x.shape[0]].T @ x
    for i in range(b - 1, -1, -1):
        rhs[i] = (rhs[i] - r[i, i + 1 :] @ rhs[i + 1 :]) / r[i, i]
    return out(rhs.T)


@kernel(
    "wrong",
    "with refit = contracted the samples of the past are taken at tau u_j instead of u_j: the signal is contracted "
    "twice",
)
def contracted_twice(
    x_new, u, c, s, coefficients=None, tau=0.5, penalty=0.5, past_points="left", refit="contracted", grid="left"
):
    x = d64(x_new)
    if coefficients is not None:
        p = _points(u, past_points)
        p = tau * p if refit == "contracted" else p
        x = np.concatenate([basis(p, c, s).T @ d64(coefficients).T, x])
    return out(_fit(x, basis(_places(len(u), len(x_new), tau, refit, grid, coefficients is not None), c, s), penalty))


@kernel(
    "wrong",
    "grid = right is applied to the samples of the past but the new tokens still count from 0 (contracted only)",
)
def right_grid_half(
    x_new, u, c, s, coefficients=None, tau=0.5, penalty=0.5, past_points="left", refit="contracted", grid="left"
):
    x = d64(x_new)
    past = coefficients is not None
    p = _places(len(u), len(x_new), tau, refit, grid, past)
    if past:
        x = np.concatenate([basis(_points(u, past_points), c, s).T @ d64(coefficients).T, x])
        if refit == "contracted" and grid == "right":
            p[len(u) :] -= (1 - tau) / len(x_new)
    return out(_fit(x, basis(p, c, s), penalty))


@kernel("wrong", "without a past the new tokens are still fitted on [tau, 1]")
def first_segment_contracted(
    x_new, u, c, s, coefficients=None, tau=0.5, penalty=0.5, past_points="left", refit="contracted", grid="left"
):
    x = d64(x_new)
    if coefficients is None:
        p = _places(0, len(x), tau, "contracted", grid, True)
    else:
        p = _places(len(u), len(x), tau, refit, grid, True)
        x = np.concatenate([basis(_points(u, past_points), c, s).T @ d64(coefficients).T, x])
    return out(_fit(x, basis(p, c, s), penalty))
