# SPDX-License-Identifier: MIT
"""infini-transformer-pytorch. Denominators are clamped at 1e-10 and not increased (retrieve_from_kv_memories), so an
empty memory answers 0. The gate is the local branch's share where the paper's eq. 6 has the memory's: beta is given
with its sign changed."""

import torch
from infini_transformer_pytorch.infini_transformer import CausalAttention, FastweightMemory, Memories

from attest._torch import Given
from attest.adapters import adapter

WIDE = ("f64", "f32")
NARROW = ("bf16", "f16")
CANCELS = "phi is F.elu(x) + 1, which is 0 for x far below 0 where e^x is not (infini_transformer.py:%d)"
STATES = (
    "memory and the sum of the keys are stored in 16 bits, where they are sums that grow (infini_transformer.py:130)"
)
ELU = {"feature_map": "elu_plus_one"}
OPTIONS = dict(
    library="infini-transformer-pytorch", like="torch", profiles=("f64", "f32", "bf16", "f16"), gradients=WIDE
)
NEVER_ZERO = {**ELU, "zero_denominator": "zero", "eps": 0.0}


def _past(memory, z, k, v):
    """Fills in zeros for a state that is not given; None where none is."""
    if memory is None and z is None:
        return None
    batch, heads, d, m = *k.shape[:2], k.shape[-1], v.shape[-1]
    return Memories(
        k.new_zeros(batch, heads, d, m) if memory is None else memory, k.new_zeros(batch, heads, d) if z is None else z
    )


def _wide(x, like):
    """States are float32 for 16-bit inputs."""
    return x.to(torch.promote_types(like.dtype, torch.float32))


def _gated(module, beta):
    del module.head_gates
    module.head_gates = beta
    return module


@adapter(
    "infini.memory_retrieve",
    **OPTIONS,
    layout="bhnd",
    conventions=NEVER_ZERO,
    explains={
        **dict.fromkeys(WIDE, CANCELS % 154),
        **dict.fromkeys(NARROW, CANCELS % 154 + "; 1e-10 is 0 in binary16, and 0 / 0 NaN (:85)"),
    },
)
def memory_retrieve(q, memory, z):
    """FastweightMemory.retrieve_and_add_to_output with the local branch's share at 0."""
    module = _gated(FastweightMemory(q.shape[1]), torch.full((q.shape[1],), -torch.inf, dtype=q.dtype))
    out = q.new_zeros(*q.shape[:-1], memory.shape[-1])
    return module.retrieve_and_add_to_output(out, q, Memories(memory.to(q.dtype), z.to(q.dtype)))


@adapter(
    "infini.memory_update_linear",
    **OPTIONS,
    layout="bhnd",
    conventions=ELU,
    explains={**dict.fromkeys(WIDE, CANCELS % 108), **dict.fromkeys(NARROW, STATES)},
)
def memory_update_linear(k, v, memory=None, z=None):
    """FastweightMemory.create_new_memories."""
    new = FastweightMemory(k.shape[1]).create_new_memories(k, v, _past(memory, z, k, v))
    return _wide(new.kv_mem, k), _wide(new.k_norm, k)


@adapter(
    "infini.memory_update_delta",
    **OPTIONS,
    layout="bhnd",
    conventions=NEVER_ZERO,
    explains=dict.fromkeys(NARROW, STATES),
)
def memory_update_delta(k, v, memory=None, z=None):
    """FastweightMemory.create_new_memories with the delta rule; in 16 bits it wants memories of the keys' dtype."""
    past = _past(memory, z, k, v)
    past = None if past is None else Memories(*(x.to(k.dtype) for x in past))
    new = FastweightMemory(k.shape[1], use_mem_delta_rule=True).create_new_memories(k, v, past)
    return _wide(new.kv_mem, k), _wide(new.k_norm, k)


@adapter(
    "infini.segment_attention",
    **OPTIONS,
    layout="nd",
    conventions={**ELU, "zero_denominator": "zero", "position": "rotary"},
    capabilities="d == m; d > 2",
    explains={
        "f64": "the angles of rotary-embedding-torch are float32",
        "bf16": STATES,
        "f16": "an empty memory answers 0 / 0: 1e-10 is 0 in binary16 (infini_transformer.py:85); " + STATES,
    },
)
def causal_attention(q, k, v, beta, memory=None, z=None, *, segment=None, update="linear"):
    """CausalAttention, segment after segment, its norm and projections taken out. Without memories it does not gate at
    all: the first segment is given memories of 0. A width of 2 divides by zero in rotary-embedding-torch."""
    n, d = q.shape
    segment = n if segment is None else segment
    module = CausalAttention(d, dim_head=d, heads=1, use_mem_delta_rule=update == "delta").eval()
    module.norm, module.to_out = torch.nn.Identity(), torch.nn.Identity()
    _gated(module.fastweight_mem, -beta[None])
    past = Memories(
        q.new_zeros(1, 1, d, d) if memory is None else memory.to(q.dtype)[None, None],
        q.new_zeros(1, 1, d) if z is None else z.to(q.dtype)[None, None],
    )
    parts = []
    for start in range(0, n, segment):
        rows = slice(start, start + segment)
        module.to_qkv = Given(torch.cat([x[rows] for x in (q, k, v)], -1)[None])
        o, _, past = module(q[None, rows], past_memories=past, return_new_memories=True)
        parts.append(o[0])
    return torch.cat(parts), _wide(past.kv_mem[0, 0], q), _wide(past.k_norm[0, 0], q)
