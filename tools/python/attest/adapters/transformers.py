# SPDX-License-Identifier: MIT
"""Hugging Face transformers: the attention functions that most models share, rotary embeddings, ALiBi, sinusoids, and
attention modules that are full attention in the case judged. A module's projections give the case's tensors, whatever
they are asked for."""

import types

import torch
from transformers import (
    BigBirdConfig,
    BloomConfig,
    CohereConfig,
    GPT2Config,
    LlamaConfig,
    LongformerConfig,
    MptConfig,
    ReformerConfig,
    T5Config,
)
from transformers.cache_utils import DynamicCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward as sdpa
from transformers.masking_utils import bidirectional_mask_function, causal_mask_function, sdpa_mask
from transformers.models.big_bird.modeling_big_bird import (
    BigBirdBlockSparseAttention,
    BigBirdModel,
    BigBirdSelfAttention,
)
from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.ctrl.modeling_ctrl import positional_encoding
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as sink_attention
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.mpt.modeling_mpt import MptAttention, build_mpt_alibi_tensor
from transformers.models.reformer.modeling_reformer import LocalSelfAttention
from transformers.models.roformer import modeling_roformer as roformer
from transformers.models.t5.modeling_t5 import T5Attention

from attest._torch import Given, for_every_head
from attest.adapters import adapter

ALL = ("f64", "f32", "bf16", "f16")
WIDE = ("f64", "f32")
HIDDEN_GRADIENT = (
    "values pass; a query that sees nothing gets the mean of all values, and its gradient flows to q and k as if it "
    "saw all: l + min is min, and softmax does not know (%s)"
)
TABLE = "the table is float32 (%s)"
NO_LISTS = (
    "in evaluation mode every random block is block 0 (_bigbird_block_rand_mask_with_head, "
    "models/big_bird/modeling_big_bird.py:911): the lists are not read, and a key of that block, which is global, "
    "counts once more for each random block"
)
ROUNDED_TABLE = "the table is rounded to 16 bits before it is added (%s)"


def _table(where):
    return {"f64": TABLE % where, "bf16": ROUNDED_TABLE % where, "f16": ROUNDED_TABLE % where}


def _angles(where):
    return {"f64": f"frequencies, angles and their sines are float32 ({where})"}


def _joined(x, heads):
    """(batch, heads, row, column) as (batch, row, heads side by side); heads that share a tensor get a copy each."""
    return for_every_head(heads, x)[0].transpose(1, 2).flatten(2)


def _split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _visible(q, k, mask, causal):
    """transformers.masking_utils.sdpa_mask: the last query stands at the last key."""
    n, s = q.shape[-2], k.shape[-2]
    pattern = causal_mask_function if causal else bidirectional_mask_function
    seen = sdpa_mask(1, n, s, q_offset=s - n, mask_function=pattern, allow_is_causal_skip=False)
    return seen if mask is None else seen & mask


def _additive(visible, dtype):
    """The mask as eager_mask makes it: the smallest finite number where hidden, so that a row that sees nothing is the
    mean of all values."""
    return torch.where(visible, torch.zeros((), dtype=dtype), torch.finfo(dtype).min)


ATTENTION = dict(library="transformers", like="torch", layout="bhnd", profiles=ALL, gradients=WIDE)


@adapter(
    "attention.scaled_dot_product",
    **ATTENTION,
    conventions={"empty_row": "mean"},
    explains={
        "f64": "softmax in float32, in which the smallest float64 of the mask is -inf: a query that sees nothing "
        "gives NaN "
        "(models/llama/modeling_llama.py:197)",
        "f32": HIDDEN_GRADIENT % "models/llama/modeling_llama.py:195",
        "f16": "q . k is stored as binary16 before it is scaled, and overflows (models/llama/modeling_llama.py:193)",
    },
)
def eager_attention_forward(q, k, v, *, mask=None, scale=None, causal=False):
    """eager_attention_forward of Llama, copied into most models; softmax in float32."""
    module = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False)
    hidden = _additive(_visible(q, k, mask, causal), q.dtype) if causal or mask is not None else None
    return llama.eager_attention_forward(module, q, k, v, hidden, q.shape[-1] ** -0.5 if scale is None else scale)[
        0
    ].transpose(1, 2)


