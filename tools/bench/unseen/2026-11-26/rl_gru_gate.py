# SPDX-License-Identifier: MIT

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "rl.gru_gate"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def _run(
    x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g, sgm=sig, th=np.tanh, bias=-1.0, reset_after=False, tr=False, round_z=None
):
    x, y = d64(x), d64(y)

    def m(w, a):
        return a @ (d64(w) if tr else d64(w).T)

    r = sgm(m(w_r, y) + m(u_r, x))
    z = sgm(m(w_z, y) + m(u_z, x) + bias * d64(b_g))
    z = z if round_z is None else d64(round_z(z))
    h = th(m(w_g, y) + (r * m(u_g, x) if reset_after else m(u_g, r * x)))
    return out((1 - z) * x + z * h)


@kernel(
    "correct",
    "both gates by one product of [y x] with the stacked weights, sigmoids from e^-|a|, and g = x + z (h - x); float64",
)
def stacked_gates(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    d = x.shape[1]
    yx = np.concatenate([d64(y), d64(x)], 1)
    w = np.concatenate([np.concatenate([d64(w_r), d64(u_r)], 1), np.concatenate([d64(w_z), d64(u_z)], 1)], 0)
    a = sig(yx @ w.T - np.concatenate([np.zeros(d), d64(b_g)]))
    h = np.tanh(d64(y) @ d64(w_g).T + (a[:, :d] * d64(x)) @ d64(u_g).T)
    return out(d64(x) + a[:, d:] * (h - d64(x)))


@kernel("wrong", "the reset gate is applied behind the product, r * (U_g x), as cuDNN's GRU does")
def reset_after(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    return _run(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g, reset_after=True)


@kernel("wrong", "tanh of the candidate is x (27 + x^2) / (27 + 9 x^2), clipped to -1 .. 1")
def rational_tanh(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    return _run(
        x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g, th=lambda a: np.clip(a * (27 + a * a) / (27 + 9 * a * a), -1, 1)
    )


@kernel(
    "wrong", "an update gate below 2^-9 is written as 0 (it is stored in 8 bits, rounded down to multiples of 1/512)"
)
def eight_bit_gate(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    return _run(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g, round_z=lambda z: np.floor(z * 512) / 512)


@kernel("correct", "float32 everywhere, sigmoids from e^-|a|, one token at a time")
def float32_gate(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    g = np.zeros(x.shape, F32)
    w = [np.asarray(a, F32) for a in (w_r, u_r, w_z, u_z, w_g, u_g)]

    def s(a):
        e = np.exp(-np.abs(a))
        return np.where(a >= 0, F32(1), e) / (F32(1) + e)

    for i in range(x.shape[0]):
        a, b = np.asarray(x[i], F32), np.asarray(y[i], F32)
        r, z = s(w[0] @ b + w[1] @ a), s((w[2] @ b + w[3] @ a) - np.asarray(b_g, F32))
        g[i] = (F32(1) - z) * a + z * np.tanh(w[4] @ b + w[5] @ (r * a))
    return g


@kernel("wrong", "gates are computed in float32 though the inputs are float64", "f64")
def gates_in_float32(x, y, w_r, u_r, w_z, u_z, w_g, u_g, b_g):
    r = sig((y @ w_r.T + x @ u_r.T).astype(F32)).astype(F32).astype(F64)
    z = sig(y @ w_z.T + x @ u_z.T - b_g).astype(F32).astype(F64)
    return (1 - z) * x + z * np.tanh(y @ w_g.T + (r * x) @ u_g.T)
