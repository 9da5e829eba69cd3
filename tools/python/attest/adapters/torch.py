# SPDX-License-Identifier: MIT
"""PyTorch: its attention kernels, its softmax and norm, and the modules that are made of them. Causes are those of a
CPU."""

import functools

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.attention.flex_attention import create_block_mask, flex_attention as flex

from attest.adapters import adapter

ALL = ("f64", "f32", "bf16", "f16")
WIDE = ("f64", "f32")
ACTIVATIONS = {"relu": F.relu, "gelu_tanh": functools.partial(F.gelu, approximate="tanh"), "identity": lambda u: u}

NEGATIVE_SCALE = (
    "is_causal with a scale of 0 gives NaN, and with a negative one too: -inf is written into the products before "
    "they are multiplied by the scale (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, 'Apply causal mask', then "
    "_mul_reduce_max_fusion_kernel)"
)
LOG_SUM_EXP = (
    "the weights pass; logsumexp stores x - max, its exponential, their sum and its logarithm in 16 bits each "
    "(aten/src/ATen/native/ReduceOps.cpp, logsumexp_out_impl)"
)
EMPTY_ROW = (
    "a query that sees nothing gives NaN: softmax over a row of -inf (torch/nn/functional.py:7112); the equation "
    "says 0, and so does need_weights=False"
)


def _sdpa(q, k, v, mask, bias, scale, causal):
    """Mask and bias are one argument, which may not stand beside is_causal: the triangle then becomes a part of it."""
    if causal and (mask is not None or bias is not None):
        triangle = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        mask, causal = triangle if mask is None else mask & triangle, False
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    return F.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )


