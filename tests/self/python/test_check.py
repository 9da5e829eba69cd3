# SPDX-License-Identifier: MIT
"""attest.check: what passes, what fails and why, and what cannot be judged."""

import itertools
import json
import math
import threading

import attest
import kernels
import ml_dtypes
import numpy as np
import pytest
from kernels import SDPA, ZERO


def check(kernel, **options):
    return attest.check(SDPA, kernel, **{"conventions": ZERO, "laws": 1, "strength": 0, **options})


def test_a_correct_kernel_passes_and_everything_is_told():
    report = check(kernels.attention)
    assert report.passed and report and report.verdict == "PASS"
    assert 22 < report.effective_bits < 27
    assert report.faults == [] and report.first_error == "" and report.repro == ""
    assert 0 < report.worst.ratio < 1 and report.worst.query.startswith(f"attest:{SDPA}:f32;")
    assert report.assumed == {"block": "held at 8"}
    assert report.raise_for_failure() is report
    assert "Verdict: PASS" in str(report)


@pytest.mark.parametrize("profile", ["f64", "f32", "bf16", "f16"])
def test_arrays_have_the_dtype_of_the_profile(profile):
    dtypes = set()

    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        dtypes.update(x.dtype for x in (q, k, v))
        return (
            kernels.attention(q, k, v, mask, bias, scale, causal)
            if q.dtype.itemsize > 2
            else kernels.bfloat16(q, k, v, mask, bias, scale, causal)
        )

    assert check(kernel, profile=profile).passed
    assert dtypes == {np.dtype({"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16}[profile])}


def test_a_wrong_kernel_is_named_and_its_case_can_be_reproduced():
    report = check(kernels.scale_missing)
    assert not report.passed and not report and report.verdict == "FAIL"
    assert report.faults[0].name == "scale_missing" and report.faults[0].whole
    assert "times the bound" in report.first_error
    assert "scale_missing" in report.diagnosis and report.diagnosis == attest.diagnose(
        SDPA, kernels.scale_missing, conventions=ZERO, laws=1
    )
    with pytest.raises(attest.Failure, match="scale_missing") as failure:
        report.raise_for_failure()
    assert isinstance(failure.value, AssertionError) and failure.value.report is report
    again = attest.reproduce(report.repro, kernels.scale_missing, conventions=ZERO)
    assert again.verdict == "FAIL" and again.rows[0]["cases"]["judged"] == 1
    assert attest.reproduce(report.repro, kernels.attention, conventions=ZERO).passed


def test_precision_below_the_claim_fails_and_passes_its_own():
    def low(**case):
        narrow = {
            name: x.astype(ml_dtypes.bfloat16) if name in "qkv" else x
            for name, x in case.items()
            if name in ("q", "k", "v", "mask", "bias", "scale", "causal")
        }
        return kernels.bfloat16(**narrow).astype("f4")

    report = check(low)
    assert report.verdict == "FAIL" and report.effective_bits < 12


def test_the_signature_tells_what_varies():
    seen = set()

    def kernel(q, k, v, causal):
        seen.add(causal)
        return kernels.attention(q, k, v, causal=causal)

    report = check(kernel)
    assert report.passed and seen == {True, False}
    assert report.assumed == {
        "mask": "never given",
        "bias": "never given",
        "sink": "never given",
        "scale": "held at 1/sqrt(d)",
        "softcap": "held at 0.0",
        "window_left": "held at -1",
        "window_right": "held at -1",
        "block": "held at 8",
    }
    assert report.rows[0]["cases"]["skipped"] > 10 and report.rows[0]["groups"]["masked"]["judged"] == 0


def test_fixed_parameters_sizes_and_lists_of_them():
    seen = set()

    def kernel(q, k, v, **parameters):
        seen.add((q.shape[1], parameters["causal"]))
        return kernels.attention(
            q, k, v, **{name: x for name, x in parameters.items() if name not in ("block", "empty_row")}
        )

    report = check(kernel, params={"causal": True, "d": [8, 16]})
    assert report.passed and seen == {(8, True), (16, True)}
    assert report.rows[0]["cases"]["drawn"] > 3


def test_layout_of_batches_and_heads():
    shapes = set()

    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        shapes.add((q.ndim, q.shape[1], k.shape[1]))
        return kernels.attention_of_heads(q, k, v, mask, bias, scale, causal)

    report = check(kernel, layout="bhnd", strength=1)
    assert report.passed, report
    assert {ndim for ndim, _, _ in shapes} == {4} and any(heads > groups > 1 for _, heads, groups in shapes)
    regimes = report.rows[0]["regimes"]
    assert regimes["judged"] > 5 and regimes["visited"] == regimes["possible"]


def packed(shift):
    """Attention over packed sequences; keys begin `shift` rows after their sequence does."""

    def kernel(q, k, v, offsets, scale=None, causal=False):
        o = np.empty((*q.shape[:2], v.shape[2]), q.dtype)
        for b in range(len(offsets["n"]) - 1):
            queries, keys = (slice(*offsets[size][b : b + 2]) for size in ("n", "s"))
            first = max(0, min(keys.start + shift, len(k) - (keys.stop - keys.start)))
            keys = slice(first, first + keys.stop - keys.start)
            one = (x.swapaxes(0, 1)[None] for x in (q[queries], k[keys], v[keys]))
            o[queries] = kernels.attention_of_heads(*one, None, None, scale, causal)[0].swapaxes(0, 1)
        return o

    return kernel


def test_layout_of_packed_sequences():
    report = check(packed(0), layout="thd", strength=1)
    assert report.passed, report
    assert report.rows[0]["regimes"]["passed"] > 5
    report = check(packed(1), layout="thd", laws=0, strength=1)
    assert not report.passed and report.cases["passed"] == report.cases["judged"]
    assert any("that are packed (n = " in failure["message"] for failure in report.rows[0]["failures"])


def paged(entry=0, longer=0):
    """Attention over keys and values in pages; takes the table's entry `entry` further, and so many keys too many."""

    def kernel(q, k, v, pages, lengths, scale=None, causal=False):
        o = np.empty((*q.shape[:3], v.shape[3]), q.dtype)
        for b, (table, length) in enumerate(zip(pages["s"], lengths["s"])):
            used = -(-length // k.shape[1])
            at = table[[min(j + (entry if j else 0), used - 1) for j in range(used)]]
            length = min(length + longer, used * k.shape[1])
            keys, values = (np.concatenate(x[at])[:length].swapaxes(0, 1) for x in (k, v))
            one = (x[None] for x in (q[b].swapaxes(0, 1), keys, values))
            o[b] = kernels.attention_of_heads(*one, None, None, scale, causal)[0].swapaxes(0, 1)
        return o

    return kernel


def test_layout_of_pages():
    report = check(paged(), layout="pkv", strength=1)
    assert report.passed, report
    assert report.rows[0]["regimes"]["passed"] > 5
    assert not check(paged(entry=1), layout="pkv", laws=0, strength=1).passed
    assert not check(paged(longer=1), layout="pkv", laws=0, strength=1, capabilities="page == 5").passed
    hidden = check(paged(), layout="pkv", laws=0, strength=1, capabilities="page == 64; hidden_nan == true")
    assert hidden.passed, hidden


def softmax(x, mask=None):
    """Rows with nothing visible give zeros."""
    logits = x if mask is None else np.where(mask, x, x.dtype.type(-np.inf))
    top = np.maximum(logits.max(-1, keepdims=True), np.finfo(x.dtype).min)
    weights = np.exp(logits - top)
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return weights / np.where(total > 0, total, 1), np.where(total > 0, top + np.log(total), -np.inf)[:, 0]


def softmax_vjp(x, mask=None, cotangents=None):
    a, _ = softmax(x, mask)
    g = cotangents["a"]
    return {"x": a * (g - (g * a).sum(-1, keepdims=True) + cotangents["lse"][:, None])}


def test_gradients_by_vjp():
    options = dict(conventions=ZERO, laws=0)
    report = attest.check("attention.softmax", softmax, vjp=softmax_vjp, **options, strength=0)
    assert report.passed, report
    assert [row["reading"] for row in report.rows] == ["value", "gradient"]

    def forgets_lse(x, mask=None, cotangents=None):
        return softmax_vjp(x, mask, {**cotangents, "lse": cotangents["lse"] * 0})

    report = attest.check("attention.softmax", softmax, vjp=forgets_lse, **options, strength=0)
    assert report.verdict == "FAIL" and "gradient.x" in report.first_error

    def unnamed(x, mask=None, cotangents=None):
        return softmax_vjp(x, mask, cotangents)["x"]

    assert attest.check("attention.softmax", softmax, vjp=unnamed, **options, strength=0).passed


def rounded(drop=None):
    """Attention and its gradients as a 16-bit kernel computes them: what is multiplied is rounded to 16 bits, sums are
    wide."""

    def weights(q, k, scale, causal):
        wide = [x.astype("f8") for x in (q, k)]
        scale = q.shape[1] ** -0.5 if scale is None else scale
        logits = scale * wide[0] @ wide[1].T
        if causal:
            logits = np.where(np.tri(len(q), len(k), len(k) - len(q), dtype=bool), logits, -np.inf)
        e = np.exp(logits - np.maximum(logits.max(1, keepdims=True), -1e300))
        total = e.sum(1, keepdims=True)
        return *wide, scale, e / np.where(total > 0, total, 1)

    def forward(q, k, v, scale=None, causal=False):
        *_, p = weights(q, k, scale, causal)
        return (p.astype(q.dtype).astype("f8") @ v.astype("f8")).astype(q.dtype)

    def backward(q, k, v, scale=None, causal=False, cotangents=None):
        def low(x):
            return x.astype(q.dtype).astype("f8")

        g = cotangents["o"].astype("f8")
        wq, wk, scale, p = weights(q, k, scale, causal)
        dp = g @ v.astype("f8").T
        ds = low(scale * p * (dp - (dp * p).sum(1, keepdims=True)))
        gradients = {"q": ds @ wk, "k": ds.T @ wq, "v": low(p).T @ g}
        if drop:
            gradients[drop] = gradients[drop] * 1.25
        return {name: gradient.astype(q.dtype) for name, gradient in gradients.items()}

    return forward, backward


@pytest.mark.parametrize("profile", ["bf16", "f16"])
def test_gradients_in_16_bits_allow_what_such_kernels_round(profile):
    forward, backward = rounded()
    report = attest.check(SDPA, forward, vjp=backward, profile=profile, conventions=ZERO, laws=0, strength=0)
    assert report.passed, report
    assert report.rows[1]["cases"]["judged"] > 20
    forward, backward = rounded(drop="k")
    report = attest.check(SDPA, forward, vjp=backward, profile=profile, conventions=ZERO, laws=0, strength=0)
    assert [row["status"] for row in report.rows] == ["PASS", "FAIL"] and "gradient.k" in report.first_error


def test_optional_outputs_are_declared():
    def weights(x, mask=None):
        return softmax(x, mask)[0]

    report = attest.check("attention.softmax", weights, conventions=ZERO, laws=0, strength=0)
    assert report.verdict == "FAIL" and "conventions={'lse': False}" in report.first_error
    assert attest.check("attention.softmax", weights, conventions={**ZERO, "lse": False}, laws=0, strength=0).passed
    with pytest.raises(attest.UsageError, match="gradients are taken of every output"):
        attest.check("attention.softmax", weights, vjp=softmax_vjp, conventions={**ZERO, "lse": False})


def test_options_limit_what_is_judged_and_say_so():
    few = check(kernels.attention, max_cases=5, laws=0)
    assert few.rows[0]["cases"]["judged"] == 5 and few.rows[0]["cases"]["skipped"] >= 50
    assert few.left_out["limit of cases"] >= 50 and sum(few.left_out.values()) == few.cases["skipped"]
    assert f"{few.left_out['limit of cases']} limit of cases" in few.table
    one_flag = check(kernels.attention, only="tile_edges", laws=0)
    assert {group for group, count in one_flag.rows[0]["groups"].items() if count["judged"]} == {
        "tile_edges",
        "statistics",
    }
    other = check(kernels.attention, seed=2, laws=0)
    assert other.passed and other.worst.query


def test_a_budget_ends_the_run_and_is_shown():
    import time

    def slow(**case):
        time.sleep(0.05)
        return kernels.attention(**{name: x for name, x in case.items() if name not in ("block", "empty_row")})

    report = check(slow, budget=3.0)
    row = report.rows[0]
    assert row["ended_by"] == "budget" and row["not_run"] > 10 and 3 <= row["cases"]["judged"] < 80
    assert report.passed and "ended by budget" in str(report)
    nothing = check(slow, budget=1e-9)
    assert nothing.verdict == "INVALID" and "before the budget ended the run" in nothing.first_error


def test_what_a_mask_hides_may_be_declared():
    silent = attest.check(SDPA, kernels.attention, conventions={"empty_row": "zero"}, only="*a*", strength=0)
    assert silent.passed and any("hidden_nan" in note for note in silent.rows[0]["notes"])
    assert "hidden_nan" in str(silent) and "hidden_nan" in silent.diagnosis
    promised = attest.check(
        SDPA, kernels.attention, conventions={"empty_row": "zero", "hidden_nan": True}, only="*a*", strength=0
    )
    assert promised.verdict == "FAIL" and "masked_irrelevant" in promised.first_error
    assert attest.check(SDPA, kernels.attention, conventions=ZERO, only="*a*", strength=0).rows[0]["notes"] == []


def test_reports_are_data():
    data = json.loads(json.dumps(check(kernels.scale_missing).as_dict()))
    assert (
        data["verdict"] == "FAIL"
        and data["faults"][0]["name"] == "scale_missing"
        and data["report"]["rows"][0]["groups"]["random"]["judged"] > 0
    )


def test_saved_whole_or_not_at_all(tmp_path):
    report = check(kernels.attention, max_cases=30, laws=0)
    path = tmp_path / "report.json"
    report.save(path)
    assert json.loads(path.read_text())["verdict"] == "PASS" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError):
        report.save(tmp_path / "absent" / "report.json")


# Mistakes of a kernel beside its numbers.


def spoiled(change):
    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        return change(kernels.attention(q, k, v, mask, bias, scale, causal), q, k, v)

    return kernel


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda o, q, k, v: o[:, :-1], "'o' has shape"),
        (lambda o, q, k, v: o.astype("f8"), "'o' has dtype float64, expected float32"),
        (lambda o, q, k, v: (o, o), "returned 2 arrays; expected 1: o"),
        (lambda o, q, k, v: (), "returned 0 arrays; expected 1: o"),
        (lambda o, q, k, v: {"output": o}, "returned output; expected 1: o"),
        (lambda o, q, k, v: None, "returned a NoneType for 'o'"),
        (lambda o, q, k, v: o.tolist() if len(o) == 1 else "text", "returned"),
        (lambda o, q, k, v: np.full_like(o, np.nan), "got nan"),
        (lambda o, q, k, v: np.zeros_like(o), "expected"),
        (lambda o, q, k, v: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda o, q, k, v: exit(3), "raised SystemExit: 3"),
    ],
)
def test_bad_answers_are_findings(change, message):
    report = check(spoiled(change))
    assert report.verdict == "FAIL" and message in report.first_error, report.first_error


