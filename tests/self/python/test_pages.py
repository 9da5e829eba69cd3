# SPDX-License-Identifier: MIT
"""Pages, profiles and golden vectors as a user of the package sees them."""

import attest
import numpy as np
import pytest


def test_operations_are_described():
    ids = attest.operations()
    assert ids == sorted(ids) and {"attention.scaled_dot_product", "linear.causal"} <= set(ids)
    page = attest.describe("linear.causal")
    assert page["id"] == "linear.causal" and page["formula"] and page["source"]
    assert {"random", "chunk_edges"} <= set(page["flags"])
    assert any(fault["name"] == "final_state_stale" and fault["seen"] for fault in page["faults"])
    page["id"] = "spoiled"
    assert attest.describe("linear.causal")["id"] == "linear.causal"


def test_unknown_operations_have_near_names():
    for function in (attest.describe, lambda id: list(attest.golden(id))):
        with pytest.raises(attest.UsageError, match="did you mean 'linear.causal'"):
            function("linear.casual")


def test_profiles():
    profiles = {profile.name: profile for profile in attest.profiles()}
    assert profiles["f32"].storage == "f32" and profiles["f32"].units["accumulate"] == 2.0**-24
    assert profiles["bf16"].units["store"] == 2.0**-8 and list(profiles["bf16"].units) == [
        "accumulate",
        "operand",
        "function",
        "store",
        "underflow",
    ]


@pytest.mark.parametrize("equation", ["attention.scaled_dot_product", "linear.causal"])
def test_golden_cases_judge_by_hand(equation):
    cases = list(attest.golden(equation))
    assert len(cases) > 30 and {case.flag for case in cases} == set(attest.describe(equation)["flags"])
    for case in cases:
        assert case.query.startswith(f"attest:{equation}:any;")
        for name, tensor in case.outputs.items():
            declared = name.removeprefix("gradient.")
            page = attest.describe(equation)
            names = next(t["shape"] for t in page["inputs"] + page["outputs"] if t["name"] == declared)
            assert tensor.hi.shape == tensor.lo.shape == tuple(case.sizes[size] for size in names)
            assert tensor.bound.shape == tensor.rms.shape == (5, *tensor.hi.shape)
            finite = np.isfinite(tensor.hi)
            allowance = tensor.allowance("f64")
            assert (allowance[finite] >= 0).all()
            # The true value rounded to float64 is within the bound of a float64 kernel, twice its bound away is not.
            assert (
                np.abs(tensor.lo[finite]) <= np.maximum(allowance[finite], np.abs(tensor.hi[finite]) * 2.0**-53)
            ).all()


def test_golden_case_against_a_kernel_of_our_own():
    from kernels import attention

    checked = 0
    for case in attest.golden("attention.scaled_dot_product"):
        if case.parameters["empty_row"] != "zero":
            continue
        names = ("q", "k", "v", "mask", "bias", "sink")
        inputs = {name: case.inputs[name] for name in names if name in case.inputs}
        if "mask" in inputs:
            inputs["mask"] = inputs["mask"] != 0
        taken = ("scale", "causal", "softcap", "window_left", "window_right")
        got = attention(**inputs, **{name: case.parameters[name] for name in taken})
        truth = case.outputs["o"]
        assert (np.abs((got - truth.hi) - truth.lo) <= truth.allowance("f64")).all(), case.query
        checked += got.size
    assert checked > 500


def test_damaged_golden_files_are_told(tmp_path, monkeypatch):
    import shutil

    from attest import _pages

    shutil.copytree(_pages.GOLDEN, tmp_path / "golden")
    path = tmp_path / "golden/linear/causal.safetensors"
    monkeypatch.setattr(_pages, "GOLDEN", tmp_path / "golden")
    monkeypatch.setattr("attest._check.GOLDEN", tmp_path / "golden")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match="causal.safetensors"):
        list(attest.golden("linear.causal"))
    (path.parent / "causal.manifest.toml").write_text("not [ toml")
    with pytest.raises(RuntimeError, match="causal.manifest.toml"):
        list(attest.golden("linear.causal"))
    with pytest.raises(RuntimeError):
        attest.check("linear.causal", lambda **case: None)
    path.unlink()
    with pytest.raises(RuntimeError, match="causal"):
        list(attest.golden("linear.causal"))