def _flexed(attend, q, k, v, mask, bias, scale, causal):
    """flex_attention, compiled or not: the bias is a score_mod, mask and causal order are a mask_mod."""
    n, s = q.shape[-2], k.shape[-2]

    def visible(b, h, i, j):
        seen = j <= i + (s - n) if causal else j >= 0
        return seen if mask is None else seen & mask[b, h, i, j]

    def biased(score, b, h, i, j):
        return score + bias[b, h, i, j]

    block_mask = (
        create_block_mask(visible, q.shape[0], q.shape[1], n, s, device=q.device)
        if causal or mask is not None
        else None
    )
    score_mod = None if bias is None else biased
    return attend(q, k, v, score_mod=score_mod, block_mask=block_mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


@adapter(
    "attention.scaled_dot_product",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"empty_row": "zero", "hidden_nan": False},
    capabilities="not causal or n == s",
    gradients=WIDE,
    explains=dict.fromkeys(ALL, NEGATIVE_SCALE),
)
def scaled_dot_product_attention(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """torch.nn.functional.scaled_dot_product_attention, the backend its own choice. is_causal is tril(diagonal=0),
    aligned at the top left; _safe_softmax gives 0 where nothing is visible
    (aten/src/ATen/native/transformers/attention.cpp)."""
    return _sdpa(q, k, v, mask, bias, scale, causal)


@adapter(
    "attention.scaled_dot_product",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"empty_row": "zero", "hidden_nan": False},
    capabilities="not causal or n == s",
    gradients=WIDE,
)
def sdpa_math(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """The same with SDPBackend.MATH: _scaled_dot_product_attention_math."""
    with sdpa_kernel(SDPBackend.MATH):
        return _sdpa(q, k, v, mask, bias, scale, causal)


@adapter(
    "attention.scaled_dot_product",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"empty_row": "zero", "hidden_nan": False},
    capabilities="d == m; not causal or n == s",
    gradients=WIDE,
    explains=dict.fromkeys(ALL, NEGATIVE_SCALE),
)
def sdpa_flash(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """The same with SDPBackend.FLASH_ATTENTION, on a CPU _scaled_dot_product_flash_attention_for_cpu. It wants keys as
    wide as values (check_head_dim_size_cpp in sdp_utils_cpp.h)."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return _sdpa(q, k, v, mask, bias, scale, causal)


@adapter(
    "attention.scaled_dot_product",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    capabilities="causal",
    gradients=WIDE,
    explains=dict.fromkeys(ALL, NEGATIVE_SCALE),
)
def sdpa_causal_lower_right(q, k, v, *, scale=None, causal=True):
    """torch.nn.attention.bias.causal_lower_right as attn_mask: the last query sees the last key."""
    mask = causal_lower_right(q.shape[-2], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


@adapter(
    "attention.scaled_dot_product",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"empty_row": "zero", "hidden_nan": False},
)
def flex_attention(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """torch.nn.attention.flex_attention, not compiled; the bias is a score_mod, mask and causal order are a mask_mod.
    It has no backward pass on a CPU."""
    return _flexed(flex, q, k, v, mask, bias, scale, causal)


def _backward(backend, q, k, v, grad_o, mask, bias, scale, causal):
    """Autograd through one backend; the gradient of the bias where there is one."""
    inputs = [x.detach().requires_grad_() for x in ([q, k, v] if bias is None else [q, k, v, bias])]
    with torch.enable_grad(), sdpa_kernel(backend):
        o = _sdpa(*inputs[:3], mask, inputs[3] if bias is not None else None, scale, causal)
        return torch.autograd.grad(o, inputs, grad_o)


@adapter(
    "attention.scaled_dot_product_backward",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"grad_bias": False},
    capabilities="not causal or n == s",
)
def sdpa_math_backward(q, k, v, grad_o, *, mask=None, bias=None, scale=None, causal=False):
    """The backward pass of SDPBackend.MATH."""
    return _backward(SDPBackend.MATH, q, k, v, grad_o, mask, bias, scale, causal)[:3]


@adapter(
    "attention.scaled_dot_product_backward",
    library="torch",
    like="torch",
    layout="bhnd",
    profiles=ALL,
    conventions={"grad_bias": False},
    capabilities="d == m; not causal or n == s",
    explains=dict.fromkeys(ALL, NEGATIVE_SCALE),
)
def sdpa_flash_backward(q, k, v, grad_o, *, mask=None, bias=None, scale=None, causal=False):
    """The backward pass of SDPBackend.FLASH_ATTENTION: _scaled_dot_product_flash_attention_for_cpu_backward. A bias
    that wants its gradient is refused (check_requires_grad in sdp_utils_cpp.h), so it gets none."""
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.autograd.grad(_sdpa(*inputs, mask, bias, scale, causal), inputs, grad_o)


@adapter(
    "attention.softmax",
    library="torch",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"empty_row": "nan"},
    gradients=WIDE,
    explains={"bf16": LOG_SUM_EXP, "f16": LOG_SUM_EXP},
)
def softmax(x, *, mask=None):
    """torch.softmax and torch.logsumexp; a mask is -inf in the logits, and a row of -inf gives NaN."""
    x = x if mask is None else x.masked_fill(~mask, float("-inf"))
    return torch.softmax(x, -1), torch.logsumexp(x, -1)


@adapter(
    "attention.softmax",
    library="torch",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"empty_row": "nan"},
    gradients=WIDE,
    explains={"bf16": LOG_SUM_EXP, "f16": LOG_SUM_EXP},
)
def masked_softmax(x, *, mask=None):
    """torch.masked.softmax and torch.masked.logsumexp, which take the mask: true where visible."""
    return torch.masked.softmax(x, -1, mask=mask), torch.masked.logsumexp(x, -1, mask=mask)


@adapter("attention.layer_norm", library="torch", like="torch", layout="nd", profiles=ALL, gradients=WIDE)
def layer_norm(x, gamma=None, beta=None, *, eps=1e-5):
    """torch.nn.functional.layer_norm."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def _or(value, x, number, width):
    return torch.full((width,), number, dtype=x.dtype) if value is None else value


@adapter("attention.feed_forward", library="torch", like="torch", layout="nd", profiles=ALL, gradients=WIDE)
def feed_forward(x, w_1, w_2, b_1=None, b_2=None, *, activation="relu"):
    """The feed-forward block of torch.nn.TransformerEncoderLayer; weights are stored transposed there."""
    layer = torch.nn.TransformerEncoderLayer(
        x.shape[-1], 1, w_1.shape[-1], 0.0, ACTIVATIONS[activation], dtype=x.dtype
    ).eval()
    hidden = torch.func.functional_call(layer.linear1, {"weight": w_1.mT, "bias": _or(b_1, x, 0, w_1.shape[-1])}, x)
    return torch.func.functional_call(
        layer.linear2, {"weight": w_2.mT, "bias": _or(b_2, x, 0, x.shape[-1])}, layer.activation(hidden)
    )


@adapter("attention.qkv_projection", library="torch", like="torch", layout="nd", profiles=ALL, gradients=WIDE)
def in_projection(x, x_kv, w_q, w_k, w_v):
    """torch.nn.functional.linear, three times, as nn.MultiheadAttention does with separate weights (_in_projection)."""
    return F.linear(x, w_q.mT), F.linear(x_kv, w_k.mT), F.linear(x_kv, w_v.mT)


def _stacked(w):
    """The projections of all heads as one matrix as torch stores it: (head and column, token width)."""
    return w.mT.flatten(0, 1)


def _multi_head(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask, causal, need_weights):
    h, f, _ = w_q.shape
    module = torch.nn.MultiheadAttention(f, h, bias=False, batch_first=True, dtype=x_q.dtype).eval()
    weights = {
        "in_proj_weight": torch.cat([_stacked(w) for w in (w_q, w_k, w_v)]),
        "out_proj.weight": w_o.flatten(0, 1).mT,
    }
    hidden = None if mask is None else ~mask
    if causal:
        later = torch.ones(x_q.shape[0], x_k.shape[0], dtype=torch.bool).triu(1)
        hidden = later if hidden is None else hidden | later
    tokens = (x_q[None], x_k[None], x_v[None])
    return torch.func.functional_call(module, weights, tokens, {"attn_mask": hidden, "need_weights": need_weights})[0][
        0
    ]


MODULE = "f == h * d and m == d and e == f; not causal or n == s"


@adapter(
    "attention.multi_head",
    library="torch",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"hidden_nan": False},
    capabilities=MODULE,
    gradients=WIDE,
)
def multihead_attention(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, *, causal=False):
    """torch.nn.MultiheadAttention with need_weights=False, through scaled_dot_product_attention. Tokens are as wide as
    all heads together; the scale is fixed; attn_mask is true where hidden."""
    return _multi_head(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask, causal, False)