def hashed(x, r):
    y = x.astype("f8") @ r.astype("f8")
    return np.argmax(np.concatenate([y, -y], 1), 1)


def test_whole_numbers_may_be_integers():
    assert hashed(np.ones((2, 3)), np.ones((3, 2))).dtype == np.int64
    assert attest.check("content.lsh_hash", hashed, strength=1).verdict == "PASS"
    for spoil in (lambda h: h + 1, lambda h: h.astype("i8") + 2**40 + 1):
        report = attest.check("content.lsh_hash", lambda x, r, spoil=spoil: spoil(hashed(x, r)), strength=1)
        assert report.verdict == "FAIL", report.table
    assert "'h' has dtype int64, expected float32" in report.first_error


def test_the_place_of_an_exception_is_told():
    report = check(spoiled(lambda o, q, k, v: [][1]))
    assert "IndexError" in report.first_error and "test_check.py:" in report.first_error


def test_what_a_kernel_raises_for_is_refused_and_the_capability_is_proposed():
    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        if mask is not None and causal:
            raise NotImplementedError("no mask with the causal order")
        return kernels.attention(q, k, v, mask, bias, scale, causal)

    report = check(kernel, laws=0, strength=2)
    assert report.verdict == "FAIL"
    refusals = report.refusals
    assert refusals["cases"] >= 1 and refusals["regimes"] >= 1
    assert (refusals["condition"], refusals["left"], refusals["excluded"]) == ("not (mask and causal)", 0, 0)
    assert refusals["message"].startswith("the kernel raised NotImplementedError: no mask with the causal order")
    assert "let its capabilities say: not (mask and causal)" in " ".join(str(report).split())
    assert "not (mask and causal)" in report.diagnosis and "no fault in the bank" not in report.diagnosis
    report = check(kernel, laws=0, strength=2, capabilities=refusals["condition"])
    assert report.passed and report.refusals == {}


