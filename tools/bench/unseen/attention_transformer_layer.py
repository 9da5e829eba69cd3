# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


def scale_of(scale, d, dtype=np.float32):
    return dtype(1.0 / np.sqrt(d) if scale is None else scale)


def turn(x):
    return np.swapaxes(x, -1, -2)


def weighted(p, v):
    """p @ v where a weight of 0 does not read its row."""
    ok = np.isfinite(v).all(-1)
    if ok.all():
        return p @ v
    out = p @ np.where(ok[..., None], v, 0).astype(v.dtype)
    for j in np.flatnonzero(~ok.reshape(-1, ok.shape[-1]).all(0)):
        w = p[..., j, None]
        row = np.where(ok[..., j, None], 0, v[..., j, :]).astype(v.dtype)
        out = out + np.where(w != 0, w * row[..., None, :], 0).astype(out.dtype)
    return out


EQUATION = "attention.transformer_layer"


def softmax_attention(q, k, v, causal):
    d = q.shape[-1]
    x = (q @ turn(k)) * scale_of(None, d, q.dtype.type)
    if causal:
        x = np.where(np.tril(np.ones(x.shape[-2:], bool)), x, -np.inf).astype(x.dtype)
    p = np.exp(x - x.max(-1, keepdims=True))
    return (p @ v) / p.sum(-1, keepdims=True)


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)


def linear_attention(q, k, v, causal):
    q, k = phi(q), phi(k)
    if causal:
        w = np.where(np.tril(np.ones((q.shape[-2], k.shape[-2]), bool)), q @ turn(k), 0).astype(q.dtype)
        return (w @ v) / w.sum(-1, keepdims=True)
    return (q @ (turn(k) @ v)) / (q @ k.sum(-2)[..., None])


def multi_head(x, y, w_q, w_k, w_v, w_o, attention, causal=False):
    q, k, v = x @ w_q, y @ w_k, y @ w_v
    o = (linear_attention if attention == "linear" else softmax_attention)(q, k, v, causal)
    return np.einsum("hnm,hmf->nf", o, w_o)


def feed_forward(x, w_1, b_1, w_2, b_2, activation):
    t = x.dtype.type
    u = x @ w_1
    if b_1 is not None:
        u = u + b_1
    if activation == "relu":
        u = np.maximum(u, 0)
    elif activation == "gelu_tanh":
        z = t(2 * 0.7978845608028654) * (u + t(0.044715) * u * u * u)
        u = u / (1 + np.exp(np.minimum(-z, t(87))))
    y = u @ w_2
    return y if b_2 is None else y + b_2


def norm(x, gamma, beta, eps):
    z = x - x.mean(1, keepdims=True)
    y = z / np.sqrt((z * z).mean(1, keepdims=True) + x.dtype.type(eps))
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


@kernel(
    "correct",
    "streaming: one token after the other with a cache of its keys and values in the decoder, softmax by "
    "online merging of single keys, variance by Welford; memory keys made once",
    params={"attention": "softmax"},
)
def token_by_token(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    activation="relu",
    eps=1e-5,
):
    decoder = kind == "decoder_post_norm"
    h, f, d = w_q.shape
    keys, values = x @ w_k, x @ w_v
    if decoder:
        memory_keys, memory_values = memory @ c_k, memory @ c_v
    scale = np.float32(1 / np.sqrt(d))

    def ask(q, keys, values):
        top = np.full(h, -np.inf, np.float32)
        total = np.zeros(h, np.float32)
        acc = np.zeros((h, values.shape[-1]), np.float32)
        for j in range(keys.shape[1]):
            l = (q * keys[:, j]).sum(1)
            new = np.maximum(top, l)
            keep, p = np.exp(top - new), np.exp(l - new)
            total = total * keep + p
            acc = acc * keep[:, None] + p[:, None] * values[:, j]
            top = new
        return acc / total[:, None]

    def normed(row, gamma, beta):
        mean, square = np.float32(0), np.float32(0)
        for c, a in enumerate(row, 1):
            step = a - mean
            mean = mean + step / np.float32(c)
            square = square + step * (a - mean)
        return norm_of(row, mean, square / np.float32(f), gamma, beta)

    def norm_of(row, mean, variance, gamma, beta):
        y = (row - mean) / np.sqrt(variance + np.float32(eps))
        if gamma is not None:
            y = y * gamma
        return y if beta is None else y + beta

    z = np.empty_like(x)
    for i in range(len(x)):
        last = i + 1 if decoder else len(x)
        o = ask((x[i] @ w_q) * scale, keys[:, :last], values[:, :last])
        y = x[i] + np.einsum("hm,hmf->f", o, w_o)
        if kind != "additive":
            y = normed(y, gamma_1, beta_1)
        if decoder:
            o = ask((y @ c_q) * scale, memory_keys, memory_values)
            y = normed(y + np.einsum("hm,hmf->f", o, c_o), gamma_2, beta_2)
        g = feed_forward(y[None], w_1, b_1, w_2, b_2, activation)[0]
        z[i] = g if kind == "additive" else normed(y + g, gamma_3, beta_3)
    return z


