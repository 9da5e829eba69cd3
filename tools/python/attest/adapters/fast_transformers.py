# SPDX-License-Identifier: MIT
"""pytorch-fast-transformers: linear attention on features that are given, and softmax attention."""

import torch
from fast_transformers.attention import CausalLinearAttention as Causal
from fast_transformers.attention import FullAttention as Full
from fast_transformers.attention import LinearAttention as Linear
from fast_transformers.feature_maps import ActivationFunctionFeatureMap, elu_feature_map
from fast_transformers.masking import FullMask, TriangularCausalMask
from fast_transformers.recurrent.attention import RecurrentLinearAttention as Recurrent

from attest._torch import for_every_head
from attest.adapters import adapter

LIBRARY = "pytorch-fast-transformers"
PROFILES = ("f64", "f32")  # tensors of 16 bits meet masks and states of float32, and their products raise
SCALE_ZERO = (
    "A scale of 0 is taken for no scale: self.softmax_temp or 1./sqrt(E) in FullAttention.forward "
    "(attention/full_attention.py)."
)
CANCELS = (
    "elu(x) + 1 (feature_maps/base.py) is (e^x - 1) + 1: what is left of e^x below -1 has few bits, and nothing "
    "below the roundoff. In float32 phi(-20) is 0 and not 2e-9."
)

identity = ActivationFunctionFeatureMap.factory(lambda x: x)


def _everything(x):
    return FullMask(N=len(x), M=x.shape[1])


def _linear(attention, visible, phi_q, phi_k, v, eps):
    phi_k, v = for_every_head(phi_q.shape[2], phi_k, v, axis=2)
    return attention(phi_q.shape[3], identity, eps=eps)(phi_q, phi_k, v, visible, _everything(phi_q), _everything(v))


@adapter(
    "linear.attention",
    library=LIBRARY,
    like="torch",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"zero_denominator": "nan"},
    gradients=True,
)
def LinearAttention(phi_q, phi_k, v, *, eps=0.0):
    """LinearAttention with the identity for a feature map: 1 / (phi_q . z + eps), so that a denominator of 0 gives 0
    times infinity."""
    return _linear(Linear, FullMask(N=phi_q.shape[1], M=v.shape[1]), phi_q, phi_k, v, eps)


@adapter(
    "linear.causal",
    library=LIBRARY,
    like="torch",
    layout="bnhd",
    profiles=("f32",),
    conventions={"zero_denominator": "nan", "S": False, "Z": False},
)
def CausalLinearAttention(phi_q, phi_k, v, *, eps=0.0):
    """CausalLinearAttention with the identity for a feature map; causal_product_cpu.cpp reads float32 only. Its
    gradient reads a cotangent that is not dense in the last axis, as of .sum(), beyond its elements (&ga[n][h][l][0] in
    causal_dot_backward)."""
    return _linear(Causal, TriangularCausalMask(v.shape[1]), phi_q, phi_k, v, eps)


@adapter(
    "linear.causal_step",
    library=LIBRARY,
    like="torch",
    layout="bhnd",
    profiles=PROFILES,
    conventions={"zero_denominator": "nan"},
    gradients=True,
)
def RecurrentLinearAttention(phi_q, phi_k, v, S, Z, *, eps=0.0):
    """RecurrentLinearAttention with the identity for a feature map. It writes to the state that it is given (Zi += K in
    recurrent/attention/self_attention/linear_attention.py), so that it gets a copy."""
    phi_k, v = for_every_head(phi_q.shape[1], phi_k, v)
    o, state = Recurrent(phi_q.shape[2], identity, eps=eps)(phi_q, phi_k, v, [S.clone(), Z.clone()])
    return o, *state


@adapter(
    "attention.scaled_dot_product",
    library=LIBRARY,
    like="torch",
    layout="bnhd",
    profiles=PROFILES,
    conventions={"empty_row": "nan"},
    capabilities="not causal or n == s",
    explains=dict.fromkeys(PROFILES, SCALE_ZERO),
)
def FullAttention(q, k, v, *, mask=None, scale=None, causal=False):
    """FullAttention. A mask is added as its logarithm (additive_matrix in masking.py): a query that sees nothing gives
    NaN."""
    k, v = for_every_head(q.shape[2], k, v, axis=2)
    visible = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool) if mask is None else mask
    if causal:
        visible = visible & TriangularCausalMask(q.shape[1]).bool_matrix
    return Full(softmax_temp=scale, attention_dropout=0.0)(q, k, v, FullMask(visible), _everything(q), _everything(k))


@adapter(
    "linear.feature_map",
    library=LIBRARY,
    like="torch",
    profiles=(*PROFILES, "bf16", "f16"),
    gradients=True,
    explains=dict.fromkeys((*PROFILES, "bf16", "f16"), CANCELS),
)
def elu_plus_one(x):
    """elu_feature_map."""
    return elu_feature_map(x.shape[1])(x)