def test_a_broken_contract_is_no_refusal():
    report = check(lambda q, k, v: (kernels.attention(q, k, v), 0), laws=0, strength=2)
    assert report.verdict == "FAIL" and report.refusals == {}
    assert {failure["tier"] for failure in report.rows[0]["failures"]} == {"T0"}


def test_a_kernel_that_reads_the_buffer_without_its_strides_fails():
    def dense(x):
        strides = [x.itemsize * int(np.prod(x.shape[axis + 1 :])) for axis in range(x.ndim)]
        return np.lib.stride_tricks.as_strided(x, x.shape, strides)

    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        return kernels.attention_of_heads(q, dense(k), v, mask, bias, scale, causal)

    options = {"laws": 0, "strength": 2, "layout": "bhnd"}
    report = check(kernel, **options)
    assert report.verdict == "FAIL"
    assert {failure["group"] for failure in report.rows[0]["failures"]} == {"regimes"}
    assert "memory in {padded, transposed, mixed}" in report.rows[0]["regimes"]["fails_when"]
    assert ";memory=" in report.repro
    assert not attest.reproduce(report.repro, kernel, layout="bhnd", conventions=ZERO)
    assert check(kernel, capabilities="contiguous", **options).passed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_only_the_second_head_shows_is_reproduced(seed):
    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        o = kernels.attention_of_heads(q, k, v, mask, bias, scale, causal)
        o[:, 1:2] = o[:, :1]
        return o

    report = check(kernel, laws=0, strength=2, layout="bhnd", seed=seed)
    assert report.verdict == "FAIL" and "grid=" in report.repro
    assert not attest.reproduce(report.repro, kernel, layout="bhnd", conventions=ZERO)


