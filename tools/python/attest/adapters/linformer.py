# SPDX-License-Identifier: MIT
"""Linformer: its layer with given projections along the sequence, and with the identity for projections, where it is
plain multi-head attention."""

import torch
from linformer import LinformerSelfAttention as Layer

from attest.adapters import adapter


@adapter(
    "attention.multi_head",
    library="linformer",
    like="torch",
    profiles=("f64", "f32", "bf16", "f16"),
    capabilities="m == d",
    gradients=True,
)
def LinformerSelfAttention(x_q, x_k, x_v, w_q, w_k, w_v, w_o):
    """linformer.LinformerSelfAttention. Keys and values are made of one context, [x_k | x_v] here, and the layer is as
    wide as what goes in: the weights of the rest are 0. Values are as wide as keys (dim_head in linformer.py)."""
    h, f, d = w_q.shape
    s, e = len(x_k), w_o.shape[2]
    width = h * max(2 * f, e)
    layer = Layer(width, s, k=s, heads=h, dim_head=d).to(x_q.dtype)

    def placed(rows, columns, at, w):
        return torch.nn.functional.pad(w, (0, columns - w.shape[1], at, rows - at - w.shape[0]))

    def merged(w):
        return w.movedim(0, 1).flatten(1)

    weights = {
        "to_q.weight": placed(width, h * d, 0, merged(w_q)).T,
        "to_k.weight": placed(width, h * d, 0, merged(w_k)).T,
        "to_v.weight": placed(width, h * d, f, merged(w_v)).T,
        "to_out.weight": placed(h * d, width, 0, w_o.flatten(0, 1)).T,
        "to_out.bias": x_q.new_zeros(width),
        "proj_k": torch.eye(s, dtype=x_q.dtype),
        "proj_v": torch.eye(s, dtype=x_q.dtype),
    }
    x = placed(len(x_q), width, 0, x_q)
    context = placed(s, width, 0, torch.cat([x_k, x_v], 1))
    return torch.func.functional_call(layer, weights, (x[None], context[None]))[0, :, :e]


@adapter(
    "lowrank.linformer",
    library="linformer",
    like="torch",
    layout="nd",
    profiles=("f64", "f32", "bf16", "f16"),
    conventions={"sharing": "none"},
    capabilities="m == d",
    gradients=True,
)
def projected_attention(q, k, v, e, f):
    """linformer.LinformerSelfAttention with one head. Queries, keys and values are three parts of the width, each of
    which one of the layer's projections takes out."""
    d, (r, s) = q.shape[1], e.shape
    layer = Layer(3 * d, s, k=r, heads=1, dim_head=d).to(q.dtype)
    part = torch.eye(3 * d, dtype=q.dtype).split(d)
    weights = {
        "to_q.weight": part[0],
        "to_k.weight": part[1],
        "to_v.weight": part[2],
        "to_out.weight": part[0].T,
        "to_out.bias": q.new_zeros(3 * d),
        "proj_k": e.T,
        "proj_v": f.T,
    }
    x = torch.nn.functional.pad(q, (0, 2 * d))
    context = torch.cat([k.new_zeros(s, d), k, v], 1)
    return torch.func.functional_call(layer, weights, (x[None], context[None]))[0, :, :d]