@kernel("correct", "float16 kernel that converts everything to float64, and rounds once at the end", profile="f16")
def f64_inside(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    wide = lambda t: None if t is None else np.asarray(t).astype(np.float64)
    return layer(
        wide(x),
        wide(memory),
        *map(wide, (w_q, w_k, w_v, w_o, c_q, c_k, c_v, c_o, w_1, b_1, w_2, b_2)),
        tuple(map(wide, (gamma_1, gamma_2, gamma_3))),
        tuple(map(wide, (beta_1, beta_2, beta_3))),
        kind,
        attention,
        activation,
        eps,
    ).astype(x.dtype)


def layer(
    x,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    c_q,
    c_k,
    c_v,
    c_o,
    w_1,
    b_1,
    w_2,
    b_2,
    gammas,
    betas,
    kind,
    attention,
    activation,
    eps,
    cross_causal=False,
    keep=lambda t: t,
    residual_of_x=False,
    own_attention=None,
):
    eps = eps if isinstance(eps, tuple) else (eps, eps, eps)
    own = (
        multi_head(x, x, w_q, w_k, w_v, w_o, attention, kind == "decoder_post_norm")
        if own_attention is None
        else own_attention
    )
    y = keep(x + own)
    if kind == "additive":
        return feed_forward(y, w_1, b_1, w_2, b_2, activation)
    y = keep(norm(y, gammas[0], betas[0], eps[0]))
    if kind == "decoder_post_norm":
        y = keep(y + multi_head(y, memory, c_q, c_k, c_v, c_o, attention, cross_causal))
        y = keep(norm(y, gammas[1], betas[1], eps[1]))
    back = x if residual_of_x else y
    return norm(keep(back + feed_forward(y, w_1, b_1, w_2, b_2, activation)), gammas[2], betas[2], eps[2])


@kernel(
    "wrong",
    "the decoder's attention on the memory is causal (row i sees memory tokens 0 .. i): the flag of the "
    "first attention is handed on; only for decoders with more than one memory token",
)
def memory_causal(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    return layer(
        x,
        memory,
        w_q,
        w_k,
        w_v,
        w_o,
        c_q,
        c_k,
        c_v,
        c_o,
        w_1,
        b_1,
        w_2,
        b_2,
        (gamma_1, gamma_2, gamma_3),
        (beta_1, beta_2, beta_3),
        kind,
        attention,
        activation,
        eps,
        cross_causal=True,
    )


@kernel(
    "wrong",
    "the residual around the feed-forward network is that of the layer's input: LN(x + F(y)) in place of "
    "LN(y + F(y)); encoder and decoder, additive is right",
)
def residual_from_input(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    return layer(
        x,
        memory,
        w_q,
        w_k,
        w_v,
        w_o,
        c_q,
        c_k,
        c_v,
        c_o,
        w_1,
        b_1,
        w_2,
        b_2,
        (gamma_1, gamma_2, gamma_3),
        (beta_1, beta_2, beta_3),
        kind,
        attention,
        activation,
        eps,
        residual_of_x=True,
    )


@kernel(
    "wrong",
    "the stream between the sublayers (sums of residuals and outputs of norms) is stored in bfloat16 in a"
    " float32 kernel",
)
def stream_bf16(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    return layer(
        x,
        memory,
        w_q,
        w_k,
        w_v,
        w_o,
        c_q,
        c_k,
        c_v,
        c_o,
        w_1,
        b_1,
        w_2,
        b_2,
        (gamma_1, gamma_2, gamma_3),
        (beta_1, beta_2, beta_3),
        kind,
        attention,
        activation,
        eps,
        keep=bf16,
    )


@kernel(
    "wrong",
    "the last norm has an eps of 1e-3 (Keras' default) whatever eps says; encoder and decoder, additive has no norm",
)
def last_eps_of_keras(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    return layer(
        x,
        memory,
        w_q,
        w_k,
        w_v,
        w_o,
        c_q,
        c_k,
        c_v,
        c_o,
        w_1,
        b_1,
        w_2,
        b_2,
        (gamma_1, gamma_2, gamma_3),
        (beta_1, beta_2, beta_3),
        kind,
        attention,
        activation,
        (eps, eps, 1e-3),
    )


@kernel(
    "wrong",
    "linear attention in causal order divides by the sum over all keys (z is not a prefix sum) while the "
    "numerator is causal; only for decoders with linear attention",
)
def linear_normaliser_of_all(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    b_1=None,
    b_2=None,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    gamma_1=None,
    beta_1=None,
    gamma_2=None,
    beta_2=None,
    gamma_3=None,
    beta_3=None,
    kind="encoder_post_norm",
    attention="softmax",
    activation="relu",
    eps=1e-5,
):
    own = None
    if attention == "linear" and kind == "decoder_post_norm":
        q, k, v = phi(x @ w_q), phi(x @ w_k), x @ w_v
        w = q @ turn(k)
        o = (np.tril(w) @ v) / w.sum(-1, keepdims=True)
        own = np.einsum("hnm,hmf->nf", o, w_o)
    return layer(
        x,
        memory,
        w_q,
        w_k,
        w_v,
        w_o,
        c_q,
        c_k,
        c_v,
        c_o,
        w_1,
        b_1,
        w_2,
        b_2,
        (gamma_1, gamma_2, gamma_3),
        (beta_1, beta_2, beta_3),
        kind,
        attention,
        activation,
        eps,
        own_attention=own,
    )


CATEGORIES.update(
    memory_causal=4, residual_from_input=1, stream_bf16=2, last_eps_of_keras=5, linear_normaliser_of_all=4
)