@adapter("attention.scaled_dot_product", **ATTENTION, conventions={"empty_row": "zero", "hidden_nan": False})
def sdpa_attention_forward(q, k, v, *, mask=None, scale=None, causal=False):
    """integrations.sdpa_attention.sdpa_attention_forward with the mask of masking_utils. is_causal is left to it where
    n == s, as masking_utils does (_ignore_causal_mask_sdpa)."""
    module = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], is_causal=causal)
    skip = mask is None and (not causal or q.shape[-2] == k.shape[-2])
    return sdpa(module, q, k, v, None if skip else _visible(q, k, mask, causal), scaling=scale)[0].transpose(1, 2)


@adapter(
    "attention.softmax_one",
    library="transformers",
    like="torch",
    layout="nd",
    profiles=ALL,
    conventions={"hidden_nan": False},
    gradients=WIDE,
    explains=dict.fromkeys(
        ("bf16", "f16"),
        "l - max is stored in 16 bits before its exponential is taken (models/gpt_oss/modeling_gpt_oss.py:249)",
    ),
)
def gpt_oss_attention_sink(x, mask=None):
    """eager_attention_forward of GPT-OSS with sinks = 0 over keys and values that are the identity: the weights
    themselves."""
    module = types.SimpleNamespace(num_key_value_groups=1, sinks=torch.zeros(1, dtype=x.dtype), training=False)
    identity = torch.eye(x.shape[1], dtype=x.dtype)[None, None]
    hidden = None if mask is None else _additive(mask, x.dtype)[None, None]
    return sink_attention(module, x[None, None], identity, identity, hidden, 1.0)[0][0, :, 0]


@adapter(
    "attention.scaled_dot_product",
    **ATTENTION,
    conventions={"empty_row": "mean"},
    capabilities="n == s; d == m",
    explains=dict.fromkeys(WIDE, HIDDEN_GRADIENT % "models/big_bird/modeling_big_bird.py:192"),
)
def big_bird_original_full(q, k, v, *, mask=None, causal=False):
    """BigBirdSelfAttention, what attention_type = "original_full" runs; softmax in the given precision."""
    heads = q.shape[1]
    module = BigBirdSelfAttention(BigBirdConfig(hidden_size=heads * q.shape[-1], num_attention_heads=heads)).eval()
    module.query, module.key, module.value = (Given(_joined(x, heads)) for x in (q, k, v))
    hidden = _additive(_visible(q, k, mask, causal), q.dtype) if causal or mask is not None else None
    return _split(module(module.query(None), hidden)[0], heads)


@adapter(
    "attention.scaled_dot_product",
    **{**ATTENTION, "profiles": WIDE},
    capabilities="n == s; d == m; not causal",
    explains={"f64": "softmax in float32 (models/longformer/modeling_longformer.py:575)"},
)
def longformer(q, k, v, *, causal=False):
    """LongformerSelfAttention with a window that reaches every token from every other, tokens padded to a multiple of
    the window and the padding masked, as LongformerModel does. A window of 2 raises an error: a slice from 1 - 1 is not
    empty (_sliding_chunks_query_key_matmul, models/longformer/modeling_longformer.py:794). Too few cases of 16 bits fit
    to judge it."""
    batch, heads, n, d = q.shape
    window = max(2 * n, 4)
    config = LongformerConfig(
        hidden_size=heads * d, num_attention_heads=heads, attention_window=[window], attention_probs_dropout_prob=0.0
    )
    module = LongformerSelfAttention(config, 0).eval()
    padded = [torch.nn.functional.pad(_joined(x, heads), (0, 0, 0, window - n)) for x in (q, k, v)]
    module.query, module.key, module.value = (Given(x.transpose(0, 1).clone()) for x in padded)
    padding = (torch.arange(window) >= n).expand(batch, -1)
    o = module(padded[0], torch.where(padding, -10000.0, 0.0), padding, torch.zeros_like(padding), False)[0]
    return _split(o[:, :n], heads)


