# SPDX-License-Identifier: MIT
"""OpenVINO's operators as its CPU plugin compiles them, each in a model of one node."""

import functools

import numpy as np
import openvino
import openvino.opset13 as ops

from attest.adapters import adapter


F64 = (
    "The CPU plugin computes in binary32: it turns every f64 into f32 before it compiles (get_convert_precisions in "
    "src/plugins/intel_cpu/src/transformations/transformation_pipeline.cpp)."
)


@functools.cache
def _compiled(build, inputs, settings):
    """`build` makes the node from a parameter for each (element type, rank). Without the hint a CPU that has bfloat16
    would use it."""
    parameters = [ops.parameter([-1] * rank, kind) for kind, rank in inputs]
    model = openvino.Model([build(*parameters, **dict(settings))], parameters)
    return openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})


def _run(build, *inputs, **settings):
    arrays = [np.array(x, order="C") for x in inputs]
    described = tuple((openvino.Type(x.dtype), x.ndim) for x in arrays)
    return np.array(_compiled(build, described, tuple(settings.items()))(arrays)[0])


def _attention(q, k, v, *more, causal):
    return ops.scaled_dot_product_attention(q, k, v, *more, causal=causal)


@adapter(
    "attention.scaled_dot_product",
    library="openvino",
    like="numpy",
    layout="bhnd",
    profiles=("f64", "f32", "f16"),
    conventions={"empty_row": "nan"},
    capabilities="not causal or n == s",
    explains={"f64": F64},
)
def scaled_dot_product_attention(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """opset13.scaled_dot_product_attention. Causal order is a lower triangle that takes the place of a mask (the
    operator's page, "In this case attention_mask input is ignored"), so that beside a mask or bias the triangle is made
    here."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    if causal and (mask is not None or bias is not None):
        triangle = np.broadcast_to(np.tri(q.shape[2], dtype=bool), (*q.shape[:3], q.shape[2]))
        mask, causal = triangle if mask is None else mask & triangle, False
    if bias is not None:
        mask = bias if mask is None else np.where(mask, bias, np.array(-np.inf, bias.dtype))
    more = [] if mask is None else [mask]
    if scale is not None:
        more = (more or [np.zeros((), q.dtype)]) + [np.array(scale, q.dtype)]
    return _run(_attention, q, k, v, *more, causal=causal)


@adapter(
    "attention.softmax",
    library="openvino",
    like="numpy",
    profiles=("f64", "f32", "f16"),
    conventions={"lse": False},
    explains={"f64": F64},
)
def softmax(x):
    """opset13.softmax."""
    return _run(ops.softmax, x, axis=1)


def _mvn(x, eps):
    return ops.mvn(x, np.array([1]), True, eps, "inside_sqrt")


@adapter(
    "attention.layer_norm", library="openvino", like="numpy", profiles=("f64", "f32", "f16"), explains={"f64": F64}
)
def mvn(x, *, eps=1e-5):
    """opset13.mvn, mean-variance normalisation over the last axis with eps inside the root; eps is an attribute, a
    binary32 number."""
    return _run(_mvn, x, eps=eps)
