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


EQUATION = "attention.generalized"


def visible(n, s, mask=None, causal=False):
    seen = np.ones((n, s), bool)
    if causal:
        seen &= np.arange(s)[None] <= np.arange(n)[:, None] + (s - n)
    if mask is not None:
        seen = seen & np.asarray(mask, bool)
    return seen


def feature(x, name):
    if name == "relu":
        return np.maximum(x, 0)
    if name == "exp":
        return np.exp(x)
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))).astype(x.dtype)


def power_of(x, power):
    y = x
    for _ in range(int(power) - 1):
        y = y * x
    return y


def similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi):
    """Similarities, those of exponentials up to a factor per row."""
    t = q.dtype.type
    if sim in ("exp_dot", "rbf"):
        if sim == "exp_dot":
            x = (q @ turn(k)) * scale_of(scale, q.shape[-1], t)
        else:
            x = t(2 * gamma) * (q @ turn(k)) - t(gamma) * (k * k).sum(-1)[..., None, :]
        x = np.where(seen, x, -np.inf).astype(q.dtype)
        top = x.max(-1, keepdims=True)
        return np.exp(x - np.where(np.isfinite(top), top, 0).astype(q.dtype))
    if sim == "polynomial":
        w = power_of(q @ turn(k) + t(offset), power)
    else:
        w = feature(q, phi) @ turn(feature(k, varphi))
    return np.where(seen, w, 0).astype(q.dtype)


def divide(numerator, total, zero_denominator):
    none = total == 0
    o = numerator / np.where(none, 1, total)[..., None].astype(numerator.dtype)
    return np.where(none[..., None], np.nan if zero_denominator == "nan" else 0, o).astype(numerator.dtype)


@kernel(
    "correct",
    "rbf without |q|^2, which cancels in the ratio, and with the maximum subtracted; the other "
    "similarities direct; numerator and denominator in one product with a column of ones",
    layout="bhnd",
)
def ones_column(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    rep = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, rep, 1), np.repeat(v, rep, 1)
    seen = np.broadcast_to(visible(q.shape[-2], k.shape[-2], mask, causal), q.shape[:3] + k.shape[2:3])
    w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi)
    both = weighted(w, np.concatenate([v, np.ones(v.shape[:-1] + (1,), v.dtype)], -1))
    return divide(both[..., :-1], both[..., -1], zero_denominator)


@kernel(
    "correct",
    "similarity of features only, re-associated: phi(q) times sums of varphi(k) v^T, causal order by "
    "prefix sums over single keys",
    params={"sim": "feature_dot"},
)
def reassociated(q, k, v, phi="elu_plus_one", varphi="elu_plus_one", causal=False, zero_denominator="zero"):
    n, s = len(q), len(k)
    a, b = feature(q, phi), feature(k, varphi)
    v1 = np.concatenate([v, np.ones((s, 1), np.float32)], 1)
    if not causal:
        both = a @ (b.T @ v1)
    else:
        both = np.empty((n, v1.shape[1]), np.float32)
        state = b[: s - n].T @ v1[: s - n]
        for i in range(n):
            j = i + s - n
            state = state + np.outer(b[j], v1[j])
            both[i] = a[i] @ state
    return divide(both[:, :-1], both[:, -1], zero_denominator)


@kernel(
    "wrong",
    "rbf expands |q - k|^2 as |q|^2 + |k|^2 - q.k: the 2 of the mixed term is missing; the other "
    "similarities are right",
)
def rbf_mixed_term_halved(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    seen = visible(len(q), len(k), mask, causal)
    if sim == "rbf":
        x = -np.float32(gamma) * ((q * q).sum(1)[:, None] + (k * k).sum(1) - q @ k.T)
        x = np.where(seen, x, -np.inf).astype(np.float32)
        top = x.max(1, keepdims=True)
        w = np.exp(x - np.where(np.isfinite(top), top, 0).astype(np.float32))
    else:
        w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi)
    return divide(weighted(w, v), w.sum(1), zero_denominator)


@kernel("wrong", "the similarities are stored in bfloat16 before both sums of a float32 kernel")
def similarities_bf16(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    seen = visible(len(q), len(k), mask, causal)
    w = bf16(similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi))
    return divide(weighted(w, v), w.sum(1), zero_denominator)


@kernel("wrong", "1e-4 is added to every denominator, as linear attentions do with a smaller number")
def denominator_epsilon(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    seen = visible(len(q), len(k), mask, causal)
    w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi)
    total = w.sum(1)
    return divide(
        weighted(w, v), np.where(total == 0, 0, total + np.float32(1e-4)).astype(np.float32), zero_denominator
    )


@kernel("wrong", "keys go through the map of the queries: varphi is ignored; only feature_dot with two different maps")
def varphi_ignored(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    seen = visible(len(q), len(k), mask, causal)
    w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, phi)
    return divide(weighted(w, v), w.sum(1), zero_denominator)


@kernel(
    "wrong",
    "causal order is applied to the last tile of 16 keys only of each tile of 16 queries: when s - n is "
    "no multiple of 16 the diagonal crosses two tiles, and future keys of the one before the last stay "
    "visible",
)
def one_diagonal_tile(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    n, s = len(q), len(k)
    seen = visible(n, s, mask, causal)
    if causal:
        every = visible(n, s, mask)
        for i in range(0, n, 16):
            last = min(i + 16, n) - 1 + s - n
            start = last // 16 * 16
            seen[i : i + 16, :start] = every[i : i + 16, :start]
    w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi)
    return divide(weighted(w, v), w.sum(1), zero_denominator)


@kernel(
    "wrong",
    "in a float64 kernel the squared distance of rbf is computed in float32 (|q|^2 + |k|^2 - 2 q.k of "
    "casts); the other similarities are float64",
    profile="f64",
)
def f64_distances_in_f32(
    q,
    k,
    v,
    mask=None,
    sim="exp_dot",
    scale=None,
    power=2,
    offset=0.0,
    gamma=0.5,
    phi="elu_plus_one",
    varphi="elu_plus_one",
    causal=False,
    zero_denominator="zero",
):
    seen = visible(len(q), len(k), mask, causal)
    if sim == "rbf":
        a, b = q.astype(np.float32), k.astype(np.float32)
        r = (a * a).sum(1)[:, None] + (b * b).sum(1) - np.float32(2) * (a @ b.T)
        x = np.where(seen, -gamma * r.astype(np.float64), -np.inf)
        top = x.max(1, keepdims=True)
        w = np.exp(x - np.where(np.isfinite(top), top, 0))
    else:
        w = similarity(q, k, seen, sim, scale, power, offset, gamma, phi, varphi)
    return divide(weighted(w, v), w.sum(1), zero_denominator)


CATEGORIES.update(
    rbf_mixed_term_halved=1,
    similarities_bf16=2,
    denominator_epsilon=5,
    varphi_ignored=4,
    one_diagonal_tile=3,
    f64_distances_in_f32=2,
)
