# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "attention.transformer_layer"

F32 = np.float32
F64 = np.float64


def _norm(x, gamma, beta, eps):
    c = x - x.mean(1, keepdims=True)
    y = c / np.sqrt((c * c).mean(1, keepdims=True) + eps)
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


def _elu1(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def _attend(x, t, w_q, w_k, w_v, w_o, attention, causal, extra=0.0):
    n, s = len(x), len(t)
    o = np.zeros_like(x)
    ok = np.arange(s)[None] <= np.arange(n)[:, None] if causal else np.ones((n, s), bool)
    for g in range(len(w_q)):
        q, k, v = x @ w_q[g], t @ w_k[g], t @ w_v[g]
        if attention == "softmax":
            l = np.where(ok, (q @ k.T) * (1 / math.sqrt(q.shape[1])), -np.inf)
            top = l.max(1, keepdims=True, initial=-np.inf)
            e = np.exp(l - np.where(np.isfinite(top), top, 0)).astype(x.dtype)
        else:
            e = np.where(ok, _elu1(q) @ _elu1(k).T, 0)
        den = e.sum(1, keepdims=True) + extra
        o = o + ((e @ v) / np.where(den == 0, 1, den)) @ w_o[g]
    return o


def _forward(x, w_1, b_1, w_2, b_2, activation):
    u = x @ w_1
    if b_1 is not None:
        u = u + b_1
    if activation == "relu":
        u = np.maximum(u, 0)
    elif activation == "gelu_tanh":
        u = u * (0.5 + 0.5 * np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u * u * u)))
    y = u @ w_2
    return y if b_2 is None else y + b_2


def _layer(x, memory, own, cross, ff, norms, kind, attention, activation, eps, hook="", extra=0.0):
    causal = kind == "decoder_post_norm"
    if hook == "linear_not_causal" and attention == "linear":
        causal = False
    a = x + _attend(x, x, *own, attention, causal, extra if attention == "linear" else 0.0)
    if kind == "additive":
        return _forward(a, *ff, activation)
    y = _norm(a, *norms[0], eps)
    if kind == "decoder_post_norm":
        c = _attend(y, memory, *cross, attention, False, extra if attention == "linear" else 0.0)
        y = _norm((a if hook == "residual_before_norm" else y) + c, *norms[1], eps)
    last = norms[0] if hook == "gain_of_norm_1" and kind == "encoder_post_norm" else norms[2]
    return _norm(y + _forward(y, *ff, activation), *last, eps)