def test_a_kernel_that_refuses_views_is_told_to_say_contiguous():
    def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
        if not k.flags.c_contiguous:
            raise ValueError("keys must be contiguous")
        return kernels.attention(q, k, v, mask, bias, scale, causal)

    report = check(kernel, laws=0, strength=2)
    assert report.verdict == "FAIL" and report.refusals["cases"] == 0, "golden cases are dense"
    # One row is contiguous wherever it lies.
    assert report.refusals["condition"] in ("contiguous", "contiguous or s == 1")
    assert (report.refusals["left"], report.refusals["excluded"]) == (0, 0)


def test_a_limit_on_shapes_is_kept_and_no_plain_pass():
    def shapes_of(**options):
        seen = set()

        def kernel(q, k, v, mask=None, bias=None, scale=None, causal=False):
            seen.add((q.shape, k.shape, v.shape))
            return kernels.attention(q, k, v, mask, bias, scale, causal)

        return check(kernel, laws=0, **options), seen

    _, of_cases = shapes_of(strength=0)
    report, seen = shapes_of(strength=2, shapes=5)
    assert report.passed and 1 <= len(seen - of_cases) <= 5
    regimes = report.rows[0]["regimes"]
    assert regimes["left_out"] > 0 and regimes["visited"] + regimes["left_out"] == regimes["possible"]
    assert "Verdict: PASS of what was run" in str(report)


