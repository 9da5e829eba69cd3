# SPDX-License-Identifier: MIT
"""Arrays of other libraries: passed without a copy, read back, differentiated. What is not installed is skipped, and
counted."""

import importlib.util
import os

import attest
import numpy as np
import pytest
from attest import native
from kernels import SDPA

PROFILES = ["f64", "f32", "bf16", "f16"]


LIBRARIES = os.environ.get("ATTEST_LIBRARY", "jax torch").split()
pytestmark = pytest.mark.skipif(
    not any(importlib.util.find_spec(name) for name in LIBRARIES), reason=f"not installed: {LIBRARIES}"
)


@pytest.fixture(params=LIBRARIES)
def library(request):
    module = pytest.importorskip(request.param)
    if request.param == "jax":
        module.config.update("jax_enable_x64", True)
    yield request.param, module
    if request.param == "jax":
        module.config.update("jax_enable_x64", False)


def kernel_of(name):
    """Softmax attention in the library's own operations, computed in at least float32."""
    if name == "jax":
        import jax.numpy as jnp

        def attention(q, k, v):
            wide = [x.astype(jnp.promote_types(x.dtype, jnp.float32)) for x in (q, k, v)]
            logits = wide[0] @ wide[1].T / q.shape[1] ** 0.5
            weights = jnp.exp(logits - logits.max(1, keepdims=True))
            return (weights / weights.sum(1, keepdims=True) @ wide[2]).astype(q.dtype)
    else:
        import torch

        def attention(q, k, v):
            assert isinstance(q, torch.Tensor)
            wide = [x.to(torch.promote_types(x.dtype, torch.float32)) for x in (q, k, v)]
            return (torch.softmax(wide[0] @ wide[1].T / q.shape[1] ** 0.5, 1) @ wide[2]).to(q.dtype)

    return attention


@pytest.mark.parametrize("profile", PROFILES)
def test_values_and_gradients(library, profile):
    report = attest.check(
        SDPA,
        kernel_of(library[0]),
        profile=profile,
        like=library[0],
        gradients=profile in ("f64", "f32"),
        max_cases=14,
        laws=0,
        strength=0,
    )
    assert report.passed, report
    assert len(report.rows) == (2 if profile in ("f64", "f32") else 1)


def test_wrong_gradients_are_found(library):
    name, module = library
    right = kernel_of(name)
    stop = module.lax.stop_gradient if name == "jax" else lambda x: x.detach()
    report = attest.check(
        SDPA, lambda q, k, v: right(q, stop(k), v), like=name, gradients=True, max_cases=14, laws=0, strength=0
    )
    assert [row["status"] for row in report.rows] == ["PASS", "FAIL"]
    assert "gradient.k" in report.first_error


@pytest.mark.parametrize("dtype", ["f64", "f32", "bf16", "f16", "i64", "bool"])
def test_no_copy(library, dtype):
    from attest._frameworks import NUMPY, framework, to_numpy

    words = {"bf16": "u2"}.get(dtype, NUMPY[dtype])
    memory = np.zeros(64 + 8, "f8")
    start = -memory.ctypes.data % 64 // 8
    array = memory[start : start + 6].view("u1")[: 6 * np.dtype(words).itemsize].view(words).reshape(2, 3)
    given = framework(library[0], None).give(array, dtype)
    assert to_numpy(given).dtype == NUMPY[dtype] and to_numpy(given).shape == (2, 3)
    pointer = given.unsafe_buffer_pointer() if library[0] == "jax" else given.data_ptr()
    assert pointer == array.ctypes.data


def test_bfloat16_travels_under_its_name():
    torch = pytest.importorskip("torch")
    words = np.array([0x3F80, 0xC000], "u2")
    assert torch.from_dlpack(native.as_dlpack(words, "bf16")).tolist() == [1.0, -2.0]


def test_a_kernel_may_answer_in_another_librarys_arrays(library):
    answer = kernel_of(library[0])
    from attest._frameworks import framework

    give = framework(library[0], None).give

    def mixed(q, k, v):
        return answer(*(give(np.ascontiguousarray(x), "f32") for x in (q, k, v)))

    assert attest.check(SDPA, mixed, max_cases=14, laws=0, strength=0).passed


def test_in_place_changes_are_seen_through_shared_memory():
    torch = pytest.importorskip("torch")

    def scribble(q, k, v):
        answer = kernel_of("torch")(q, k, v)
        q.mul_(2)
        return answer

    assert (
        "input 'q' was changed"
        in attest.check(SDPA, scribble, like="torch", max_cases=14, laws=0, strength=0).first_error
    )
    view = attest.check(
        "attention.softmax",
        lambda x: x.exp_().div_(x.sum(1, keepdim=True)),
        like="torch",
        conventions={"lse": False},
        max_cases=14,
        laws=0,
        strength=0,
    )
    assert view.verdict == "FAIL" and "shares memory" in view.first_error
    assert torch is not None


def test_a_second_thread_has_the_settings_of_the_first():
    jax = pytest.importorskip("jax")
    with (jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64)(True):
        report = attest.check(SDPA, kernel_of("jax"), profile="f64", like="jax", max_cases=14, laws=0, strength=0)
    assert report.passed and report.reach["second_thread"] > 0, report


def test_64_bit_jax_is_asked_for():
    pytest.importorskip("jax")
    with pytest.raises(attest.UsageError, match="jax_enable_x64"):
        attest.check(SDPA, kernel_of("jax"), profile="f64", like="jax")


def test_absent_libraries_are_wrong_usage():
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(attest.UsageError, match="needs a library that is not installed"):
            attest.check(SDPA, lambda q, k, v: q, like="cupy")
    else:
        pytest.skip("cupy is installed")
