# SPDX-License-Identifier: MIT
"""flash-linear-attention: its naive references, and its Triton kernels, on a GPU where PyTorch finds one and otherwise
in Triton's interpreter.

The kernels are not tuned: the first configuration of each is taken. Triton's interpreter counts loops with plain
integers, and a kernel that writes `i.to(tl.int64)` finds no such method; the loops of the kernels get integers that
have it. The interpreter truncates what it stores as bfloat16 and multiplies bfloat16 as if it were integers, and the
kernels compute in float32 throughout: there they are judged in float32 and binary16, the PyTorch code in everything."""

import functools
import os
import sys

import torch

INTERPRETED = not torch.cuda.is_available()
if INTERPRETED:
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported

from triton.runtime.autotuner import Autotuner

Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]

from fla.modules.activations import ops as activations
from fla.modules.norm import layernorm
from fla.modules.rotary import ops as rotary
from fla.ops.attn.decoding import attn_decoding_one_step as decoding
from fla.ops.attn.naive import naive_parallel_attn as naive_attn
from fla.ops.attn.parallel import parallel_attn as parallel
from fla.ops.linear_attn import chunk_linear_attn as chunk
from fla.ops.linear_attn import fused_chunk_linear_attn as fused_chunk
from fla.ops.linear_attn import fused_recurrent_linear_attn as fused_recurrent
from fla.ops.linear_attn.naive import naive_recurrent_linear_attn as naive_recurrent
from fla.ops.rebased.naive import naive_parallel_rebased as rebased
from fla.ops.utils.softmax import softmax_fwd

from attest._torch import for_every_head
from attest.adapters import adapter as adapter_on

adapter = functools.partial(
    adapter_on, library="flash-linear-attention", like="torch", device=None if INTERPRETED else "cuda"
)


class _Index(int):
    def to(self, dtype):
        return self


for _name, _module in list(sys.modules.items()) if INTERPRETED else ():
    if _name.startswith("fla.ops."):
        _module.range = lambda *bounds: map(_Index, range(*bounds))

ALL = ("f64", "f32", "bf16", "f16")
KERNEL = ("f32", "f16") if INTERPRETED else ("f32", "tf32", "bf16", "f16")
WIDE = ("f64", "f32")
KEY_SUM = (
    "the sum of the keys is stored in the keys' 16 bits, and so is the numerator before it is divided; 1e-10 is 0 "
    "in binary16 (fla/ops/linear_attn/utils.py:22, chunk_global_cumsum(.., output_dtype=k.dtype))"
)
# tl.dot multiplies floats as TF32 on a GPU. The first configuration of more columns takes more shared memory than there
# is.
TF32 = {} if INTERPRETED else {"f32": "float32 is multiplied as TF32 (tl.dot, allow_tf32)"}
NARROW = "" if INTERPRETED else "c <= 128; m <= 128"
SINK = (
    "l - max is stored in 16 bits before its exponential is taken, and the exponentials, their sum and the quotient "
    "as well (fla/ops/attn/naive.py:89)"
)
EPS = "1e-6 is added to every denominator (fla/ops/rebased/naive.py:27); the equation has no eps"


def _rows_first(x, heads):
    """(batch, heads, row, column) as (batch, row, heads, column); heads that share a tensor get a copy each."""
    return for_every_head(heads, x)[0].transpose(1, 2)


def _causal(kernel, phi_q, phi_k, v, S, Z):
    """eps = 1e-10 stands in the source (linear_attn/utils.py, naive.py); scale = 1, so that it is not scaled. The
    states are float32 for 16-bit inputs, and then the kernels' o is float32 too."""
    heads = phi_q.shape[1]
    given = {}
    if S is not None or Z is not None:
        given["initial_state"] = (S, None if Z is None else Z[:, None])
    o, state = kernel(
        *(_rows_first(x, heads) for x in (phi_q, phi_k, v)), scale=1.0, normalize=True, output_final_state=True, **given
    )
    wide = torch.promote_types(v.dtype, torch.float32)
    return o.transpose(1, 2).to(v.dtype), state[0].to(wide), state[1][:, 0].to(wide)