@adapter(
    "sparse.longformer",
    **{**ATTENTION, "profiles": ALL},
    capabilities="n % (2 * radius) == 0; radius > 1; d == m; dilation == 1; not causal; symmetric; "
    "heads == 1 or not globals",
    explains={"f64": "softmax in float32 (models/longformer/modeling_longformer.py:575)"},
)
def longformer_window(q, k, v, globals=None, q_g=None, k_g=None, v_g=None, *, radius=2):
    """LongformerSelfAttention as LongformerModel calls it: a length that the window divides, global tokens in the mask,
    which all heads share, projections of their own for them."""
    batch, heads, n, d = q.shape
    config = LongformerConfig(
        hidden_size=heads * d,
        num_attention_heads=heads,
        attention_window=[2 * radius],
        attention_probs_dropout_prob=0.0,
    )
    module = LongformerSelfAttention(config, 0).eval()
    tokens = [_joined(x, heads).transpose(0, 1).clone() for x in (q, k, v)]
    apart = [x if y is None else _joined(y, heads).transpose(0, 1).clone() for x, y in zip(tokens, (q_g, k_g, v_g))]
    module.query, module.key, module.value = map(Given, tokens)
    module.key_global, module.value_global = map(Given, apart[1:])
    seen = torch.zeros(batch, n, dtype=torch.bool) if globals is None else globals.reshape(-1, n).expand(batch, n)
    first = seen.nonzero()
    rank = seen.cumsum(1)[seen] - 1
    rows = apart[0].new_zeros(int(seen.sum(1).max()), batch, heads * d)
    rows[rank, first[:, 0]] = apart[0][first[:, 1], first[:, 0]]
    module.query_global = Given(rows)
    o = module(tokens[0].transpose(0, 1), torch.where(seen, 10000.0, 0.0), ~seen & seen, seen, bool(seen.any()))[0]
    return _split(o, heads)


@adapter(
    "sparse.big_bird",
    **{**ATTENTION, "profiles": ALL},
    capabilities="n % block == 0; n >= (2 * c + 5) * block; d == m; radius == 1; first_global == 1; last_global == 1",
    explains=dict.fromkeys(ALL, NO_LISTS),
)
def big_bird_evaluation(q, k, v, random, *, block=2):
    """BigBirdBlockSparseAttention in evaluation mode, with as many random blocks as the lists have places."""
    batch, heads, n, d = q.shape
    config = BigBirdConfig(
        hidden_size=heads * d,
        num_attention_heads=heads,
        block_size=block,
        num_random_blocks=random.shape[-1],
        max_position_embeddings=n,
    )
    module = BigBirdBlockSparseAttention(config).eval()
    module.query, module.key, module.value = (Given(_joined(x, heads)) for x in (q, k, v))
    blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(q.new_ones(batch, n), block)
    return _split(module(module.query(None), band, rows, columns, blocked, blocked)[0], heads)


@adapter(
    "attention.scaled_dot_product",
    **ATTENTION,
    capabilities="n == s; d == m",
    explains={
        "bf16": "every case passes; exp(l - logsumexp(l)) with the logsumexp stored in 16 bits gives weights that "
        "do not "
        "sum to 1 (modeling_reformer.py, LocalSelfAttention.forward), which the law constant_value sees"
    },
)
def reformer_local(q, k, v, *, causal=False):
    """Reformer's LocalSelfAttention with one chunk for all tokens; the softmax is exp(l - logsumexp(l)), a hidden logit
    -1e9, or -1e4 in binary16."""
    heads, n, d = q.shape[1:]
    config = ReformerConfig(
        hidden_size=heads * d,
        num_attention_heads=heads,
        attention_head_size=d,
        local_attn_chunk_length=n,
        is_decoder=causal,
        local_attention_probs_dropout_prob=0.0,
    )
    module = LocalSelfAttention(config, 0).eval()
    module.query, module.key, module.value = (Given(_joined(x, heads)) for x in (q, k, v))
    return _split(module(module.query(None)).hidden_states, heads)


