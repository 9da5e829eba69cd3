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


EQUATION = "attention.scaled_dot_product"
LOG2E = 1.4426950408889634


def visible(n, s, mask=None, bias=None, causal=False, window_left=-1, window_right=-1):
    i = np.arange(n)[:, None] + (s - n)
    j = np.arange(s)[None, :]
    seen = np.ones((n, s), bool)
    if causal:
        seen &= j <= i
    if window_left >= 0:
        seen &= j >= i - int(window_left)
    if window_right >= 0:
        seen &= j <= i + int(window_right)
    if mask is not None:
        seen = seen & np.asarray(mask, bool)
    if bias is not None:
        seen = seen & (bias != -np.inf)
    return seen


def products(q, k, scale, softcap=0.0):
    x = (q @ turn(k)) * scale
    if softcap > 0:
        c = x.dtype.type(softcap)
        x = c * np.tanh(x / c)
    return x


def plus(x, bias):
    return x if bias is None else x + np.where(bias == -np.inf, 0, bias).astype(x.dtype)


def ending(o, empty, v, empty_row):
    """Rows that saw nothing, by the convention."""
    if empty_row == "nan":
        fill = np.full(v.shape[:-2] + (1, v.shape[-1]), np.nan, o.dtype)
    elif empty_row == "mean":
        fill = v.mean(-2, keepdims=True, dtype=o.dtype)
    else:
        fill = np.zeros(v.shape[:-2] + (1, v.shape[-1]), o.dtype)
    return np.where(empty[..., None], fill, o)


def two_pass(x, seen, v, sink=None, empty_row="zero"):
    """The usual softmax of a whole row."""
    x = np.where(seen, x, -np.inf).astype(x.dtype)
    top = x.max(-1)
    if sink is not None:
        sink = np.asarray(sink, dtype=x.dtype)[..., None]
        top = np.maximum(top, sink)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    p = np.exp(x - top[..., None])
    total = p.sum(-1)
    if sink is not None:
        total = total + np.exp(sink - top)
    empty = total == 0
    o = weighted(p, v) / np.where(empty, 1, total)[..., None].astype(x.dtype)
    return ending(o, empty, v, empty_row)


# ---------------------------------------------------------------- correct