LINEAR = dict(layout="bhnd", conventions={"eps": 1e-10}, gradients=WIDE)

CHUNKED = dict(profiles=KERNEL, capabilities=NARROW, explains={"bf16": KEY_SUM, "f16": KEY_SUM, **TF32})


@adapter(
    "linear.causal",
    **LINEAR,
    profiles=ALL,
    explains={
        "f64": "computes in float32 whatever is given, and float64 states raise an error "
        "(fla/ops/linear_attn/naive.py:29)"
    },
)
def naive_recurrent_linear_attn(phi_q, phi_k, v, S=None, Z=None):
    """fla.ops.linear_attn.naive.naive_recurrent_linear_attn, float32 whatever is given."""
    return _causal(naive_recurrent, phi_q, phi_k, v, S, Z)


@adapter("linear.causal", **LINEAR, profiles=KERNEL, explains={"bf16": KEY_SUM, "f16": KEY_SUM})
def fused_recurrent_linear_attn(phi_q, phi_k, v, S=None, Z=None):
    """fla.ops.linear_attn.fused_recurrent_linear_attn."""
    return _causal(fused_recurrent, phi_q, phi_k, v, S, Z)


@adapter("linear.causal", **LINEAR, **CHUNKED)
def chunk_linear_attn(phi_q, phi_k, v, S=None, Z=None):
    """fla.ops.linear_attn.chunk_linear_attn."""
    return _causal(chunk, phi_q, phi_k, v, S, Z)


@adapter("linear.causal", **LINEAR, **CHUNKED)
def fused_chunk_linear_attn(phi_q, phi_k, v, S=None, Z=None):
    """fla.ops.linear_attn.fused_chunk_linear_attn."""
    return _causal(fused_chunk, phi_q, phi_k, v, S, Z)


def _attend(kernel, q, k, v, **options):
    o = kernel(*(x.transpose(1, 2) for x in (q, k, v)), **options)
    return (o[0] if isinstance(o, tuple) else o).transpose(1, 2)


SOFTMAX = dict(layout="bhnd")


@adapter(
    "attention.scaled_dot_product",
    **SOFTMAX,
    profiles=ALL,
    capabilities="n == s",
    gradients=WIDE,
    explains={"f16": "q . k is stored as binary16 before it is scaled, and overflows (fla/ops/attn/naive.py:61)"},
)
def naive_parallel_attn(q, k, v, *, scale=None, causal=False):
    """fla.ops.attn.naive.naive_parallel_attn; queries and keys are of one sequence."""
    return _attend(naive_attn, q, k, v, scale=scale, causal=causal)


@adapter(
    "attention.scaled_dot_product",
    **SOFTMAX,
    profiles=KERNEL,
    capabilities="n == s; causal",
    gradients=WIDE,
    explains=TF32,
)
def parallel_attn(q, k, v, *, scale=None, causal=True):
    """fla.ops.attn.parallel.parallel_attn, which is always causal."""
    return _attend(parallel, q, k, v, scale=scale)


@adapter("attention.scaled_dot_product", **SOFTMAX, profiles=KERNEL, capabilities="n == 1")
def attn_decoding_one_step(q, k, v, *, scale=None, causal=False):
    """fla.ops.attn.decoding.attn_decoding_one_step: one query, the last of its sequence; sequences of a batch lie one
    after the other."""
    batch, s = k.shape[0], k.shape[2]
    packed = (x.transpose(1, 2).flatten(0, 1)[None] for x in (q, k, v))
    o = decoding(*packed, scale=scale, cu_seqlens=torch.arange(batch + 1) * s)
    return o[0][:, :, None]


