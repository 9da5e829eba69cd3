# SPDX-License-Identifier: MIT
"""Kernels for the tests of the Python package, right and wrong."""

import os
import signal

import numpy as np

SDPA = "attention.scaled_dot_product"
ZERO = {"empty_row": "zero", "hidden_nan": False}


def attention(
    q, k, v, mask=None, bias=None, scale=None, causal=False, softcap=0.0, window_left=-1, window_right=-1, sink=None
):
    """Scaled dot-product attention in the precision of its inputs; a query that sees nothing gives zeros."""
    (n, d), s = q.shape, len(k)
    scale = d**-0.5 if scale is None else scale
    visible = np.tri(n, s, s - n if causal else s, dtype=bool) & (True if mask is None else mask)
    if window_left >= 0:
        visible = visible & ~np.tri(n, s, s - n - window_left - 1, dtype=bool)
    if window_right >= 0:
        visible = visible & np.tri(n, s, s - n + window_right, dtype=bool)
    logits = q.dtype.type(scale) * (q @ k.T)
    if softcap > 0:
        logits = q.dtype.type(softcap) * np.tanh(logits / q.dtype.type(softcap))
    logits = np.where(visible, logits + (0 if bias is None else bias), -np.inf).astype(q.dtype)
    no_key = q.dtype.type(-np.inf) if sink is None else sink
    top = np.maximum(np.maximum(logits.max(1, keepdims=True), no_key), np.finfo(q.dtype).min)
    weights = np.exp(logits - top)
    total = weights.sum(1, keepdims=True) + np.exp(no_key - top)
    return weights @ v / np.where(total > 0, total, 1)


def scale_missing(q, k, v, mask=None, bias=None, scale=None, causal=False):
    return attention(q, k, v, mask, bias, 1.0 if scale is None else scale, causal)


def bfloat16(q, k, v, mask=None, bias=None, scale=None, causal=False):
    """Stored as bfloat16, computed in float32."""
    wide = [None if x is None else x.astype("f4") for x in (q, k, v, bias)]
    return attention(*wide[:3], mask, wide[3], scale, causal).astype(q.dtype)


def attention_of_heads(q, k, v, mask=None, bias=None, scale=None, causal=False):
    """Layout bhnd."""

    def lift(x, b, h):
        return None if x is None else x[b, h % x.shape[1]]

    batch, heads = q.shape[:2]
    return np.stack(
        [
            np.stack(
                [
                    attention(
                        q[b, h],
                        k[b, h * k.shape[1] // heads],
                        v[b, h * v.shape[1] // heads],
                        lift(mask, b, h),
                        lift(bias, b, h),
                        scale,
                        causal,
                    )
                    for h in range(heads)
                ]
            )
            for b in range(batch)
        ]
    )


def kills_itself(q, k, v):
    os.kill(os.getpid(), signal.SIGSEGV)


def interrupts(q, k, v, calls=[]):
    calls.append(1)
    if len(calls) > 20:
        raise KeyboardInterrupt
    return attention(q, k, v)