@adapter(
    "attention.scaled_dot_product", **ATTENTION, conventions={"scale": 1.0}, capabilities="d == m; n == s or not causal"
)
def t5(q, k, v, *, bias=None, causal=False):
    """T5Attention: products are not scaled, the bias is position_bias. The output projection is the identity."""
    heads, n, d = q.shape[1:]
    config = T5Config(d_model=heads * d, d_kv=d, num_heads=heads, dropout_rate=0.0)
    module = T5Attention(config, layer_idx=0).eval()
    module.q, module.k, module.v = (Given(_joined(x, heads)) for x in (q, k, v))
    module.o = torch.nn.Identity()
    hidden = _additive(_visible(q, k, None, True), q.dtype) if causal else None
    return _split(module(module.q(None), hidden, key_value_states=module.k(None), position_bias=bias)[0], heads)


def _earlier(k, v, n):
    """A cache of the keys and values that lie before the last n."""
    past = k.shape[1] - n
    if past == 0:
        return None
    cache = DynamicCache()
    cache.update(k[None, :, :past], v[None, :, :past], 0)
    return cache


ALIBI = dict(library="transformers", like="torch", layout="nd", profiles=ALL, gradients=WIDE)


@adapter(
    "positional.alibi",
    **ALIBI,
    conventions={"symmetric": False, "query_offset": 0},
    capabilities="d == m; n <= s",
    explains={"f64": "softmax in float32 (models/bloom/modeling_bloom.py:283)"},
)
def bloom(q, k, v):
    """BloomAttention with build_alibi_tensor: slope times key index, which is the same softmax. Keys before the queries
    come from the cache."""
    heads, n, d = q.shape
    s = k.shape[1]
    module = BloomAttention(
        BloomConfig(hidden_size=heads * d, n_head=heads, attention_dropout=0.0, hidden_dropout=0.0), layer_idx=0
    ).eval()
    fused = torch.stack([q, k[:, s - n :], v[:, s - n :]], -2)  # heads, tokens, three, width
    module.query_key_value = Given(fused.transpose(0, 1).flatten(1)[None])
    module.dense = torch.nn.Identity()
    alibi = build_alibi_tensor(torch.ones(1, s, dtype=torch.long), heads, q.dtype)
    tokens = q.new_zeros(1, n, heads * d)
    hidden = _additive(_visible(q, k, None, True), q.dtype)
    return _split(module(tokens, tokens, alibi, hidden, layer_past=_earlier(k, v, n))[0], heads)[0]


@adapter(
    "positional.alibi",
    **ALIBI,
    conventions={"symmetric": False, "query_offset": 0},
    capabilities="d == m; n <= s",
    explains={"f64": "softmax in float32 (models/mpt/modeling_mpt.py:127)"},
)
def mpt(q, k, v, *, scale=None):
    """MptAttention with build_mpt_alibi_tensor; keys before the queries come from the cache."""
    heads, n, d = q.shape
    s = k.shape[1]
    config = MptConfig(d_model=heads * d, n_heads=heads, max_seq_len=s)
    config.attn_config.softmax_scale = scale
    module = MptAttention(config, layer_idx=0).eval()
    module.Wqkv = Given(torch.cat([_joined(x[None], heads) for x in (q, k[:, s - n :], v[:, s - n :])], -1))
    module.out_proj = torch.nn.Identity()
    alibi = build_mpt_alibi_tensor(heads, s).to(q.dtype)
    tokens = q.new_zeros(1, n, heads * d)
    return _split(module(tokens, alibi, _earlier(k, v, n), ~_visible(q, k, None, True))[0], heads)[0]


ROTARY = dict(library="transformers", like="torch", layout="nd", profiles=ALL, gradients=WIDE)


