# SPDX-License-Identifier: MIT
import attest
import numpy as np


def attention(q, k, v, causal=False):
    logits = q @ k.T * q.dtype.type(q.shape[1] ** -0.5)
    if causal:
        logits = np.where(np.tri(len(q), len(k), len(k) - len(q), dtype=bool), logits, -np.inf)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


report = attest.check("attention.scaled_dot_product", attention, profile="f32", conventions={"empty_row": "nan"})
print(report.verdict, report.faults, report.first_error, report.repro)

report = attest.check("attention.scaled_dot_product", lambda q, k, v: attention(q * q.shape[1] ** 0.5, k, v))
print(report.diagnosis)
