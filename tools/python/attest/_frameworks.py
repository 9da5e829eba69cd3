# SPDX-License-Identifier: MIT
"""Arrays of other libraries: given to kernels without a copy where their memory is the CPU's, and read back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import ml_dtypes
import numpy as np

from attest import native

NUMPY = {
    "f64": np.dtype("f8"),
    "f32": np.dtype("f4"),
    "f16": np.dtype("f2"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i64": np.dtype("i8"),
    "bool": np.dtype(bool),
}


class NumPy:
    """NumPy's arrays; bfloat16 is ml_dtypes.bfloat16."""

    immutable = False
    strided = True  # whether kernels are given views of larger buffers

    def __init__(self, device: Any = None):
        if device not in (None, "cpu"):
            raise native.UsageError(
                f"NumPy has no device '{device}'; leave device out, or use like='torch', 'jax' or 'cupy'"
            )

    def require(self, dtype: str) -> None:
        """Raises UsageError when the library cannot have arrays of that dtype as it is set up."""

    def give(self, array: np.ndarray, dtype: str) -> Any:
        """The array as the library's own."""
        return array.view(NUMPY[dtype])

    def shares(self, answer: Any, array: np.ndarray, tensor: Any, original: np.ndarray) -> bool:
        """Whether an answer (`array` in NumPy) lies in the memory of an input (given as `tensor`, over `original`)."""
        return answer is tensor or np.may_share_memory(array, original)

    def thread_settings(self) -> Callable[[], AbstractContextManager]:
        """Makes a context in which another thread has the settings that this thread has now: a caller's are no part of
        the kernel."""
        return nullcontext

    def gradient(self, function, inputs, wanted, cotangents):
        raise native.UsageError(
            "NumPy has no automatic differentiation: give vjp=FUNCTION, or use like='torch' or 'jax'"
        )


class Torch(NumPy):
    """torch.Tensor, on the CPU over the same memory, or on another device."""

    def __init__(self, device: Any = None):
        import torch

        self.torch, self.device = torch, device
        self.strided = device is None  # a copy on a device is dense

    def give(self, array, dtype):
        tensor = self.torch.from_dlpack(native.as_dlpack(array, dtype))
        return tensor if self.device is None else tensor.to(self.device)

    def shares(self, answer, array, tensor, original):
        return array.size > 0 and (
            super().shares(answer, array, tensor, original)
            or (
                isinstance(answer, self.torch.Tensor)
                and answer.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
            )
        )

    def thread_settings(self):
        torch = self.torch
        gradients, device, threads = torch.is_grad_enabled(), torch.get_default_device(), torch.get_num_threads()
        half = {kind: torch.get_autocast_dtype(kind) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)}

        def settings():
            stack = ExitStack()
            torch.set_num_threads(threads)
            stack.enter_context(torch.set_grad_enabled(gradients))
            if device.type != "cpu":
                stack.enter_context(device)
            for kind, dtype in half.items():
                stack.enter_context(torch.autocast(kind, dtype))
            return stack

        return settings

    def gradient(self, function, inputs, wanted, cotangents):
        leaves = {name: inputs[name].detach().requires_grad_() for name in wanted}
        with self.torch.enable_grad():
            outputs = function({**inputs, **leaves})
            pairs = [(output, cotangent) for output, cotangent in zip(outputs, cotangents) if output.requires_grad]
            found = (
                self.torch.autograd.grad(
                    [o for o, _ in pairs], list(leaves.values()), [c for _, c in pairs], allow_unused=True
                )
                if pairs
                else [None] * len(leaves)
            )
        return [
            self.torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip(leaves.values(), found)
        ]


class Jax(NumPy):
    """jax.Array."""

    immutable = True
    strided = False

    def __init__(self, device: Any = None):
        import jax

        self.jax = jax
        self.device = jax.devices(device)[0] if isinstance(device, str) else device

    def require(self, dtype):
        if dtype == "f64" and not self.jax.config.jax_enable_x64:
            raise native.UsageError(
                "profile f64 needs 64-bit JAX: call jax.config.update('jax_enable_x64', True) first"
            )

    def give(self, array, dtype):
        if dtype == "i64" and not self.jax.config.jax_enable_x64:
            given = self.jax.numpy.asarray(array.astype("i4"))
        else:
            given = self.jax.dlpack.from_dlpack(native.as_dlpack(array, dtype))
        return given if self.device is None else self.jax.device_put(given, self.device)

    def thread_settings(self):
        jax = self.jax
        with_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
        wide, precision = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision

        def settings():
            stack = ExitStack()
            stack.enter_context(with_x64(wide))
            stack.enter_context(jax.default_matmul_precision(precision))
            return stack

        return settings

    def gradient(self, function, inputs, wanted, cotangents):
        _, pull_back = self.jax.vjp(
            lambda *leaves: tuple(function({**inputs, **dict(zip(wanted, leaves))})), *(inputs[name] for name in wanted)
        )
        return pull_back(tuple(cotangents))


class CuPy(NumPy):
    """cupy.ndarray, on the current CUDA device or the one of that number. bfloat16 is ml_dtypes.bfloat16."""

    strided = False

    def __init__(self, device: Any = None):
        import cupy

        self.cupy, self.device = cupy, device

    def give(self, array, dtype):
        with self.cupy.cuda.Device(self.device):
            return self.cupy.asarray(array.view(NUMPY[dtype]))

    def shares(self, answer, array, tensor, original):
        return isinstance(answer, self.cupy.ndarray) and self.cupy.may_share_memory(answer, tensor)


FRAMEWORKS = {"numpy": NumPy, "torch": Torch, "jax": Jax, "cupy": CuPy}


def framework(like: str, device: Any) -> NumPy:
    if like not in FRAMEWORKS:
        raise native.UsageError(f"like='{like}' is not known; there are {', '.join(FRAMEWORKS)}")
    try:
        return FRAMEWORKS[like](device)
    except ImportError as error:
        raise native.UsageError(f"like='{like}' needs a library that is not installed: {error}") from error


def to_numpy(x: Any) -> np.ndarray | None:
    """The array as NumPy sees it, over the same memory where that is the CPU's; None when it is no array."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    root = type(x).__module__.split(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        x = x.detach().cpu().resolve_conj().resolve_neg()
        return x.view(torch.uint16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()
    if root in ("jax", "jaxlib"):
        return np.asarray(x)
    if root == "cupy":
        return x.get()
    if hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return None
