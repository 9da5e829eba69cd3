# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "infty.ridge_fit"

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


@kernel(
    "correct",
    "where functions outnumber tokens the small dual system is solved, x^T (psi^T psi + lambda I)^-1 psi^T; "
    "otherwise the "
    "primal one through its eigenvectors; float64",
)
def primal_or_dual(x, psi, penalty=0.5):
    x, psi = d64(x), d64(psi)
    b, l = psi.shape
    if b > l:
        c = np.linalg.solve(psi.T @ psi + penalty * np.eye(l), x).T @ psi.T
    else:
        u, sv, vt = np.linalg.svd(psi.T, full_matrices=False)
        c = ((u.T @ x) * (sv / (sv * sv + penalty))[:, None]).T @ vt
    return out(c), out(psi.T @ c.T)


@kernel("wrong", "the penalty is multiplied by the number of tokens (the loss is taken as a mean)")
def penalty_times_tokens(x, psi, penalty=0.5):
    x, psi = d64(x), d64(psi)
    b, l = psi.shape
    c = np.linalg.solve(psi @ psi.T + penalty * l * np.eye(b), psi @ x).T
    return out(c), out(psi.T @ c.T)


@kernel("wrong", "the last basis function takes no penalty, as a bias would not")
def last_unpenalised(x, psi, penalty=0.5):
    x, psi = d64(x), d64(psi)
    p = np.full(psi.shape[0], float(penalty))
    if p.size > 1:
        p[-1] = 0.0
    c = np.linalg.lstsq(psi @ psi.T + np.diag(p), psi @ x, rcond=None)[0].T
    return out(c), out(psi.T @ c.T)


@kernel(
    "wrong",
    "the linear system is solved by eight steps of conjugate gradients, which leaves an error beyond a few functions",
)
def eight_cg_steps(x, psi, penalty=0.5):
    x, psi = d64(x), d64(psi)
    a = psi @ psi.T + penalty * np.eye(psi.shape[0])
    rhs = psi @ x
    z = np.zeros_like(rhs)
    r = rhs.copy()
    p = r.copy()
    for _ in range(min(8, psi.shape[0])):
        rr = (r * r).sum(0)
        ap = a @ p
        al = rr / np.maximum((p * ap).sum(0), 1e-300)
        z += al * p
        r -= al * ap
        p = r + (r * r).sum(0) / np.maximum(rr, 1e-300) * p
    return out(z.T), out(psi.T @ z)


@kernel("wrong", "float64 inputs, but the matrix of the linear system is stored as float32", "f64")
def float32_system(x, psi, penalty=0.5):
    b = psi.shape[0]
    a = (psi @ psi.T + penalty * np.eye(b)).astype(F32).astype(F64)
    c = np.linalg.solve(a, psi @ x).T
    return c, psi.T @ c.T
