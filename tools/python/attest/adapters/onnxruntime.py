# SPDX-License-Identifier: MIT
"""ONNX Runtime's operators on the CPU, each in a model of one node."""

import functools

import numpy as np
import onnxruntime
from onnx import helper

from attest.adapters import adapter

ONNX = ""
MICROSOFT = "com.microsoft"


ATTENTION_F64 = (
    "There is no double kernel; the runtime expands ONNX's function body (the context dependent function of "
    "Attention in onnx/defs/nn/defs.cc, as bundled), which takes the square root of the scale in binary32 "
    "(QKHeadSizeF = Cast<to=1>, ScaleFactorSqrt), gives NaN to a query that sees nothing, and refuses causal order "
    "beside a bias of doubles (an Add of double and float)."
)
EPSILON_F64 = (
    "epsilon is a float attribute (epsilon_ in core/providers/cpu/nn/layer_norm_impl.cc): 1e-5 becomes "
    "9.99999974738e-06. Cases with a dyadic eps pass."
)
UNIDIRECTIONAL = (
    "A scale of 0 is taken for no scale (scale_ == 0.0f in ApplyAttention, "
    "contrib_ops/cpu/bert/attention_cpu_base.h). And `unidirectional` hides later keys with the lowest finite "
    "number (PrepareMask, attention_helper.h): a query whose own keys a bias of -inf hides attends to later ones, "
    "where without `unidirectional` it gives NaN."
)