def _rope(config, x, base):
    return config(
        hidden_size=x.shape[-1],
        num_attention_heads=1,
        head_dim=x.shape[-1],
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )


@adapter(
    "positional.rotary",
    **ROTARY,
    conventions={"pairing": "half"},
    explains=_angles("models/llama/modeling_llama.py:111"),
)
def llama_rotary(x, positions, *, base=10000.0):
    """LlamaRotaryEmbedding and apply_rotary_pos_emb, copied into most models; angles are float32."""
    cos, sin = llama.LlamaRotaryEmbedding(_rope(LlamaConfig, x, base))(x, positions[None])
    return llama.apply_rotary_pos_emb(x[None, None], x[None, None], cos, sin)[0][0, 0]


@adapter(
    "positional.rotary",
    **ROTARY,
    conventions={"pairing": "interleaved"},
    explains=_angles("models/cohere/modeling_cohere.py:106"),
)
def cohere_rotary(x, positions, *, base=10000.0):
    """CohereRotaryEmbedding and its apply_rotary_pos_emb, float32 throughout."""
    cos, sin = cohere.CohereRotaryEmbedding(_rope(CohereConfig, x, base))(x, positions[None])
    return cohere.apply_rotary_pos_emb(x[None, None], x[None, None], cos, sin)[0][0, 0]