def _plain(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    return _layer(
        x,
        memory,
        (w_q, w_k, w_v, w_o),
        (c_q, c_k, c_v, c_o),
        (w_1, b_1, w_2, b_2),
        ((gamma_1, beta_1), (gamma_2, beta_2), (gamma_3, beta_3)),
        kind,
        attention,
        activation,
        eps,
    )


# category 7
@kernel(
    "wrong", "encoder: the norm after the feed-forward network reads gamma_1 and beta_1 again (pointer not advanced)"
)
def gain_of_norm_1(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    return _layer(
        x,
        memory,
        (w_q, w_k, w_v, w_o),
        (c_q, c_k, c_v, c_o),
        (w_1, b_1, w_2, b_2),
        ((gamma_1, beta_1), (gamma_2, beta_2), (gamma_3, beta_3)),
        kind,
        attention,
        activation,
        eps,
        "gain_of_norm_1",
    )


# category 1
@kernel(
    "wrong",
    "decoder: the residual of the attention on the memory is x + A(x) from before norm 1, in place of y after it",
)
def residual_before_norm(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    return _layer(
        x,
        memory,
        (w_q, w_k, w_v, w_o),
        (c_q, c_k, c_v, c_o),
        (w_1, b_1, w_2, b_2),
        ((gamma_1, beta_1), (gamma_2, beta_2), (gamma_3, beta_3)),
        kind,
        attention,
        activation,
        eps,
        "residual_before_norm",
    )


# category 5
@kernel("wrong", "linear attention: 0.1 is added to every denominator 'for stability'")
def linear_denominator_padded(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    return _layer(
        x,
        memory,
        (w_q, w_k, w_v, w_o),
        (c_q, c_k, c_v, c_o),
        (w_1, b_1, w_2, b_2),
        ((gamma_1, beta_1), (gamma_2, beta_2), (gamma_3, beta_3)),
        kind,
        attention,
        activation,
        eps,
        "",
        0.1,
    )


# category 4
@kernel("wrong", "decoder with linear attention: the attention on its own tokens is not causal")
def linear_not_causal(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    return _layer(
        x,
        memory,
        (w_q, w_k, w_v, w_o),
        (c_q, c_k, c_v, c_o),
        (w_1, b_1, w_2, b_2),
        ((gamma_1, beta_1), (gamma_2, beta_2), (gamma_3, beta_3)),
        kind,
        attention,
        activation,
        eps,
        "linear_not_causal",
    )


@kernel(
    "correct",
    "tokens as columns throughout, linear attention by states (a running state where causal), softmax in "
    "base 2 by columns, double, hidden units in tiles of 29",
)
def tokens_as_columns(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    w_1,
    w_2,
    memory=None,
    c_q=None,
    c_k=None,
    c_v=None,
    c_o=None,
    b_1=None,
    b_2=None,
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
    def up(a):
        return a.astype(F64)

    def norm(c, gamma, beta):
        mu = c.sum(0) / len(c)
        t = c - mu
        t = t * (1.0 / np.sqrt(np.einsum("fn,fn->n", t, t) / len(c) + float(eps)))
        if gamma is not None:
            t *= up(gamma)[:, None]
        if beta is not None:
            t += up(beta)[:, None]
        return t

    def attend(c, t, wq, wk, wv, wo, causal):
        out = np.zeros_like(c)
        for g in reversed(range(len(wq))):
            q, k, v = up(wq[g]).T @ c, up(wk[g]).T @ t, up(wv[g]).T @ t
            if attention == "softmax":
                l = (k.T @ q) * (math.log2(math.e) / math.sqrt(len(q)))
                if causal:
                    l = np.where(np.arange(l.shape[0])[:, None] > np.arange(l.shape[1])[None], -np.inf, l)
                l = np.exp2(l - l.max(0, initial=-1e300))
                den = l.sum(0)
                head = (v @ l) / np.where(den == 0, 1, den)
            else:
                q, k = _elu1(q), _elu1(k)
                v1 = np.concatenate([v, np.ones((1, v.shape[1]))])
                if causal:
                    state = np.zeros((len(v1), len(k)))
                    both = np.empty((len(v1), c.shape[1]))
                    for i in range(c.shape[1]):
                        state += np.outer(v1[:, i], k[:, i])
                        both[:, i] = state @ q[:, i]
                else:
                    both = (v1 @ k.T) @ q
                head = both[:-1] / np.where(both[-1] == 0, 1, both[-1])
            out += up(wo[g]).T @ head
        return out

    def forward(c):
        out = np.zeros((w_2.shape[1], c.shape[1]))
        for lo in range(0, w_1.shape[1], 29):
            u = up(w_1[:, lo : lo + 29]).T @ c
            if b_1 is not None:
                u += up(b_1[lo : lo + 29])[:, None]
            if activation == "relu":
                u = np.maximum(u, 0)
            elif activation == "gelu_tanh":
                u = u / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * u * (1 + 0.044715 * u * u)))
            out += up(w_2[lo : lo + 29]).T @ u
        return out if b_2 is None else out + up(b_2)[:, None]

    c = up(x).T
    decoder = kind == "decoder_post_norm"
    c = c + attend(c, c, w_q, w_k, w_v, w_o, decoder)
    if kind == "additive":
        c = forward(c)
    else:
        c = norm(c, gamma_1, beta_1)
        if decoder:
            c = norm(c + attend(c, up(memory).T, c_q, c_k, c_v, c_o, False), gamma_2, beta_2)
        c = norm(c + forward(c), gamma_3, beta_3)
    return np.ascontiguousarray(c.T).astype(F32)