@adapter("attention.softmax_one", layout="nd", profiles=ALL, gradients=WIDE, explains={"bf16": SINK, "f16": SINK})
def attention_sink(x):
    """naive_parallel_attn with sink_bias = 0 over keys and values that are the identity: the weights themselves."""
    identity = torch.eye(x.shape[1], dtype=x.dtype)[None, :, None]
    sink = torch.zeros(1, dtype=x.dtype)
    return naive_attn(x[None, :, None], identity, identity, scale=1.0, causal=False, sink_bias=sink)[0][0, :, 0]


@adapter("attention.softmax_one", layout="nd", profiles=KERNEL)
def attn_decoding_one_step_sink(x):
    """attn_decoding_one_step with sink_bias = 0 in the same way: a sequence for each row."""
    r, s = x.shape
    identity = torch.eye(s, dtype=x.dtype).repeat(r, 1)[None, :, None]
    sink = torch.zeros(1, dtype=x.dtype)
    return decoding(
        x[None, :, None], identity, identity, scale=1.0, cu_seqlens=torch.arange(r + 1) * s, sink_bias=sink
    )[0, :, 0]


@adapter(
    "attention.generalized",
    layout="bhnd",
    profiles=("f64", "f32", "bf16"),
    conventions={"sim": "polynomial", "power": 2, "offset": 0.0},
    capabilities="causal; n == s",
    gradients=WIDE,
    explains={"f64": EPS, "f32": EPS, "bf16": EPS},
)
def naive_parallel_rebased(q, k, v, *, causal=True):
    """fla.ops.rebased.naive.naive_parallel_rebased, similarity (q . k)^2. It adds 1e-6 to every denominator, which the
    equation does not have."""
    heads = q.shape[1]
    return rebased(*(_rows_first(x, heads).transpose(1, 2) for x in (q, k, v)), scale=1.0)


@adapter("attention.softmax", layout="nd", profiles=KERNEL, conventions={"lse": False})
def softmax(x):
    """fla.ops.utils.softmax.softmax_fwd."""
    return softmax_fwd(x, dtype=x.dtype)


@adapter("attention.layer_norm", layout="nd", profiles=KERNEL, gradients=WIDE)
def layer_norm(x, gamma=None, beta=None, *, eps=1e-5):
    """fla.modules.norm.layernorm.layer_norm."""
    return layernorm.layer_norm(x, gamma, beta, eps=eps)


@adapter("linear.feature_map", layout="nd", profiles=ALL, conventions={"kind": "elu_plus_one"}, gradients=WIDE)
def elu_p1(x):
    """fla.modules.activations.elu_p1, e^x below 0 and not elu(x) + 1. Its kernel calls libdevice, which the interpreter
    lacks; on a CPU this is the library's PyTorch code."""
    return activations.elu_p1(x)


def _turned(rotate, x, positions, base, pairing):
    """cos and sin come from the module's table; a negative position is the row of the positive one with its sine
    negated."""
    table = rotary.RotaryEmbedding(x.shape[-1], base=base)
    table._update_cos_sin_cache(int(positions.abs().max()) + 1, device=x.device, dtype=x.dtype)
    rows = positions.abs().long()
    cos, sin = table._cos_cached[rows], table._sin_cached[rows] * positions.sign()[:, None].to(x.dtype)
    return rotate(x[None, :, None], cos, sin, interleaved=pairing == "interleaved")[0, :, 0]


@adapter("positional.rotary", layout="nd", profiles=KERNEL, gradients=WIDE)
def rotary_embedding(x, positions, *, base=10000.0, pairing="interleaved"):
    """fla.modules.rotary.rotary_embedding with the table of its RotaryEmbedding."""
    return _turned(rotary.rotary_embedding, x, positions, base, pairing)


@adapter(
    "positional.rotary",
    layout="nd",
    profiles=ALL,
    gradients=WIDE,
    explains={"f64": "frequencies, angles and their sines are float32 (fla/modules/rotary/ops.py, RotaryEmbedding)"},
)
def rotary_embedding_ref(x, positions, *, base=10000.0, pairing="interleaved"):
    """fla.modules.rotary.ops.rotary_embedding_ref with the same table."""
    return _turned(rotary.rotary_embedding_ref, x, positions, base, pairing)