@adapter(
    "attention.multi_head",
    library="torch",
    like="torch",
    layout="nd",
    profiles=ALL,
    capabilities=MODULE,
    gradients=WIDE,
    explains=dict.fromkeys(ALL, EMPTY_ROW),
)
def multihead_attention_weights(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask=None, *, causal=False):
    """torch.nn.MultiheadAttention with need_weights=True, its default: baddbmm and softmax in
    multi_head_attention_forward (torch/nn/functional.py)."""
    return _multi_head(x_q, x_k, x_v, w_q, w_k, w_v, w_o, mask, causal, True)


def _attention_weights(name, w_q, w_k, w_v, w_o, x):
    packed = torch.cat([_stacked(w) for w in (w_q, w_k, w_v)])
    return {
        f"{name}.in_proj_weight": packed,
        f"{name}.in_proj_bias": packed.new_zeros(packed.shape[0]),
        f"{name}.out_proj.weight": w_o.flatten(0, 1).mT,
        f"{name}.out_proj.bias": x.new_zeros(x.shape[-1]),
    }


def _network_weights(w_1, b_1, w_2, b_2, x):
    return {
        "linear1.weight": w_1.mT,
        "linear1.bias": _or(b_1, x, 0, w_1.shape[-1]),
        "linear2.weight": w_2.mT,
        "linear2.bias": _or(b_2, x, 0, x.shape[-1]),
    }