def test_positions_that_a_kernel_computes_itself():
    def kernel(x, positions, base=10000.0, pairing="interleaved"):
        """Takes the first position alone, as kernels with an offset do."""
        if np.any(np.diff(positions) != 1):
            raise ValueError("positions must be consecutive")
        angles = np.outer(
            np.arange(positions[0], positions[0] + len(x)), base ** -(np.arange(0, x.shape[1], 2) / x.shape[1])
        )
        half = x.shape[1] // 2
        a, b = (slice(0, None, 2), slice(1, None, 2)) if pairing == "interleaved" else (slice(half), slice(half, None))
        y = np.empty_like(x)
        y[:, a] = x[:, a] * np.cos(angles) - x[:, b] * np.sin(angles)
        y[:, b] = x[:, a] * np.sin(angles) + x[:, b] * np.cos(angles)
        return y

    report = attest.check("positional.rotary", kernel)
    assert report.verdict == "FAIL" and report.refusals["condition"] == "consecutive(positions)"
    report = attest.check("positional.rotary", kernel, capabilities="consecutive(positions)")
    assert report.passed, str(report)
    assert report.cases["skipped"] >= 4


def test_outputs_may_be_strided():
    def strided(o, q, k, v):
        return np.asfortranarray(o)

    def backwards(o, q, k, v):
        return np.ascontiguousarray(o[::-1])[::-1]

    def holes(o, q, k, v):
        return np.repeat(o, 2, axis=1)[:, ::2]

    for change in (strided, backwards, holes):
        assert check(spoiled(change)).passed