@functools.cache
def _session(operator, domain, opset, attributes, inputs, outputs):
    """A model of one node; inputs are (name, element type, rank), a node input that is left out has the name ''."""
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, [name for name, _, _ in inputs], results, domain=domain, **dict(attributes))
    values = [helper.make_tensor_value_info(name, kind, [None] * rank) for name, kind, rank in inputs if name]
    graph = helper.make_graph(
        [node], operator, values, [helper.make_tensor_value_info(name, inputs[0][1], None) for name in results]
    )
    imports = [helper.make_opsetid(ONNX, opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _run(operator, inputs, attributes=None, domain=ONNX, opset=23, outputs=1):
    """The node's first output; inputs in the order of the operator, None for one that is left out."""
    while inputs[-1] is None:
        inputs = inputs[:-1]
    given = {f"x{i}": np.ascontiguousarray(x) for i, x in enumerate(inputs) if x is not None}
    described = tuple(
        (f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.ndim) if x is not None else ("", 0, 0)
        for i, x in enumerate(inputs)
    )
    attributes = tuple((name, value) for name, value in (attributes or {}).items() if value is not None)
    return _session(operator, domain, opset, attributes, described, outputs).run(None, given)[0]


def _added(mask, bias):
    """One operand for both: hidden keys have a bias of -inf."""
    if mask is None or bias is None:
        return bias if mask is None else mask
    return np.where(mask, bias, np.array(-np.inf, bias.dtype))


def _attention(q, k, v, mask, bias, scale, causal):
    """The extra keys of causal attention are handed over as the past; a kernel that reads a past has to write the
    present (attention.cc, ComputeAttentionProbs)."""
    past = k.shape[2] - q.shape[2] if causal else 0
    earlier = (k[:, :, :past], v[:, :, :past]) if past else (None, None)
    inputs = [q, k[:, :, past:], v[:, :, past:], _added(mask, bias), *earlier]
    return _run("Attention", inputs, {"is_causal": int(causal), "scale": scale}, outputs=3 if past else 1)


@adapter(
    "attention.scaled_dot_product",
    library="onnxruntime",
    like="numpy",
    layout="bhnd",
    profiles=("f64", "f32", "f16"),
    conventions={"empty_row": "zero"},
    explains={"f64": ATTENTION_F64},
)
def Attention(q, k, v, *, mask=None, bias=None, causal=False):
    """Attention of opset 23 with its own scale. Its page in onnx.defs says: query i sees key j where j <= i +
    past_sequence_length, and a row that sees nothing is zero."""
    return _attention(q, k, v, mask, bias, None, causal)


@adapter(
    "attention.scaled_dot_product",
    library="onnxruntime",
    like="numpy",
    layout="bhnd",
    profiles=("f32", "f16"),
    conventions={"empty_row": "zero"},
    capabilities="scale > 0",
)
def Attention_scale(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """Attention of opset 23 with a given scale, a binary32 attribute that has to be positive (attention.cc, the
    constructor)."""
    return _attention(q, k, v, mask, bias, scale, causal)


@adapter(
    "attention.softmax", library="onnxruntime", like="numpy", profiles=("f64", "f32", "f16"), conventions={"lse": False}
)
def Softmax(x):
    """Softmax of opset 13."""
    return _run("Softmax", [x], opset=13)


@adapter(
    "attention.layer_norm",
    library="onnxruntime",
    like="numpy",
    profiles=("f64", "f32", "f16"),
    explains={"f64": EPSILON_F64},
)
def LayerNormalization(x, *, gamma=None, beta=None, eps=1e-5):
    """LayerNormalization of opset 17; its scale is required. A bias that is left out by the name '' and not by leaving
    it away ends the process in InferenceSession, for float inputs (version 1.31.1)."""
    gamma = np.ones(x.shape[1], x.dtype) if gamma is None else gamma
    return _run("LayerNormalization", [x, gamma, beta], {"epsilon": eps}, opset=17)


def _waves(positions, d, base, dtype):
    """The tables of cosines and sines that the operators want, (batch, token, pair), rounded once."""
    angles = np.asarray(positions, np.float64)[..., None] * float(base) ** (-np.arange(0, d, 2) / d)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@adapter("positional.rotary", library="onnxruntime", like="numpy", layout="bhnd", profiles=("f32", "f16"))
def RotaryEmbedding(x, positions, *, base=10000.0, pairing="interleaved"):
    """RotaryEmbedding of opset 23, whose tables of cosines and sines are made here."""
    cos, sin = _waves(positions[:, 0], x.shape[3], base, x.dtype)
    return _run("RotaryEmbedding", [x, cos, sin], {"interleaved": int(pairing == "interleaved")})


@adapter("positional.rotary", library="onnxruntime", like="numpy", layout="bhnd", profiles=("f32", "f16"))
def RotaryEmbedding_com_microsoft(x, positions, *, base=10000.0, pairing="interleaved"):
    """com.microsoft.RotaryEmbedding, whose tables have a row for each position: the tokens' own, in order."""
    batch, _, n, d = x.shape
    cos, sin = _waves(positions[:, 0].reshape(-1), d, base, x.dtype)
    rows = np.arange(batch * n, dtype=np.int64).reshape(batch, n)
    return _run("RotaryEmbedding", [x, rows, cos, sin], {"interleaved": int(pairing == "interleaved")}, MICROSOFT)


@adapter(
    "attention.scaled_dot_product",
    library="onnxruntime",
    like="numpy",
    layout="bnhd",
    profiles=("f32", "f16"),
    conventions={"empty_row": "nan"},
    capabilities="not causal or n == s",
    explains={"f32": UNIDIRECTIONAL, "f16": UNIDIRECTIONAL},
)
def MultiHeadAttention_com_microsoft(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """com.microsoft.MultiHeadAttention. `unidirectional` is a lower triangle, and what it hides has the lowest finite
    logit, what a bias of -inf hides has -inf; a scale of 0 stands for the default (all in contrib_ops/cpu/bert:
    attention_helper.h, PrepareMask; attention_cpu_base.h, ApplyAttention)."""
    heads = q.shape[2]
    q, k, v = (np.repeat(x, heads // x.shape[2], axis=2) for x in (q, k, v))
    flat = [x.reshape(*x.shape[:2], -1) for x in (q, k, v)]
    if mask is not None:
        bias = _added(mask, np.zeros(mask.shape, q.dtype) if bias is None else bias)
    attributes = {"num_heads": heads, "scale": scale, "unidirectional": int(causal)}
    o = _run("MultiHeadAttention", [*flat, None, None, bias], attributes, MICROSOFT)
    return o.reshape(*q.shape[:3], -1)
