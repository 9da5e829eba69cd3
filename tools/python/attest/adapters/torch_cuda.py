# SPDX-License-Identifier: MIT
"""PyTorch's attention kernels for a GPU, each by name: where PyTorch finds none, these are absent."""

import functools

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attest.adapters import adapter as adapter_on

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


def _by(backend, q, k, v, mask=None, **options):
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=q.shape[1] != k.shape[1], **options)


@adapter(**FLASH)
def cuda_flash(q, k, v, *, scale=None, causal=False):
    """SDPBackend.FLASH_ATTENTION: FlashAttention 2 in aten/src/ATen/native/transformers/cuda/flash_attn."""
    return _by(SDPBackend.FLASH_ATTENTION, q, k, v, scale=scale, is_causal=causal)


@adapter(**{**FLASH, "capabilities": "d == m; d % 8 == 0; s > 1; not causal or n == s"})
def cuda_cudnn(q, k, v, *, scale=None, causal=False):
    """SDPBackend.CUDNN_ATTENTION, which takes no single key."""
    return _by(SDPBackend.CUDNN_ATTENTION, q, k, v, scale=scale, is_causal=causal)


@adapter(
    profiles=("f32", *HALF),
    capabilities="d % 8 == 0; m % 8 == 0; heads == groups; not causal or n == s; deterministic == false",
    **MASKED,
)
def cuda_efficient(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """SDPBackend.EFFICIENT_ATTENTION: the kernels of xFormers. Heads that share keys are refused, and rows that
    are no multiple of 16 bytes; the backward pass adds atomically."""
    if causal and (mask is not None or bias is not None):
        triangle = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        mask, causal = triangle if mask is None else mask & triangle, False
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    return _by(SDPBackend.EFFICIENT_ATTENTION, q, k, v, mask, scale=scale, is_causal=causal)


@adapter(profiles=("f32", *HALF), shapes=4, **MASKED)
def cuda_flex_compiled(q, k, v, *, mask=None, bias=None, scale=None, causal=False):
    """torch.nn.attention.flex_attention by torch.compile; the bias is a score_mod, mask and causal order a mask_mod."""
    n, s = q.shape[-2], k.shape[-2]

    def visible(b, h, i, j):
        seen = j <= i + (s - n) if causal else j >= 0
        return seen if mask is None else seen & mask[b, h, i, j]

    def biased(score, b, h, i, j):
        return score + bias[b, h, i, j]

    seen = (
        create_block_mask(visible, q.shape[0], q.shape[1], n, s, device=q.device)
        if causal or mask is not None
        else None
    )
    score_mod = None if bias is None else biased
    return compiled(q, k, v, score_mod=score_mod, block_mask=seen, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