def test_outputs_with_zero_strides_are_read_as_they_are():
    def right(o, q, k, v):
        return np.broadcast_to(o[:1], o.shape) if len(o) == 1 else o

    def wrong(o, q, k, v):
        return np.broadcast_to(o.mean(0), o.shape)

    assert check(spoiled(right)).passed
    assert check(spoiled(wrong)).verdict == "FAIL"


def test_an_output_in_an_inputs_memory_fails():
    def into_v(o, q, k, v):
        if o.shape != v.shape:
            return o
        v[...] = o
        return v

    report = check(spoiled(into_v))
    assert report.verdict == "FAIL" and "'o' shares memory with input 'v'" in report.first_error


def test_a_changed_input_fails():
    def scribble(o, q, k, v):
        q += 1
        return o

    report = check(spoiled(scribble))
    assert report.verdict == "FAIL" and "input 'q' was changed" in report.first_error


def test_a_kernel_that_keeps_its_output_fails():
    buffers = {}

    def reuse(o, q, k, v):
        buffer = buffers.setdefault(o.shape, np.empty_like(o))
        buffer[...] = o
        return buffer

    report = check(spoiled(reuse))
    assert report.verdict == "FAIL" and "has changed since" in report.first_error


@pytest.mark.parametrize("buffers", [6, 40])
def test_buffers_handed_out_in_turn_fail(buffers):
    pool = [np.empty(1 << 16, "f4") for _ in range(buffers)]
    turn = itertools.count()

    def reuse(o, q, k, v):
        buffer = pool[next(turn) % buffers][: o.size].reshape(o.shape)
        buffer[...] = o
        return buffer

    report = check(spoiled(reuse))
    assert report.verdict == "FAIL" and "has changed since" in report.first_error