@adapter(
    "positional.rotary",
    **ROTARY,
    conventions={"pairing": "interleaved"},
    explains=_angles("models/llama4/modeling_llama4.py:218"),
)
def llama4_rotary(x, positions, *, base=10000.0):
    """Llama4TextRotaryEmbedding and its apply_rotary_emb: complex numbers, float32 throughout."""
    config = llama4.Llama4TextConfig(
        hidden_size=x.shape[-1],
        num_attention_heads=1,
        head_dim=x.shape[-1],
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    turns = llama4.Llama4TextRotaryEmbedding(config)(x, positions[None])
    return llama4.apply_rotary_emb(x[None, :, None], x[None, :, None], turns)[0][0, :, 0]


def _table_rows(table, positions, half):
    """Sines and cosines of a table of positions from 0; a negative position is the row of the positive one with its
    sines negated."""
    rows = table[positions.abs().long()]
    return rows[:, :half] * positions.sign()[:, None].to(rows.dtype), rows[:, half:]


@adapter(
    "positional.rotary",
    **ROTARY,
    conventions={"pairing": "interleaved", "base": 10000.0},
    explains=_angles("models/gptj/modeling_gptj.py:50"),
)
def gptj_rotary(x, positions):
    """create_sinusoidal_positions and apply_rotary_pos_emb of GPT-J; the table is float32."""
    table = gptj.create_sinusoidal_positions(int(positions.abs().max()) + 1, x.shape[-1]).to(x.dtype)
    sin, cos = _table_rows(table, positions, x.shape[-1] // 2)
    return gptj.apply_rotary_pos_emb(x[None, :, None], sin[None], cos[None])[0, :, 0]


@adapter(
    "positional.rotary",
    **ROTARY,
    conventions={"pairing": "interleaved", "base": 10000.0},
    explains=_angles("models/gptj/modeling_gptj.py:50"),
)
def roformer_rotary(x, positions):
    """apply_rotary_position_embeddings of RoFormer with the cosines and sines of GPT-J's table: its own is a Python
    loop over positions."""
    table = gptj.create_sinusoidal_positions(int(positions.abs().max()) + 1, x.shape[-1]).to(x.dtype)
    both = torch.cat(_table_rows(table, positions, x.shape[-1] // 2), -1)[None, None]
    return roformer.RoFormerSelfAttention.apply_rotary_position_embeddings(both, x[None, None], x[None, None])[0][0, 0]


SINUSOID = dict(library="transformers", like="torch", layout="nd", profiles=ALL)


@adapter(
    "positional.sinusoidal",
    **SINUSOID,
    conventions={"base": 10000.0, "layout": "half", "timescale": "paper"},
    capabilities="start >= 0; start <= 5000",
    explains=_table("models/marian/modeling_marian.py:89"),
)
def marian_sinusoidal(x, *, start=0):
    """MarianSinusoidalPositionalEmbedding; the same table is in Informer, FSMT, RoFormer ... It is built by a Python
    loop."""
    module = MarianSinusoidalPositionalEmbedding(start + x.shape[0], x.shape[-1])
    module.weight.data = module.create_weight()
    return x + module((1, x.shape[0]), start).to(x.dtype)


@adapter(
    "positional.sinusoidal",
    **SINUSOID,
    conventions={"base": 10000.0, "layout": "interleaved", "timescale": "paper"},
    capabilities="start >= 0; start <= 5000",
    explains=_table("models/distilbert/modeling_distilbert.py:75"),
)
def distilbert_sinusoidal(x, *, start=0):
    """create_sinusoidal_embeddings of DistilBERT and XLM."""
    table = torch.empty(start + x.shape[0], x.shape[-1])
    create_sinusoidal_embeddings(len(table), x.shape[-1], table)
    return x + table[start:].to(x.dtype)


@adapter(
    "positional.sinusoidal",
    **SINUSOID,
    conventions={"base": 10000.0, "layout": "half", "timescale": "paper"},
    capabilities="start >= 0",
    explains=_table("models/ctrl/modeling_ctrl.py:317"),
)
def ctrl_sinusoidal(x, *, start=0):
    """positional_encoding of CTRL, float32 as CTRLModel asks for it."""
    return x + positional_encoding(start + x.shape[0], x.shape[-1], torch.float32)[start:].to(x.dtype)


@adapter(
    "positional.sinusoidal",
    **SINUSOID,
    conventions={"base": 10000.0, "layout": "half", "timescale": "endpoint"},
    capabilities="start >= 0; d > 2",
    explains=_table("models/m2m_100/modeling_m2m_100.py:118"),
)
def m2m_100_sinusoidal(x, *, start=0):
    """M2M100SinusoidalPositionalEmbedding, tensor2tensor's time scale; Speech2Text, XGLM and others have it too. d == 2
    divides by zero (get_embedding)."""
    table = M2M100SinusoidalPositionalEmbedding.get_embedding(start + x.shape[0], x.shape[-1])
    return x + table[start:].to(x.dtype)


@adapter("attention.feed_forward", library="transformers", like="torch", layout="nd", profiles=ALL, gradients=WIDE)
def gpt2_mlp(x, w_1, w_2, b_1=None, b_2=None, *, activation="relu"):
    """GPT2MLP, whose weights are stored [input, output]; gelu_tanh is NewGELUActivation."""
    names = {"relu": "relu", "gelu_tanh": "gelu_new", "identity": "linear"}
    config = GPT2Config(n_embd=x.shape[-1], n_head=1, activation_function=names[activation], resid_pdrop=0.0)
    module = GPT2MLP(w_1.shape[-1], config).eval().to(x.dtype)
    weights = {
        "c_fc.weight": w_1,
        "c_fc.bias": x.new_zeros(w_1.shape[-1]) if b_1 is None else b_1,
        "c_proj.weight": w_2,
        "c_proj.bias": x.new_zeros(x.shape[-1]) if b_2 is None else b_2,
    }
    return torch.func.functional_call(module, weights, (x,))


@adapter(
    "attention.layer_norm",
    library="transformers",
    like="torch",
    layout="nd",
    profiles=ALL,
    gradients=WIDE,
    explains={"f64": "float32 throughout (models/cohere/modeling_cohere.py:59)"},
)
def cohere_layer_norm(x, gamma=None, *, eps=1e-5):
    """CohereLayerNorm: float32 throughout, no bias."""
    module = cohere.CohereLayerNorm(x.shape[-1], eps)
    return torch.func.functional_call(module, {"weight": x.new_ones(x.shape[-1]) if gamma is None else gamma}, (x,))