@kernel(
    "correct", "online softmax over tiles of 29 keys in base 2, with scale and log2(e) folded into q and rounded once"
)
def online_29_base2(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal, window_left, window_right)
    scale = 1.0 / np.sqrt(d) if scale is None else scale
    log2e = np.float32(LOG2E)
    qs = q * np.float32(scale if softcap > 0 else scale * LOG2E)
    top = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((n, m), np.float32)
    if sink is not None:
        top[:] = np.float32(sink) * log2e
        total[:] = 1
    for a in range(0, s, 29):
        b = min(a + 29, s)
        x = qs @ k[a:b].T
        if softcap > 0:
            c = np.float32(softcap)
            x = np.tanh(x / c) * (c * log2e)
        if bias is not None:
            x = x + np.where(bias[:, a:b] == -np.inf, 0, bias[:, a:b]).astype(np.float32) * log2e
        x = np.where(seen[:, a:b], x, -np.inf).astype(np.float32)
        new = np.maximum(top, x.max(1))
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.exp2(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
        p = np.exp2(x - safe[:, None])
        total = total * keep + p.sum(1)
        acc = acc * keep[:, None] + weighted(p, v[a:b])
        top = new
    empty = total == 0
    return ending(acc / np.where(empty, 1, total).astype(np.float32)[:, None], empty, v, empty_row)


@kernel(
    "correct",
    "flash decoding: five uneven splits of the keys, each normalised, merged by their log-sum-exps, the "
    "sink being one more split with values of zero",
    layout="bhnd",
)
def split_keys_merged(
    q,
    k,
    v,
    mask=None,
    bias=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
):
    rep = q.shape[1] // k.shape[1]
    k = np.repeat(k, rep, axis=1)
    v = np.repeat(v, rep, axis=1)
    n, d = q.shape[-2:]
    s, m = v.shape[-2:]
    seen = np.broadcast_to(visible(n, s, mask, bias, causal, window_left, window_right), q.shape[:3] + (s,))
    x = plus(products(q, k, scale_of(scale, d), softcap), bias)
    x = np.where(seen, x, -np.inf).astype(np.float32)
    parts = []
    for part in np.array_split(np.arange(s), 5):
        if not len(part):
            continue
        y = x[..., part]
        top = y.max(-1)
        safe = np.where(np.isfinite(top), top, 0).astype(np.float32)
        p = np.exp(y - safe[..., None])
        total = p.sum(-1)
        some = total > 0
        o = weighted(p, v[..., part, :]) / np.where(some, total, 1)[..., None].astype(np.float32)
        parts.append((o, safe + np.log(np.where(some, total, 1)), some))
    if sink is not None:
        lse = np.broadcast_to(f32(sink)[..., None], q.shape[:3])
        parts.append((np.zeros(q.shape[:3] + (m,), np.float32), lse, np.ones(q.shape[:3], bool)))
    lse = np.stack([np.where(some, l, -np.inf) for o, l, some in parts])
    top = lse.max(0)
    empty = ~np.isfinite(top)
    w = np.exp(lse - np.where(empty, 0, top)).astype(np.float32)
    o = sum(wi[..., None] * part[0] for wi, part in zip(w, parts))
    return ending((o / np.where(empty, 1, w.sum(0))[..., None]).astype(np.float32), empty, v, empty_row)


@kernel(
    "correct",
    "lazy rescaling: the running maximum of a row is replaced only when a tile of 16 keys exceeds it by "
    "more than 8 in base 2, so weights may be as large as 256 before the division",
)
def lazy_rescaling(q, k, v, mask=None, bias=None, sink=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    x = plus(products(q, k, scale_of(scale, d)), bias) * np.float32(LOG2E)
    x = np.where(seen, x, -np.inf).astype(np.float32)
    ref = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((n, m), np.float32)
    if sink is not None:
        ref[:] = np.float32(sink) * np.float32(LOG2E)
        total[:] = 1
    for a in range(0, s, 16):
        y = x[:, a : a + 16]
        top = y.max(1)
        new = np.where(np.isfinite(top) & (~np.isfinite(ref) | (top > ref + 8)), top, ref)
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.exp2(np.where(np.isfinite(ref), ref - safe, -np.inf)).astype(np.float32)
        p = np.exp2(y - safe[:, None])
        total = total * keep + p.sum(1)
        acc = acc * keep[:, None] + weighted(p, v[a : a + 16])
        ref = new.astype(np.float32)
    empty = total == 0
    return ending(acc / np.where(empty, 1, total).astype(np.float32)[:, None], empty, v, empty_row)


@kernel("correct", "keys one at a time, numerator and denominator both as Kahan sums, scale folded into q")
def kahan_over_keys(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, None, causal)
    qs = q * scale_of(scale, d)
    top = np.full(n, -np.inf, np.float32)
    for j in range(s):
        top = np.where(seen[:, j], np.maximum(top, qs @ k[j]), top)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    acc = np.zeros((n, m + 1), np.float32)
    lost = np.zeros((n, m + 1), np.float32)
    for j in range(s):
        rows = np.flatnonzero(seen[:, j])
        if not len(rows):
            continue
        p = np.exp(qs[rows] @ k[j] - top[rows])
        term = p[:, None] * np.concatenate([v[j], np.ones(1, np.float32)])[None]
        y = term - lost[rows]
        t = acc[rows] + y
        lost[rows] = (t - acc[rows]) - y
        acc[rows] = t
    empty = acc[:, m] == 0
    return ending(acc[:, :m] / np.where(empty, 1, acc[:, m]).astype(np.float32)[:, None], empty, v, empty_row)


@kernel(
    "correct",
    "tensor-core style: bfloat16 operands, float32 accumulation, weights rounded to bfloat16 for the "
    "second product while the denominator sums the unrounded ones",
    profile="bf16",
)
def flash_bf16(q, k, v, mask=None, bias=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    kind = q.dtype
    q, k, v = f32(q), f32(k), f32(v)
    bias = None if bias is None else f32(bias)
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    x = plus(products(q, k, scale_of(scale, d), softcap), bias)
    x = np.where(seen, x, -np.inf).astype(np.float32)
    top = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((n, m), np.float32)
    for a in range(0, s, 64):
        y = x[:, a : a + 64]
        new = np.maximum(top, y.max(1))
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.exp(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
        p = np.exp(y - safe[:, None])
        total = total * keep + p.sum(1)
        acc = acc * keep[:, None] + weighted(bf16(p), v[a : a + 64])
        top = new
    empty = total == 0
    return ending(acc / np.where(empty, 1, total).astype(np.float32)[:, None], empty, v, empty_row).astype(kind)


def exp_software(x):
    """e^x, x <= 0: Cody-Waite reduction and a polynomial of degree 7, about 2 ulp."""
    x = np.maximum(x, np.float32(-120))
    t = np.rint(x * np.float32(LOG2E))
    r = x - t * np.float32(0.693359375)
    r = r - t * np.float32(-2.12194440e-4)
    y = np.full_like(r, 1 / 5040)
    for c in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0):
        y = y * r + np.float32(c)
    return np.ldexp(y, t.astype(np.int32)).astype(np.float32)


@kernel(
    "correct",
    "products transposed (keys in rows), tiles of 20 keys from the last to the first, exponential in "
    "software by Cody-Waite reduction and a polynomial of degree 7",
)
def transposed_backwards(
    q, k, v, mask=None, bias=None, scale=None, causal=False, window_left=-1, window_right=-1, empty_row="zero"
):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal, window_left, window_right).T
    scale = scale_of(scale, d)
    qt = np.ascontiguousarray(q.T)
    top = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((m, n), np.float32)
    for b in range(s, 0, -20):
        a = max(0, b - 20)
        x = (k[a:b] @ qt) * scale
        if bias is not None:
            x = x + np.where(bias[:, a:b] == -np.inf, 0, bias[:, a:b]).T.astype(np.float32)
        new = np.maximum(top, np.where(seen[a:b], x, -np.inf).max(0)).astype(np.float32)
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.where(np.isfinite(top), exp_software(np.where(np.isfinite(top), top - safe, 0)), 0).astype(np.float32)
        p = np.where(seen[a:b], exp_software(np.where(seen[a:b], x - safe, 0)), 0).astype(np.float32)
        total = total * keep + p.sum(0)
        acc = acc * keep + weighted(p.T, v[a:b]).T
        top = new
    empty = total == 0
    return ending((acc / np.where(empty, 1, total).astype(np.float32)).T, empty, v, empty_row)


# ------------------------------------------------------------------ wrong


@kernel(
    "wrong",
    "the causal mask is aligned at the top left (j <= i) as in PyTorch's is_causal, which differs when "
    "causal with fewer queries than keys",
)
def causal_top_left(q, k, v, mask=None, sink=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s = k.shape[0]
    seen = visible(n, s, mask)
    if causal:
        seen = seen & np.tril(np.ones((n, s), bool))
    return two_pass(products(q, k, scale_of(scale, d)), seen, v, sink, empty_row)


@kernel(
    "wrong",
    "the left window is one key too short: j > i + (s - n) - window_left in place of >=, and a "
    "window_left of 0 is unharmed because the own key is always kept",
)
def window_left_exclusive(
    q, k, v, mask=None, scale=None, causal=False, window_left=-1, window_right=-1, empty_row="zero"
):
    n, d = q.shape
    s = k.shape[0]
    left = max(0, int(window_left) - 1) if window_left >= 0 else -1
    seen = visible(n, s, mask, None, causal, left, window_right)
    return two_pass(products(q, k, scale_of(scale, d)), seen, v, None, empty_row)


@kernel(
    "wrong",
    "the soft cap is applied to the logits after the bias was added (finite biases are squashed; -inf "
    "still hides); only with softcap > 0 and a bias",
)
def softcap_after_bias(q, k, v, mask=None, bias=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    n, d = q.shape
    s = k.shape[0]
    seen = visible(n, s, mask, bias, causal)
    x = plus(products(q, k, scale_of(scale, d)), bias)
    if softcap > 0:
        x = np.float32(softcap) * np.tanh(x / np.float32(softcap))
    return two_pass(x, seen, v, None, empty_row)


@kernel(
    "wrong",
    "the sink enters the denominator as e^sink although the other terms were shifted by the maximum of "
    "the row: the shift of the sink is missing",
)
def sink_not_shifted(
    q,
    k,
    v,
    mask=None,
    sink=None,
    scale=None,
    softcap=0.0,
    causal=False,
    window_left=-1,
    window_right=-1,
    empty_row="zero",
):
    n, d = q.shape
    s = k.shape[0]
    seen = visible(n, s, mask, None, causal, window_left, window_right)
    x = np.where(seen, products(q, k, scale_of(scale, d), softcap), -np.inf).astype(np.float32)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp(x - top[:, None])
    total = p.sum(1)
    if sink is not None:
        total = total + np.exp(np.float32(sink))
    empty = total == 0
    o = weighted(p, v) / np.where(empty, 1, total)[:, None].astype(np.float32)
    return ending(o, empty, v, empty_row)


@kernel(
    "wrong",
    "grouped heads are dealt out round robin: head h reads key-value group h % groups in place of h // "
    "(heads / groups); only with more than one group and fewer groups than heads",
    profile="bf16",
    layout="bhnd",
)
def groups_round_robin(q, k, v, mask=None, sink=None, scale=None, causal=False, empty_row="zero"):
    kind = q.dtype
    q, k, v = map(f32, (q, k, v))
    pick = np.arange(q.shape[1]) % k.shape[1]
    k, v = k[:, pick], v[:, pick]
    n, d = q.shape[-2:]
    seen = visible(n, k.shape[-2], mask, None, causal)
    return (two_pass(products(q, k, scale_of(scale, d)), seen, v, sink, empty_row)).astype(kind)


@kernel(
    "wrong",
    "the weights are rounded to bfloat16 before the product with v in a float32 kernel; the denominator "
    "sums the unrounded ones",
)
def weights_bf16(q, k, v, mask=None, bias=None, sink=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    x = np.where(seen, plus(products(q, k, scale_of(scale, d)), bias), -np.inf).astype(np.float32)
    top = x.max(1)
    if sink is not None:
        top = np.maximum(top, np.float32(sink))
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp(x - top[:, None])
    total = p.sum(1)
    if sink is not None:
        total = total + np.exp(np.float32(sink) - top)
    empty = total == 0
    o = weighted(bf16(p), v) / np.where(empty, 1, total)[:, None].astype(np.float32)
    return ending(o, empty, v, empty_row)


@kernel(
    "wrong",
    "the first product runs in TF32: q and k are rounded to a mantissa of 10 bits, while the product with"
    " v stays in float32",
    layout="bhnd",
)
def products_tf32(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    rep = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, rep, 1), np.repeat(v, rep, 1)
    n, d = q.shape[-2:]
    seen = visible(n, k.shape[-2], mask, None, causal)
    return two_pass(products(tf32(q), tf32(k), scale_of(scale, d)), seen, v, None, empty_row)


@kernel(
    "wrong",
    "in a float64 kernel the exponentials are taken in float32 (fast expf on a cast argument); everything"
    " else is float64",
    profile="f64",
)
def f64_with_expf(q, k, v, mask=None, bias=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    x = np.where(seen, plus(products(q, k, scale_of(scale, d, np.float64), softcap), bias), -np.inf)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0)
    p = np.exp((x - top[:, None]).astype(np.float32)).astype(np.float64)
    total = p.sum(1)
    empty = total == 0
    return ending(weighted(p, v) / np.where(empty, 1, total)[:, None], empty, v, empty_row)


@kernel(
    "wrong",
    "from the third tile of 16 keys on the output accumulator is not rescaled when the maximum of a row "
    "grows, while the running sum is; only with more than 32 keys",
)
def stale_accumulator(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, None, causal)
    x = np.where(seen, products(q, k, scale_of(scale, d)), -np.inf).astype(np.float32)
    top = np.full(n, -np.inf, np.float32)
    total = np.zeros(n, np.float32)
    acc = np.zeros((n, m), np.float32)
    for tile, a in enumerate(range(0, s, 16)):
        y = x[:, a : a + 16]
        new = np.maximum(top, y.max(1))
        safe = np.where(np.isfinite(new), new, 0).astype(np.float32)
        keep = np.exp(np.where(np.isfinite(top), top - safe, -np.inf)).astype(np.float32)
        p = np.exp(y - safe[:, None])
        total = total * keep + p.sum(1)
        if tile < 2:
            acc = acc * keep[:, None]
        acc = acc + weighted(p, v[a : a + 16])
        top = new
    empty = total == 0
    return ending(acc / np.where(empty, 1, total).astype(np.float32)[:, None], empty, v, empty_row)


@kernel(
    "wrong",
    "keys are padded with zeros to a multiple of 32 and the padding is not hidden: each padded key counts"
    " in the denominator with a logit of 0; only for s % 32 != 0 without mask and causal order, which "
    "hide it",
)
def padding_counted(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    pad = -s % 32
    seen = np.pad(visible(n, s, mask, None, causal), ((0, 0), (0, pad)), constant_values=mask is None and not causal)
    k = np.pad(k, ((0, pad), (0, 0)))
    vp = np.pad(v, ((0, pad), (0, 0)))
    x = np.where(seen, products(q, k, scale_of(scale, d)), -np.inf).astype(np.float32)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp(x - top[:, None])
    total = p.sum(1)
    empty = total == 0
    return ending(weighted(p, vp) / np.where(empty, 1, total)[:, None].astype(np.float32), empty, v, empty_row)


@kernel(
    "wrong",
    "causal tiles are skipped too early: for a tile of 64 queries the last tile of 32 keys is found from "
    "the first 32 of its queries, so that queries 32 to 63 of the tile lose the keys beyond; only causal "
    "with n > 32",
)
def causal_tiles_skipped(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, None, causal)
    scale = scale_of(scale, d)
    out = np.empty((n, m), np.float32)
    for i in range(0, n, 64):
        e = min(i + 64, n)
        end = s
        if causal:
            end = min(s, -(-(i + 32 + s - n) // 32) * 32)
        out[i:e] = two_pass(products(q[i:e], k[:end], scale), seen[i:e, :end], v[:end], None, "zero")
    return ending(out, ~seen.any(1), v, empty_row)


@kernel(
    "wrong",
    "v is walked with the row stride of k: element (j, c) is read at offset j * d + c (modulo the "
    "buffer), which is v[j, c] only for m == d",
)
def v_with_stride_of_k(q, k, v, mask=None, bias=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    at = (np.arange(s)[:, None] * d + np.arange(m)) % v.size
    seen = visible(n, s, mask, bias, causal)
    return two_pass(plus(products(q, k, scale_of(scale, d)), bias), seen, v.ravel()[at], None, empty_row)


@kernel(
    "wrong",
    "hidden logits are filled with -1e9 in place of -inf, so that a query that sees nothing returns the "
    "mean of all values whatever empty_row says; only for rows hidden entirely without a sink",
    layout="bhnd",
)
def finite_fill(q, k, v, mask=None, bias=None, scale=None, causal=False, empty_row="zero"):
    rep = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, rep, 1), np.repeat(v, rep, 1)
    n, d = q.shape[-2:]
    seen = visible(n, k.shape[-2], mask, bias, causal)
    x = np.where(seen, plus(products(q, k, scale_of(scale, d)), bias), np.float32(-1e9)).astype(np.float32)
    p = np.exp(x - x.max(-1, keepdims=True))
    return weighted(p, v) / p.sum(-1, keepdims=True)


@kernel(
    "wrong",
    "log2(e) of the base-2 exponential is truncated to 1.4427: the softmax runs at a temperature that is "
    "off by 3.4e-6, which shows for logits that are spread widely",
)
def log2e_truncated(q, k, v, mask=None, bias=None, sink=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal)
    log2e = np.float32(1.4427)
    x = np.where(seen, plus(products(q, k, scale_of(scale, d), softcap), bias), -np.inf).astype(np.float32)
    top = x.max(1)
    if sink is not None:
        top = np.maximum(top, np.float32(sink))
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp2((x - top[:, None]) * log2e)
    total = p.sum(1)
    if sink is not None:
        total = total + np.exp2((np.float32(sink) - top) * log2e)
    empty = total == 0
    return ending(weighted(p, v) / np.where(empty, 1, total)[:, None].astype(np.float32), empty, v, empty_row)


@kernel("wrong", "1e-5 is added to the denominator against division by zero")
def denominator_epsilon(
    q, k, v, mask=None, bias=None, scale=None, causal=False, window_left=-1, window_right=-1, empty_row="zero"
):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, bias, causal, window_left, window_right)
    x = np.where(seen, plus(products(q, k, scale_of(scale, d)), bias), -np.inf).astype(np.float32)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp(x - top[:, None])
    total = p.sum(1)
    o = weighted(p, v) / (total + np.float32(1e-5))[:, None]
    return ending(o, total == 0, v, empty_row)


@kernel(
    "wrong",
    "the exponent is clamped from below at -10: visible keys more than 10 below the maximum keep a weight"
    " of 4.5e-5; only where logits are spread by more than 10",
)
def exponent_clamped(q, k, v, mask=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, None, causal)
    x = np.where(seen, products(q, k, scale_of(scale, d), softcap), -np.inf).astype(np.float32)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.where(seen, np.exp(np.maximum(x - top[:, None], np.float32(-10))), 0).astype(np.float32)
    total = p.sum(1)
    empty = total == 0
    return ending(weighted(p, v) / np.where(empty, 1, total)[:, None].astype(np.float32), empty, v, empty_row)


@kernel(
    "wrong",
    "the window is looked at only in the branch without causal order: with causal the left window is "
    "ignored; only causal with window_left >= 0",
    profile="f16",
)
def window_lost_when_causal(
    q, k, v, mask=None, sink=None, scale=None, causal=False, window_left=-1, window_right=-1, empty_row="zero"
):
    kind = q.dtype
    q, k, v = map(f32, (q, k, v))
    n, d = q.shape
    s = k.shape[0]
    if causal:
        seen = visible(n, s, mask, None, True, -1, window_right)
    else:
        seen = visible(n, s, mask, None, False, window_left, window_right)
    return (two_pass(products(q, k, scale_of(scale, d)), seen, v, sink, empty_row)).astype(kind)


@kernel(
    "wrong",
    "in a bfloat16 kernel the running sum is itself kept in bfloat16 and rounded after every key, so that"
    " it stagnates for long rows; accumulator and exponentials are float32",
    profile="bf16",
)
def sum_stagnates_bf16(q, k, v, mask=None, scale=None, causal=False, empty_row="zero"):
    kind = q.dtype
    q, k, v = f32(q), f32(k), f32(v)
    n, d = q.shape
    s, m = v.shape
    seen = visible(n, s, mask, None, causal)
    x = np.where(seen, products(q, k, scale_of(scale, d)), -np.inf).astype(np.float32)
    top = x.max(1)
    top = np.where(np.isfinite(top), top, 0).astype(np.float32)
    p = np.exp(x - top[:, None])
    total = np.zeros(n, np.float32)
    for j in range(s):
        total = bf16(total + p[:, j])
    empty = total == 0
    return ending(
        weighted(bf16(p), v) / np.where(empty, 1, total)[:, None].astype(np.float32), empty, v, empty_row
    ).astype(kind)


@kernel(
    "wrong",
    "the scale is passed through a float16 argument: off by up to 5e-4 unless it is a number of float16, "
    "as it is for d = 16 or 64",
)
def scale_in_f16(q, k, v, mask=None, bias=None, scale=None, causal=False, empty_row="zero"):
    n, d = q.shape
    seen = visible(n, k.shape[0], mask, bias, causal)
    x = plus(products(q, k, np.float32(f16(scale_of(scale, d)))), bias)
    return two_pass(x, seen, v, None, empty_row)


@kernel(
    "wrong",
    "the tanh of the soft cap has a mantissa of 10 bits, as tanh.approx has, in a float32 kernel; only "
    "with softcap > 0",
)
def tanh_approximate(q, k, v, mask=None, bias=None, scale=None, softcap=0.0, causal=False, empty_row="zero"):
    n, d = q.shape
    seen = visible(n, k.shape[0], mask, bias, causal)
    x = products(q, k, scale_of(scale, d))
    if softcap > 0:
        x = np.float32(softcap) * tf32(np.tanh(x / np.float32(softcap)))
    return two_pass(plus(x, bias), seen, v, None, empty_row)


CATEGORIES.update(
    causal_top_left=4,
    window_left_exclusive=1,
    softcap_after_bias=1,
    sink_not_shifted=1,
    groups_round_robin=4,
    weights_bf16=2,
    products_tf32=2,
    f64_with_expf=2,
    stale_accumulator=3,
    padding_counted=3,
    causal_tiles_skipped=3,
    v_with_stride_of_k=3,
    finite_fill=4,
    log2e_truncated=5,
    denominator_epsilon=5,
    exponent_clamped=5,
    window_lost_when_causal=4,
    sum_stagnates_bf16=2,
    scale_in_f16=5,
    tanh_approximate=2,
)