def test_the_sample_of_answers_is_limited():
    from attest._kernel import SAMPLED, SAMPLED_BYTES, Sample

    sample = Sample(1)
    for i in range(3 * SAMPLED):
        sample.add("o", *2 * [np.full(10, i)])
    assert len(sample.kept) == SAMPLED and sample.bytes == SAMPLED * 80
    assert max(x[0] for _, x, _, _ in sample.kept) > 2 * SAMPLED
    large = np.zeros(SAMPLED_BYTES // 4, "u1")
    for _ in range(10):
        sample.add("o", large, large)
    assert sample.bytes <= SAMPLED_BYTES and sample.changed() == ""
    large[0] = 1
    assert sample.changed() == "o"


def test_a_kernel_that_is_wrong_off_its_thread_fails():
    own = threading.current_thread()
    off = spoiled(lambda o, q, k, v: o if threading.current_thread() is own else o * np.float32(1.01))
    assert check(off).first_error.startswith("called from a second thread: o(")
    assert check(off, conventions={**ZERO, "any_thread": False}).passed

    def refuses(q, k, v, mask=None, bias=None, scale=None, causal=False):
        if threading.current_thread() is not own:
            raise RuntimeError("not here")
        return kernels.attention(q, k, v, mask, bias, scale, causal)

    assert "called from a second thread: the kernel raised RuntimeError: not here" in check(refuses).first_error


def test_a_kernel_that_is_wrong_later_fails():
    calls = itertools.count()

    def late(q, k, v, mask=None, bias=None, scale=None, causal=False):
        return kernels.attention(q, k, v, mask, bias, scale, causal) * q.dtype.type(1.01 if next(calls) >= 300 else 1)

    report = check(late, repeat=4, laws=0)
    assert report.verdict == "FAIL" and "wrong in call 301 of the same case: o(" in report.first_error
    with pytest.raises(attest.UsageError, match="repeat=0; expected a whole number of at least 1"):
        check(late, repeat=0)


def test_other_bits_later_are_noted():
    """As of functions that are compiled again when they see other shapes."""
    calls = itertools.count()
    later = spoiled(lambda o, q, k, v: o * np.float32(1 + 2.0**-23 if next(calls) >= 200 else 1))
    report = check(later, repeat=3, laws=0)
    assert report.passed and "answered by other bits later, all within their bounds" in str(report)
    calls = itertools.count()
    report = check(later, repeat=3, laws=0, conventions={**ZERO, "deterministic": False})
    assert report.passed and "other bits" not in str(report)


def test_a_kernel_that_does_nothing_where_nothing_is_to_be_done_is_no_pass():
    report = check(lambda q, k, v: np.repeat(v, len(q), 0), capabilities="s == 1", strength=1)
    assert report.verdict == "INVALID" and "'o = v' is right in every case" in report.first_error


def test_a_pass_says_what_it_leaves_out():
    def plain(q, k, v, scale=None):
        return kernels.attention(q, k, v, scale=scale)

    report = check(plain)
    assert report.passed and report.restricted == [
        "bias never given",
        "causal = false",
        "mask never given",
        "sink never given",
        "softcap = 0",
        "window_left = -1",
        "window_right = -1",
    ]
    assert "Verdict: PASS (restricted: bias, mask and sink never given; causal = false, " in str(report)
    assert report.reach["calls"] > 100 and report.reach["second_thread"] > 0
    assert f"{report.reach['calls']} calls judged" in str(report) and "calls judged" in report.diagnosis
    assert check(kernels.attention).restricted == []


def test_a_write_after_the_last_call_is_seen():
    from attest._frameworks import NumPy
    from attest._kernel import Kernel

    kept = []

    def keeps(q, k, v):
        kept.append(kernels.attention(q, k, v))
        return kept[-1]

    kernel = Kernel(attest.describe(SDPA), keeps, None, NumPy())
    kernel(
        "value",
        {name: ("f32", np.ones((2, 2), "f4")) for name in "qkv"},
        {},
        [{"name": "o", "dtype": "f32", "shape": (2, 2)}],
    )
    assert kernel.late_writes() == []
    kept[-1][0, 0] = 7
    assert "has changed since" in kernel.late_writes()[0]


def test_different_answers_to_one_call_fail():
    rng = np.random.default_rng(1)
    noisy = spoiled(lambda o, q, k, v: o * np.float32(1 + 2.0**-23 * rng.integers(0, 2)))
    assert "two different answers" in check(noisy).first_error
    assert check(noisy, conventions={**ZERO, "deterministic": False}, laws=0).passed


def test_flush_to_zero_left_behind_does_not_touch_the_judge():
    ctypes = pytest.importorskip("ctypes")
    libm = ctypes.CDLL("libm.so.6")
    upward = 0x800  # FE_UPWARD on x86

    def rounding_up(o, q, k, v):
        libm.fesetround(upward)
        return o

    import platform

    if platform.machine() != "x86_64":
        pytest.skip("the rounding mode's number is that of x86")
    try:
        assert check(spoiled(rounding_up)).passed
        assert libm.fegetround() == 0
    finally:
        libm.fesetround(0)


# Calls that cannot be judged.


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(equation="attention.scaled_dot"), "did you mean 'attention.scaled_dot_product'"),
        (dict(profile="f31"), "there is no profile 'f31'; there are f64, f32"),
        (dict(layout="thd"), "the kernel takes no argument 'offsets'"),
        (dict(layout="pkv"), "the kernel takes no argument 'pages'"),
        (dict(layout="hbnd"), "layout='hbnd' is not known; there are nd, bhnd, bnhd, thd, pkv"),
        (dict(like="tensorflow"), "like='tensorflow' is not known; there are numpy, torch, jax, cupy"),
        (dict(kernel=3), "the kernel is a int; expected a function"),
        (dict(params={"casual": True}), "no parameter 'casual'; did you mean 'causal'"),
        (dict(conventions={"empty_row": "none"}), "empty_row='none' is no choice"),
        (dict(params={"causal": "yes"}), "causal='yes'; expected a truth value or a number"),
        (dict(capabilities="d % "), "capabilities of"),
        (dict(capabilities="e == 3"), "'e' is neither a size"),
        (dict(kernel=lambda q, k: q), "takes no argument 'v'"),
        (dict(kernel=lambda q, k, v, w: q), "wants an argument 'w'"),
        (dict(kernel=lambda q, k, v, mask: q), "must have a default for 'mask'"),
        (dict(kernel=lambda q, k, v, /: q), "takes no argument 'q'"),
        (dict(gradients=True), "need vjp=FUNCTION"),
        (dict(vjp=4), "vjp is a int"),
        (dict(vjp=lambda q, k, v: q), "takes no argument 'cotangents'"),
        (dict(only="tile"), "only='tile' matches no flag of attention.scaled_dot_product; there are random"),
        (dict(max_cases=0), "max_cases=0; expected a whole number of at least 1"),
        (dict(laws=-1), "laws=-1"),
        (dict(seed=1.5), "seed=1.5"),
        (dict(budget=0), "budget=0; expected seconds"),
        (dict(budget=math.nan), "budget=nan"),
        (dict(device="cuda"), "NumPy has no device 'cuda'"),
    ],
)
def test_calls_that_cannot_be_judged(arguments, message):
    options = {"equation": SDPA, "kernel": kernels.attention, **arguments}
    with pytest.raises(attest.UsageError) as error:
        attest.check(options.pop("equation"), options.pop("kernel"), **options)
    assert message in str(error.value) and isinstance(error.value, ValueError)


