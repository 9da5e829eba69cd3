# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "memory.spalm_gate"

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


def sig(x):
    x = d64(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _run(h, y, w_g, w, scale=1.0, gate=None, rnd=None, swap=False):
    h, y = d64(h), d64(y)
    m = soft(scale * (y @ h)) @ y
    g = sig(float(d64(w_g) @ h)) if gate is None else gate(h, m)
    z = g * m + (1 - g) * h if swap else (1 - g) * m + g * h
    return out(z), out(soft(d64(w) @ (z if rnd is None else d64(rnd(z)))))


@kernel(
    "correct",
    "z = h + sigma(-w_g . h) (m - h), with one pass over the neighbours and the vocabulary in two passes (largest "
    "first); float64",
)
def as_an_update(h, y, w_g, w):
    h = d64(h)
    top, tot, acc = -math.inf, 0.0, np.zeros(len(h))
    for r in y:
        l = float(d64(r) @ h)
        n = max(top, l)
        f = math.exp(top - n) if tot else 0.0
        top, tot, acc = n, tot * f + math.exp(l - n), acc * f + math.exp(l - n) * d64(r)
    z = h + sig(-float(d64(w_g) @ h)) * (acc / tot - h)
    l = d64(w) @ z
    return out(z), out(np.exp(l - l.max() - math.log(np.exp(l - l.max()).sum())))


@kernel("wrong", "products of neighbours and hidden state are scaled by 1/sqrt(d)")
def scaled_products(h, y, w_g, w):
    return _run(h, y, w_g, w, 1 / math.sqrt(len(h)))


@kernel("wrong", "the gate is a hard sigmoid, clip(x / 6 + 1/2, 0, 1)")
def hard_gate(h, y, w_g, w):
    return _run(h, y, w_g, w, gate=lambda a, m: min(max(float(d64(w_g) @ a) / 6 + 0.5, 0.0), 1.0))


@kernel("wrong", "the gate reads the average of the neighbours where its product with w_g is larger than that of h")
def gate_from_larger(h, y, w_g, w):
    return _run(h, y, w_g, w, gate=lambda a, m: sig(max(float(d64(w_g) @ a), float(d64(w_g) @ m))))


@kernel("wrong", "z is rounded to bfloat16 before the product with the vocabulary; the z that is returned is not")
def bf16_readout(h, y, w_g, w):
    return _run(h, y, w_g, w, rnd=bf16)
