# SPDX-License-Identifier: MIT
"""PyTorch's attention kernels for a GPU, each by name: where PyTorch finds none, these are absent."""

import functools

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

from attest.adapters import adapter as adapter_on
from attest.adapters.torch import _flexed, _sdpa

if not torch.cuda.is_available():
    raise ImportError("PyTorch finds no GPU")

adapter = functools.partial(
    adapter_on, "attention.scaled_dot_product", library="torch", like="torch", device="cuda", layout="bhnd"
)
HALF = ("bf16", "f16")
SCALE = "a scale of 0 or below gives NaN"
# No mask and no bias; PyTorch pads widths that are no multiple of 8.
FLASH = dict(
    profiles=HALF, capabilities="d == m; not causal or n == s", gradients=HALF, explains={"bf16": SCALE, "f16": SCALE}
)
MASKED = dict(conventions={"empty_row": "zero", "hidden_nan": False}, gradients=("f32", *HALF))
compiled = torch.compile(flex_attention, dynamic=True)


def _by(backend, q, k, v, mask, bias, scale, causal):
    with sdpa_kernel(backend):
        return _sdpa(q, k, v, mask, bias, scale, causal)


@adapter(**FLASH)
def cuda_flash(q, k, v, *, scale=None, causal=False):
    """SDPBackend.FLASH_ATTENTION: FlashAttention 2 in aten/src/ATen/native/transformers/cuda/flash_attn."""
    return _by(SDPBackend.FLASH_ATTENTION, q, k, v, None, None, scale, causal)


@adapter(**{**FLASH, "capabilities": "d == m; d % 8 == 0; s > 1; not causal or n == s"})
def cuda_cudnn(q, k, v, *, scale=None, causal=False):
    """SDPBackend.CUDNN_ATTENTION, which takes no single key."""
    return _by(SDPBackend.CUDNN_ATTENTION, q, k, v, None, None, scale, causal)


@adapter(
    profiles=("f32", *HALF),
    capabilities="d % 8 == 0; m % 8 == 0; heads == groups; not causal or n == s; deterministic == false",
    **MASKED,
)
def cuda_efficient(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """SDPBackend.EFFICIENT_ATTENTION: the kernels of xFormers. Heads that share keys are refused, and rows that
    are no multiple of 16 bytes; the backward pass adds atomically."""
    return _by(SDPBackend.EFFICIENT_ATTENTION, q, k, v, mask, bias, scale, causal)


@adapter(profiles=("f32", *HALF), shapes=4, **MASKED)
def cuda_flex_compiled(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """torch.nn.attention.flex_attention by torch.compile."""
    return _flexed(compiled, q, k, v, mask, bias, scale, causal)