def test_a_parameter_that_varies_must_be_taken():
    report = check(lambda q, k, v: kernels.attention(q, k, v), capabilities="not causal or n == s")
    assert report.verdict == "FAIL" and "does not take 'causal', but what was declared lets it vary" in report.diagnosis
    assert check(lambda q, k, v: kernels.attention(q, k, v, causal=True), capabilities="causal == true").passed


def test_a_fixed_value_may_equal_the_default():
    assert check(lambda q, k, v: kernels.attention(q, k, v, scale=1.0), conventions={"scale": 1.0}).passed  # d = 1


def test_capabilities_that_nothing_fits_are_invalid_not_a_pass():
    report = check(kernels.attention, capabilities="d == 5; n == 100000")
    assert report.verdict == "INVALID" and "at least 3 are needed" in report.first_error


def test_queries_that_cannot_be_read_or_are_outside():
    for query, message in (
        ("nonsense", "attest:"),
        (f"attest:{SDPA}:f32;n=1;s=2;d=3", "m"),
        ("attest:linear.casual:f32;n=1", "did you mean"),
    ):
        with pytest.raises(attest.UsageError, match=message):
            attest.reproduce(query, kernels.attention)
    with pytest.raises(attest.UsageError, match="outside of what the kernel was declared to do"):
        attest.reproduce(
            f"attest:{SDPA}:f32;n=3;s=5;d=4;m=2;flag=random;seed=2", kernels.attention, params={"causal": True}
        )


def test_interruption_leaves_the_report_so_far():
    with pytest.raises(attest.Interrupted) as interrupted:
        attest.check(SDPA, kernels.interrupts, conventions=ZERO)
    assert isinstance(interrupted.value, KeyboardInterrupt)
    report = interrupted.value.report
    row = report.rows[0]
    assert row["ended_by"] == "interrupt" and row["not_run"] > 0 and row["cases"]["passed"] >= 5
    assert report.verdict != "PASS"


def test_a_kernel_that_uses_the_judge_may():
    def nested(q, k, v, mask=None, bias=None, scale=None, causal=False):
        if not done:
            done.append(attest.check("attention.softmax", lambda x, **_: x, max_cases=3, laws=0, strength=0).verdict)
        return kernels.attention(q, k, v, mask, bias, scale, causal)

    done = []
    assert check(nested, max_cases=5, laws=0).passed and done == ["FAIL"]