def _norm_weights(name, gamma, beta, x):
    return {f"{name}.weight": _or(gamma, x, 1, x.shape[-1]), f"{name}.bias": _or(beta, x, 0, x.shape[-1])}


def _encoder(case, activation, eps):
    x = case["x"]
    layer = torch.nn.TransformerEncoderLayer(
        x.shape[-1],
        case["w_q"].shape[0],
        case["w_1"].shape[-1],
        0.0,
        ACTIVATIONS[activation],
        eps,
        batch_first=True,
        dtype=x.dtype,
    ).eval()
    weights = {
        **_attention_weights("self_attn", *(case[w] for w in ("w_q", "w_k", "w_v", "w_o")), x),
        **_network_weights(case["w_1"], case.get("b_1"), case["w_2"], case.get("b_2"), x),
        **_norm_weights("norm1", case.get("gamma_1"), case.get("beta_1"), x),
        **_norm_weights("norm2", case.get("gamma_3"), case.get("beta_3"), x),
    }
    return torch.func.functional_call(layer, weights, (x[None],))[0]


LAYER = "f == h * d and m == d; f > 1"  # a norm of one feature is its bias, and shows nothing


@adapter(
    "attention.transformer_layer",
    library="torch",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"kind": "encoder_post_norm", "attention": "softmax"},
    capabilities=LAYER,
    gradients=WIDE,
)
def transformer_encoder_layer(*, activation="relu", eps=1e-5, **case):
    """torch.nn.TransformerEncoderLayer, module by module."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return _encoder(case, activation, eps)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@adapter(
    "attention.transformer_layer",
    library="torch",
    like="torch",
    layout="nd",
    profiles=("f64", "f32", "f16"),
    conventions={"kind": "encoder_post_norm", "attention": "softmax"},
    capabilities=LAYER + "; h % 2 == 0; activation == 'relu'",
)
def transformer_encoder_layer_fast_path(*, activation="relu", eps=1e-5, **case):
    """torch._transformer_encoder_layer_fwd, which torch.nn.TransformerEncoderLayer takes without gradients, for relu
    and an even number of heads."""
    with torch.no_grad():
        return _encoder(case, activation, eps)


@adapter(
    "attention.transformer_layer",
    library="torch",
    like="torch",
    layout="nd",
    profiles=("f64", "f32", "f16"),
    conventions={"kind": "decoder_post_norm", "attention": "softmax"},
    capabilities=LAYER,
    gradients=WIDE,
)
def transformer_decoder_layer(*, activation="relu", eps=1e-5, **case):
    """torch.nn.TransformerDecoderLayer with the causal mask that generate_square_subsequent_mask makes. Too few cases
    of bfloat16 have these widths to judge it."""
    x, memory = case["x"], case["memory"]
    layer = torch.nn.TransformerDecoderLayer(
        x.shape[-1],
        case["w_q"].shape[0],
        case["w_1"].shape[-1],
        0.0,
        ACTIVATIONS[activation],
        eps,
        batch_first=True,
        dtype=x.dtype,
    ).eval()
    weights = {
        **_attention_weights("self_attn", *(case[w] for w in ("w_q", "w_k", "w_v", "w_o")), x),
        **_attention_weights("multihead_attn", *(case[w] for w in ("c_q", "c_k", "c_v", "c_o")), x),
        **_network_weights(case["w_1"], case.get("b_1"), case["w_2"], case.get("b_2"), x),
        **{
            key: value
            for i in (1, 2, 3)
            for key, value in _norm_weights(f"norm{i}", case.get(f"gamma_{i}"), case.get(f"beta_{i}"), x).items()
        },
    }
    mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[0], dtype=x.dtype)
    return torch.func.functional_call(
        layer, weights, (x[None], memory[None]), {"tgt_mask": mask, "tgt_is_causal": True}
    )[0]
