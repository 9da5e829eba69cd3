#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the kernels of a plugin beside published ones, in one run.

The plugin is called through its C interface: on the memory of a GPU with PyTorch, on a CPU with NumPy. Every kernel and every peer
first answers a small problem and the last rows of the timed one, and is timed only when float64 agrees loosely; the precise judgement
is that of `attest check`. In each round all of them run once, in turn, so that clocks drift alike; before each run the caches are
flushed. Times are medians over rounds. On a GPU a run lies between two events behind a pause in which it is queued: it is time on the
device, without that of launching. The ceilings, a large copy and a large matrix product, run in the same rounds.

Kernels get tensors of layout bhnd, peers those of the layout that they want. A backward pass of a peer has what its forward pass
stored; that of a kernel has the inputs and the cotangent only.

Exit status: 0; 1 when a kernel of the plugin is wrong or returns an error; 2 wrong usage, or no GPU; 3 an invalid plugin, or nothing
of it that could be timed.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import fnmatch
import functools
import hashlib
import importlib
import importlib.metadata
import itertools
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import textwrap
import time

ABI_VERSION = 1
CHUNK = 64  # the default of the equation's page; a kernel may use its own
CHECKED_TOKENS = 384  # six chunks of 64, three of 128
CHECKED_ROWS = 64  # of the timed problem's last head
FEATURE = 1 / 64  # features lie between 0 and this, so that denominators of 65536 tokens are numbers of binary16
BLOCK = 16  # rows whose error is measured together: the first gradient of a query is exactly 0
TOLERANCE = {"f64": 1e-9, "f32": 0.02, "f16": 0.2, "bf16": 0.2}  # of each block's norm; f32 is loose enough for TF32
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8}
WARM_UP = 3


class UsageError(Exception):
    """A wrong command line, or a machine that cannot do it: exit status 2."""


class InvalidPlugin(Exception):
    """Exit status 3."""


class NotTimed(Exception):
    """Why a kernel or a peer has no time: `status` is "absent", "outside", "wrong" or "failed"."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


# What attest/attest_kernel.h and dlpack/dlpack.h declare.


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class AttestTensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", DLTensor)]


class AttestParameter(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("given", ctypes.c_int),
        ("real", ctypes.c_double),
        ("integer", ctypes.c_int64),
        ("text", ctypes.c_char_p),
    ]


class AttestCall(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("equation", ctypes.c_char_p),
        ("form", ctypes.c_char_p),
        ("inputs", ctypes.POINTER(AttestTensor)),
        ("input_count", ctypes.c_size_t),
        ("outputs", ctypes.POINTER(AttestTensor)),
        ("output_count", ctypes.c_size_t),
        ("parameters", ctypes.POINTER(AttestParameter)),
        ("parameter_count", ctypes.c_size_t),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("error", ctypes.c_char_p),
        ("error_size", ctypes.c_size_t),
    ]


class AttestKernel(ctypes.Structure):
    _fields_ = [
        ("equation", ctypes.c_char_p),
        ("form", ctypes.c_char_p),
        ("reading", ctypes.c_char_p),
        ("dtype", DLDataType),
        ("device", ctypes.c_int),
        ("layout", ctypes.c_char_p),
        ("capabilities", ctypes.c_char_p),
        ("workspace", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(AttestCall))),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(AttestCall))),
    ]


class AttestPlugin(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("kernel_count", ctypes.c_size_t),
        ("kernels", ctypes.POINTER(AttestKernel)),
    ]


CPU, CUDA = 1, 2  # DLDeviceType
DTYPES = {(2, 64): "f64", (2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 64): "i64"}
CODES = {name: code for code, name in DTYPES.items()}


def text(value):
    return (value or b"").decode("ascii", "replace")


class Kernel:
    def __init__(self, native):
        self.native = native
        self.equation, self.form, self.reading = text(native.equation), text(native.form), text(native.reading)
        self.layout, self.capabilities, self.device = text(native.layout), text(native.capabilities), native.device
        self.dtype = DTYPES.get((native.dtype.code, native.dtype.bits))

    def title(self):
        """The form, and the profile where it is not the dtype's."""
        profile = re.search(r"profile == '(\w+)'", self.capabilities)
        return " ".join([self.form or "-", *profile.groups()] if profile else [self.form or "-"])


class Plugin:
    def __init__(self, path):
        self.path = path
        try:
            self.library = ctypes.CDLL(str(path))
        except OSError as error:
            raise InvalidPlugin(f"{path} cannot be loaded: {error}") from None
        try:
            entry = self.library.attest_plugin_v1
        except AttributeError:
            raise InvalidPlugin(f"{path} exports no function attest_plugin_v1") from None
        entry.restype = ctypes.POINTER(AttestPlugin)
        table = entry()
        if not table:
            raise InvalidPlugin(f"{path}: attest_plugin_v1 returned nothing")
        if table.contents.abi_version != ABI_VERSION:
            raise InvalidPlugin(
                f"{path} has interface version {table.contents.abi_version}; this program knows {ABI_VERSION}"
            )
        self.name, self.version = text(table.contents.name), text(table.contents.version)
        self.kernels = [Kernel(table.contents.kernels[i]) for i in range(table.contents.kernel_count)]
        if not self.kernels:
            raise InvalidPlugin(f"{path}: the plugin's table has no kernels")
        devices = {kernel.device for kernel in self.kernels}
        if devices != {CPU} and devices != {CUDA}:
            raise InvalidPlugin(
                f"{path}: kernels of devices {sorted(devices)}; expected all of kDLCPU ({CPU}) or all of kDLCUDA ({CUDA})"
            )
        (self.device,) = devices


class Call:
    """One attest_call, and all that its pointers point to."""

    def __init__(self, kernel, case, memory, inputs, outputs):
        self.kernel, self.kept = kernel, [inputs, outputs]
        self.error = ctypes.create_string_buffer(1024)
        self.call = AttestCall(
            struct_size=ctypes.sizeof(AttestCall),
            equation=kernel.native.equation,
            form=kernel.native.form,
            stream=memory.stream(),
            error=ctypes.cast(self.error, ctypes.c_char_p),
            error_size=len(self.error),
        )
        self.call.inputs, self.call.input_count = self.tensors(case.inputs(), inputs, memory), len(inputs)
        self.call.outputs, self.call.output_count = self.tensors(case.outputs(), outputs, memory), len(outputs)
        given = [
            AttestParameter(
                name.encode(),
                1,
                value if isinstance(value, (int, float)) else 0,
                value if isinstance(value, int) else 0,
                value.encode() if isinstance(value, str) else None,
            )
            for name, value in case.parameters.items()
        ]
        self.call.parameters, self.call.parameter_count = self.array(AttestParameter, given), len(given)
        size = kernel.native.workspace(ctypes.byref(self.call)) if kernel.native.workspace else 0
        if size:
            workspace = memory.workspace(size)
            self.kept.append(workspace)
            self.call.workspace, self.call.workspace_size = memory.pointer(workspace), size

    def array(self, kind, values):
        made = (kind * max(len(values), 1))(*values)
        self.kept.append(made)
        return ctypes.cast(made, ctypes.POINTER(kind))

    def tensors(self, declared, arrays, memory):
        made = []
        for name, tensor in declared.items():
            code, bits = CODES[tensor.dtype]
            made.append(
                AttestTensor(
                    name.encode(),
                    DLTensor(
                        memory.pointer(arrays[name]),
                        DLDevice(memory.device, 0),
                        len(tensor.shape),
                        DLDataType(code, bits, 1),
                        self.array(ctypes.c_int64, list(tensor.shape)),
                        self.array(ctypes.c_int64, list(memory.strides(arrays[name]))),
                        0,
                    ),
                )
            )
        return self.array(AttestTensor, made)

    def __call__(self):
        status = self.kernel.native.run(ctypes.byref(self.call))
        if status:
            raise NotTimed("failed", f"the kernel returned {status}: {text(self.error.value)}")


def unmet(capabilities, values):
    """The first condition of a kernel's capabilities that a case does not meet; conditions on other things than sizes and parameters are
    those of the judge."""
    words = {
        "true": True,
        "false": False,
        "default": "default",
        "min": min,
        "max": max,
        "sqrt": math.sqrt,
        "floor": math.floor,
        "ceil": math.ceil,
        **values,
    }

    def holds(expression):
        return eval(expression, {"__builtins__": {}}, words)

    for condition in filter(None, (part.strip() for part in capabilities.split(";"))):
        *premises, conclusion = (part.replace("^", "**") for part in condition.split(" implies "))
        try:
            if all(map(holds, premises)) and not holds(conclusion):
                return condition
        except (NameError, SyntaxError):
            continue
    return None


# Where tensors lie. A bfloat16 of NumPy is its 16 bits.

OTHER_PYTHON = "name another interpreter by ATTEST_PYTHON"


class Host:
    device = CPU

    def __init__(self):
        try:
            self.xp = importlib.import_module("numpy")
        except ImportError as error:
            raise UsageError(f"kernels of a CPU need NumPy in {sys.executable}: {error}; {OTHER_PYTHON}") from None
        self.xp.seterr(all="ignore")  # a wrong answer may hold anything
        self.types = {
            "f64": self.xp.float64,
            "f32": self.xp.float32,
            "f16": self.xp.float16,
            "bf16": self.xp.uint16,
            "i64": self.xp.int64,
        }
        self.random = self.xp.random.default_rng(1)
        self.dirt = self.xp.zeros(1 << 25)
        self.flushed = self.dirt.nbytes

    def aligned(self, size, dtype):
        raw = self.xp.empty(size * self.xp.dtype(dtype).itemsize + 64, self.xp.uint8)
        first = -raw.ctypes.data % 64
        return raw[first : first + len(raw) - 64].view(dtype)

    def workspace(self, size):
        return self.aligned(size, self.xp.uint8)

    def empty(self, tensor):
        made = self.aligned(tensor.count(), self.types[tensor.dtype]).reshape(tensor.shape)
        made.view(self.xp.uint8).fill(0xFF)  # NaN in every format
        return made

    def draw(self, tensor):
        made = self.empty(tensor)
        if tensor.dtype == "i64":
            made[...] = self.xp.arange(tensor.shape[-1])
            return made
        values = self.random.uniform(tensor.low, tensor.high, tensor.shape)
        made[...] = self.bfloat16(values) if tensor.dtype == "bf16" else values
        return made

    def bfloat16(self, values):
        bits = values.astype(self.xp.float32).view(self.xp.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(self.xp.uint16)

    def numbers(self, x):
        if hasattr(x, "detach"):  # a peer's answer is PyTorch's
            return x.detach().double().numpy()
        if x.dtype == self.xp.uint16:
            x = (x.astype(self.xp.uint32) << 16).view(self.xp.float32)
        return x.astype(self.xp.float64)

    def torch(self, x):
        torch = importlib.import_module("torch")
        return (
            torch.from_numpy(x.view(self.xp.int16)).view(torch.bfloat16)
            if x.dtype == self.xp.uint16
            else torch.from_numpy(x)
        )

    def pointer(self, x):
        return x.ctypes.data

    def strides(self, x):
        return [stride // x.itemsize for stride in x.strides]

    def stream(self):
        return None

    def finish(self):
        pass

    def seconds(self, run):
        self.dirt += 1
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def ceilings(self, dtype):
        xp, width = self.xp, 1024
        source, target = xp.zeros(1 << 23), xp.zeros(1 << 23)
        wide = "f64" if dtype == "f64" else "f32"
        a = xp.ones((width, width), self.types[wide])
        yield f"copy of {source.nbytes >> 20} MiB", lambda: xp.copyto(target, source), 0, 2 * source.nbytes
        yield f"NumPy matmul {width} {wide}", lambda: a @ a, 2 * width**3, 0

    def description(self):
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":")[1] for line in lines if line.startswith("model name")), platform.machine())
        return {"kind": "cpu", "name": model.strip(), "cores": os.cpu_count(), "load": os.getloadavg()}


class Gpu:
    device = CUDA

    def __init__(self):
        try:
            self.xp = importlib.import_module("torch")
        except ImportError as error:
            raise UsageError(f"kernels of a GPU need PyTorch in {sys.executable}: {error}; {OTHER_PYTHON}") from None
        if not self.xp.cuda.is_available():
            raise UsageError(f"PyTorch {self.xp.__version__} finds no GPU")
        xp = self.xp
        self.types = {"f64": xp.float64, "f32": xp.float32, "f16": xp.float16, "bf16": xp.bfloat16, "i64": xp.int64}
        self.random = xp.Generator("cuda").manual_seed(1)
        properties = xp.cuda.get_device_properties(0)
        self.flushed = max(1 << 28, 2 * getattr(properties, "L2_cache_size", 0))
        self.dirt = xp.empty(self.flushed, dtype=xp.uint8, device="cuda")
        # Everything of this program, the peers included, runs on a stream that is not the default one.
        self.own = xp.cuda.Stream()
        self.own.wait_stream(xp.cuda.current_stream())
        xp.cuda.set_stream(self.own)

    def workspace(self, size):
        return self.xp.empty(size, dtype=self.xp.uint8, device="cuda")

    def empty(self, tensor):
        return self.xp.full(
            tensor.shape, -1 if tensor.dtype == "i64" else float("nan"), dtype=self.types[tensor.dtype], device="cuda"
        )

    def draw(self, tensor):
        if tensor.dtype == "i64":
            return self.empty(tensor).copy_(self.xp.arange(tensor.shape[-1], device="cuda"))
        return (
            self.empty(tensor).uniform_(tensor.low, tensor.high, generator=self.random)
            if tensor.low < tensor.high
            else self.empty(tensor).fill_(tensor.low)
        )

    def numbers(self, x):
        return x.detach().double()

    def torch(self, x):
        return x

    def pointer(self, x):
        return x.data_ptr()

    def strides(self, x):
        return x.stride()

    def stream(self):
        return self.own.cuda_stream

    def finish(self):
        self.xp.cuda.synchronize()

    def seconds(self, run):
        first, last = self.xp.cuda.Event(enable_timing=True), self.xp.cuda.Event(enable_timing=True)
        self.dirt.zero_()
        self.xp.cuda._sleep(1 << 21)  # about a millisecond, in which what follows is queued
        first.record(self.own)
        run()
        last.record(self.own)
        last.synchronize()
        return first.elapsed_time(last) / 1e3

    def ceilings(self, dtype):
        xp, width, size = self.xp, 8192, 1 << 30
        source, target = (xp.zeros(size, dtype=xp.uint8, device="cuda") for _ in range(2))
        yield f"copy of {size >> 20} MiB", lambda: target.copy_(source), 0, 2 * size
        a, out = (xp.ones((width, width), dtype=self.types[dtype], device="cuda") for _ in range(2))
        yield f"torch matmul {width} {dtype}", lambda: xp.mm(a, a, out=out), 2 * width**3, 0

    def description(self):
        properties = self.xp.cuda.get_device_properties(0)
        found = {
            "kind": "cuda",
            "name": properties.name,
            "capability": f"{properties.major}.{properties.minor}",
            "multiprocessors": properties.multi_processor_count,
            "memory": properties.total_memory,
            "cuda": self.xp.version.cuda,
        }
        fields = [
            "driver_version",
            "clocks.sm",
            "clocks.mem",
            "clocks.max.sm",
            "clocks.max.mem",
            "power.limit",
            "temperature.gpu",
        ]
        device = f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else "0"
        try:
            done = subprocess.run(
                ["nvidia-smi", "-i", device, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"],
                capture_output=True,
                text=True,
                timeout=60,
            )
            if done.returncode == 0:
                found.update(zip(fields, (value.strip() for value in done.stdout.split(","))))
        except (OSError, subprocess.TimeoutExpired):
            pass
        return found


# What is timed.


class Tensor:
    """Numbers are drawn between low and high; integers are those of the last axis, counted from 0."""

    def __init__(self, shape, dtype, low=-1.0, high=1.0):
        self.shape, self.dtype, self.low, self.high = tuple(shape), dtype, low, high

    def count(self):
        return functools.reduce(lambda a, b: a * b, self.shape, 1)

    def bytes(self):
        return self.count() * SIZES[self.dtype]


class Case:
    """A problem of one equation and reading; features and values have one width."""

    lengths = {CPU: [4096, 1024], CUDA: [65536, 8192, 1024]}  # default numbers of tokens
    batches = {CPU: [1], CUDA: [1]}
    parameters = {}
    widths, detail = "c = m", ""
    leaves = ("phi_q", "phi_k", "v")  # of a peer's backward pass

    def __init__(self, dtype, batch, heads, width, tokens=1):
        self.dtype, self.batch, self.heads, self.width, self.tokens = dtype, batch, heads, width, tokens
        self.state = "f64" if dtype == "f64" else "f32"

    def sizes(self):
        return {"n": self.tokens, "c": self.width, "m": self.width}

    def title(self):
        return f"{self.equation} {self.reading} {self.dtype}, {self.batch} x {self.heads} heads, n = {self.tokens}, {self.widths} = {self.width}{self.detail}"

    def rows(self, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, self.tokens, self.width), self.dtype, low, high)

    def states(self, *shape, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, *shape), self.state, low, high)

    def bytes(self):
        """Every input read once, every output written once; tensors that are all zeros are left out, which no peer reads."""
        return sum(
            tensor.bytes()
            for tensor in (*self.inputs().values(), *self.outputs().values())
            if (tensor.low, tensor.high) != (0, 0)
        )

    def small(self):
        return type(self)(self.dtype, self.batch, self.heads, self.width, min(self.tokens, CHECKED_TOKENS))


class Causal(Case):
    equation, reading = "linear.causal", "value"
    parameters = {"chunk": CHUNK, "eps": 0.0, "zero_denominator": "zero"}

    def inputs(self):
        return {"phi_q": self.rows(0, FEATURE), "phi_k": self.rows(0, FEATURE), "v": self.rows()}

    def outputs(self):
        return {"o": self.rows()}

    def flops(self):
        """Form recurrent: per token and head S += k v^T and q^T S, 2 c m each, Z += k and q . Z, 3 c, and m divisions. Chunked forms do
        more and get no credit for it."""
        c = m = self.width
        return self.batch * self.heads * self.tokens * (4 * c * m + 3 * c + m)

    @staticmethod
    def truth(xp, x, rows):
        """The last rows of the answer, in as much memory as they need times the tokens."""
        weights, total = Causal.weights(xp, x, rows)
        return {"o": xp.einsum("bhij,bhjm->bhim", weights, x["v"]) / total}

    @staticmethod
    def weights(xp, x, rows):
        weights = xp.tril(
            xp.einsum("bhic,bhjc->bhij", x["phi_q"][:, :, -rows:], x["phi_k"]), x["phi_k"].shape[2] - rows
        )
        return weights, weights.sum(-1)[..., None]

    peers = {}


class CausalGradient(Causal):
    reading = "gradient"

    def inputs(self):
        zero = {"low": 0, "high": 0}
        return {
            **super().inputs(),
            "cotangent.o": self.rows(),
            "cotangent.S": self.states(self.width, self.width, **zero),
            "cotangent.Z": self.states(self.width, **zero),
        }

    def outputs(self):
        return {f"gradient.{name}": self.rows() for name in ("phi_q", "phi_k", "v")}

    def flops(self):
        """Per token and head, with g the cotangent over the denominator: S, sum of k v^T, and its mirror R, sum of q g^T over later tokens,
        are updated, dq = S g, dk = R v, dv = R^T k: five times 2 c m. Terms of c or m alone are left out."""
        return self.batch * self.heads * self.tokens * 10 * self.width * self.width

    @staticmethod
    def truth(xp, x, rows):
        weights, total = Causal.weights(xp, x, rows)
        share, g = weights / total, x["cotangent.o"][:, :, -rows:]
        o = xp.einsum("bhij,bhjm->bhim", share, x["v"])
        slope = (xp.einsum("bhim,bhjm->bhij", g, x["v"]) - (g * o).sum(-1)[..., None]) / total
        slope = xp.tril(slope, x["phi_k"].shape[2] - rows)
        found = {
            "phi_q": xp.einsum("bhij,bhjc->bhic", slope, x["phi_k"]),
            "phi_k": xp.einsum("bhij,bhic->bhjc", slope, x["phi_q"][:, :, -rows:]),
            "v": xp.einsum("bhij,bhim->bhjm", share, g),
        }
        return {f"gradient.{name}": value[:, :, -rows:] for name, value in found.items()}

    peers = {}


class CausalStep(Case):
    equation, reading = "linear.causal_step", "value"
    lengths, batches = None, {CPU: [16], CUDA: [64, 256]}
    parameters = {"eps": 0.0, "zero_denominator": "zero"}

    def sizes(self):
        return {"c": self.width, "m": self.width}

    def title(self):
        return f"{self.equation} {self.reading} {self.dtype}, {self.batch} x {self.heads} states in {self.state}, c = m = {self.width}"

    def row(self, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, self.width), self.dtype, low, high)

    def inputs(self):
        return {
            "phi_q": self.row(0, FEATURE),
            "phi_k": self.row(0, FEATURE),
            "v": self.row(),
            "S": self.states(self.width, self.width),
            "Z": self.states(self.width, low=1, high=2),
        }

    def outputs(self):
        return {"o": self.row(), "S": self.states(self.width, self.width), "Z": self.states(self.width)}

    def flops(self):
        """As one token of form recurrent."""
        c = m = self.width
        return self.batch * self.heads * (4 * c * m + 3 * c + m)

    @staticmethod
    def truth(xp, x, rows):
        S, Z = x["S"] + x["phi_k"][..., None] * x["v"][..., None, :], x["Z"] + x["phi_k"]
        return {"o": xp.einsum("bhc,bhcm->bhm", x["phi_q"], S) / (x["phi_q"] * Z).sum(-1)[..., None], "S": S, "Z": Z}

    peers = {}


class Attention(Case):
    equation, reading, causal = "attention.scaled_dot_product", "value", False
    lengths = {CPU: [1024, 256], CUDA: [16384, 4096, 1024]}
    widths, leaves = "d = m", ("q", "k", "v")

    @property
    def parameters(self):
        return {"scale": self.width**-0.5, "causal": int(self.causal), "empty_row": "zero", "block": CHUNK}

    @property
    def detail(self):
        return ", causal" if self.causal else ""

    def sizes(self):
        return {"n": self.tokens, "s": self.tokens, "d": self.width, "m": self.width}

    def inputs(self):
        return {name: self.rows() for name in self.leaves}

    def outputs(self):
        return {"o": self.rows()}

    def flops(self):
        """Two products of d or m for every query and key; in causal attention for those that see each other, about half. Exponentials
        and divisions get no credit."""
        pairs = self.tokens * (self.tokens + 1) // 2 if self.causal else self.tokens**2
        return self.batch * self.heads * pairs * 4 * self.width

    def weights(self, xp, x, first, count):
        """Of `count` queries."""
        logits = xp.einsum("bhid,bhjd->bhij", x["q"][:, :, first : first + count], x["k"]) * self.width**-0.5
        if self.causal:
            logits = xp.where(xp.tril(xp.ones_like(logits), first) > 0, logits, -math.inf)
        weights = xp.exp(logits - xp.amax(logits, -1)[..., None])
        return weights / weights.sum(-1)[..., None]

    def truth(self, xp, x, rows):
        weights = self.weights(xp, x, x["q"].shape[2] - rows, rows)
        return {"o": xp.einsum("bhij,bhjm->bhim", weights, x["v"])}

    peers = {}


class CausalAttention(Attention):
    causal = True
    peers = {}


class AttentionGradient(Attention):
    reading = "gradient"

    def inputs(self):
        return {**super().inputs(), "cotangent.o": self.rows()}

    def outputs(self):
        return {f"gradient.{name}": self.rows() for name in self.leaves}

    def flops(self):
        """Five products: the weights again, those of grad_o with v, and one for each gradient."""
        return super().flops() // 2 * 5

    def truth(self, xp, x, rows):
        tokens, scale = x["q"].shape[2], self.width**-0.5

        def slopes(first, count):
            weights, g = self.weights(xp, x, first, count), x["cotangent.o"][:, :, first : first + count]
            by_weight = xp.einsum("bhim,bhjm->bhij", g, x["v"])
            return weights, weights * (by_weight - (weights * by_weight).sum(-1)[..., None]), g

        _, slope, _ = slopes(tokens - rows, rows)
        found = {"gradient.q": scale * xp.einsum("bhij,bhjd->bhid", slope, x["k"]), "gradient.k": 0, "gradient.v": 0}
        for first in range(tokens - rows if self.causal else 0, tokens, 1024):  # queries that see the last keys
            count = min(1024, tokens - first)
            weights, slope, g = slopes(first, count)
            found["gradient.k"] += scale * xp.einsum(
                "bhij,bhid->bhjd", slope[..., -rows:], x["q"][:, :, first : first + count]
            )
            found["gradient.v"] += xp.einsum("bhij,bhim->bhjm", weights[..., -rows:], g)
        return found

    peers = {}


class CausalAttentionGradient(AttentionGradient):
    causal = True
    peers = {}


class Rotary(Case):
    equation, reading = "positional.rotary", "value"
    parameters = {"base": 10000.0, "pairing": "half"}
    widths = "d"

    def sizes(self):
        return {"n": self.tokens, "d": self.width}

    def inputs(self):
        return {"x": self.rows(), "positions": Tensor((self.batch, 1, self.tokens), "i64")}

    def outputs(self):
        return {"y": self.rows()}

    def flops(self):
        """Four products and two sums for every pair; sines and cosines get no credit."""
        return self.batch * self.heads * self.tokens * 3 * self.width

    @staticmethod
    def angles(xp, x):
        """Of every token and pair, [batch, 1, tokens, pairs]."""
        half = x["x"].shape[-1] // 2
        pairs = xp.cumsum(xp.ones_like(x["x"][:1, :1, :1, :half]), -1) - 1
        return x["positions"][..., None] * xp.exp(pairs * (-math.log(10000.0) / half))

    @staticmethod
    def truth(xp, x, rows):
        last = {name: value[:, :, -rows:] for name, value in x.items()}
        angles, half = Rotary.angles(xp, last), x["x"].shape[-1] // 2
        a, b = last["x"][..., :half], last["x"][..., half:]
        turned = a * xp.cos(angles) - b * xp.sin(angles), a * xp.sin(angles) + b * xp.cos(angles)
        return {"y": xp.concatenate(turned, -1)}

    peers = {}


ATTENTION = (Attention, CausalAttention, AttentionGradient, CausalAttentionGradient)
CASES = (Causal, CausalGradient, CausalStep, *ATTENTION, Rotary)
EQUATIONS = sorted({case.equation for case in CASES})


# Peers: (memory, case, inputs) -> (what is timed, its result -> outputs by name in layout bhnd).


def peer(*cases, name, option=None, only=None):
    """Timed when the command line has the option, and on that kind of device only."""

    def register(prepare):
        for case in cases:
            case.peers[name] = prepare
        prepare.option, prepare.only = option, only
        return prepare

    return register


def peers_of(kind, device, options):
    return {
        name: prepare
        for name, prepare in kind.peers.items()
        if (not prepare.option or getattr(options, prepare.option)) and prepare.only in (None, device)
    }


def imported(module, package):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotTimed("absent", f"not installed: {package} ({error})") from None


def tensors(memory, inputs, names, transposed=False):
    imported("torch", "torch")
    found = (memory.torch(inputs[name]) for name in names)
    return [x.transpose(1, 2).contiguous() if transposed else x for x in found]


def backward(forward, q, k, v, g):
    """The backward pass of forward(q, k, v), which has run."""
    torch = importlib.import_module("torch")
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    o = forward(*leaves)
    g = g.to(o.dtype)
    return lambda: torch.autograd.grad(o, leaves, g, retain_graph=True)


def passes(memory, case, inputs, forward, transposed):
    """Either pass of forward(q, k, v), whose tensors have tokens before heads when transposed."""
    turn = (lambda x: x.transpose(1, 2)) if transposed else (lambda x: x)
    if case.reading == "value":
        q, k, v = tensors(memory, inputs, case.leaves, transposed)
        return lambda: forward(q, k, v), lambda o: {"o": turn(o)}
    run = backward(forward, *tensors(memory, inputs, (*case.leaves, "cotangent.o"), transposed))
    return run, lambda found: {f"gradient.{name}": turn(x) for name, x in zip(case.leaves, found)}


def flash_linear_attention(name):
    @peer(Causal, CausalGradient, name=f"fla {name}")
    def prepare(memory, case, inputs):
        imported("torch", "torch")
        kernel = getattr(imported("fla.ops.linear_attn", "flash-linear-attention"), f"{name}_linear_attn")
        return passes(
            memory, case, inputs, lambda q, k, v: kernel(q, k, v, scale=1.0, normalize=True)[0], transposed=True
        )


for kernel_name in ("chunk", "fused_chunk", "fused_recurrent"):
    flash_linear_attention(kernel_name)


@peer(CausalStep, name="fla fused_recurrent")
def flash_linear_attention_step(memory, case, inputs):
    imported("torch", "torch")
    kernel = imported("fla.ops.linear_attn", "flash-linear-attention").fused_recurrent_linear_attn
    q, k, v = (x[:, None] for x in tensors(memory, inputs, case.leaves))  # one token
    S, Z = tensors(memory, inputs, ("S", "Z"))
    return lambda: kernel(
        q, k, v, scale=1.0, normalize=True, initial_state=(S, Z[:, None]), output_final_state=True
    ), lambda found: {"o": found[0][:, 0], "S": found[1][0], "Z": found[1][1][:, 0]}


@peer(Causal, CausalGradient, name="fast-transformers")
def fast_transformers(memory, case, inputs):
    imported("torch", "torch")
    product = imported("fast_transformers.causal_product", "pytorch-fast-transformers").causal_dot_product
    if case.dtype != "f32":
        raise NotTimed("outside", "float32 only")
    return passes(
        memory,
        case,
        inputs,
        lambda q, k, v: product(q, k, v) / (q * k.cumsum(2)).sum(-1, keepdim=True),
        transposed=False,
    )


def chunked(q, k, v):
    """Masked products in chunks, states between them in float32, all chunks at once."""
    torch = importlib.import_module("torch")
    tokens = q.shape[2]
    total = (
        (q * k.float().cumsum(2)).sum(-1, keepdim=True)
        if q.dtype != torch.float64
        else (q * k.cumsum(2)).sum(-1, keepdim=True)
    )
    q, k, v = (torch.nn.functional.pad(x, (0, 0, 0, -tokens % CHUNK)).unflatten(2, (-1, CHUNK)) for x in (q, k, v))
    own = torch.einsum("bhtcd,bhtcm->bhtdm", k, v)
    wide = own if own.dtype == torch.float64 else own.float()
    before = (wide.cumsum(2) - wide).to(q.dtype)
    o = torch.einsum("bhtid,bhtjd->bhtij", q, k).tril() @ v + q @ before
    return (o.flatten(2, 3)[:, :, :tokens] / total).to(v.dtype)


@peer(Causal, CausalGradient, name="PyTorch chunked")
def pytorch_chunked(memory, case, inputs):
    return passes(memory, case, inputs, chunked, transposed=False)


@peer(Causal, CausalGradient, name="torch.compile chunked", option="compile")
def compiled_chunked(memory, case, inputs):
    return passes(memory, case, inputs, imported("torch", "torch").compile(chunked, dynamic=False), transposed=False)


@peer(Causal, CausalGradient, name="PyTorch quadratic")
def pytorch_quadratic(memory, case, inputs):
    torch = imported("torch", "torch")
    size = case.batch * case.heads * case.tokens**2 * SIZES[case.dtype]
    if size > 1 << 32:
        raise NotTimed("outside", f"its weights are {size / 2**30:.0f} GiB")

    def quadratic(q, k, v):
        weights = torch.tril(q @ k.transpose(2, 3))
        return weights @ v / weights.sum(-1, keepdim=True)

    return passes(memory, case, inputs, quadratic, transposed=False)


def step(q, k, v, S, Z):
    S, Z = S + k[..., None].to(S.dtype) * v[..., None, :], Z + k
    return (q.to(S.dtype)[..., None, :] @ S)[..., 0, :] / (q * Z).sum(-1, keepdim=True), S, Z


@peer(CausalStep, name="PyTorch")
def pytorch_step(memory, case, inputs):
    x = tensors(memory, inputs, case.inputs())
    return lambda: step(*x), lambda found: dict(zip(case.outputs(), found))


@peer(CausalStep, name="torch.compile", option="compile")
def compiled_step(memory, case, inputs):
    compiled = imported("torch", "torch").compile(step, dynamic=False)
    x = tensors(memory, inputs, case.inputs())
    return lambda: compiled(*x), lambda found: dict(zip(case.outputs(), found))


def scaled_dot_product(label, backend, device):
    @peer(*ATTENTION, name=f"PyTorch SDPA {label}", only=device)
    def prepare(memory, case, inputs):
        torch = imported("torch", "torch")
        chosen = imported("torch.nn.attention", "torch 2.3 or newer")
        if not hasattr(chosen.SDPBackend, backend):
            raise NotTimed("absent", f"torch {torch.__version__} has no {backend}")

        def forward(q, k, v):
            with chosen.sdpa_kernel([getattr(chosen.SDPBackend, backend)]):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case.causal)

        return passes(memory, case, inputs, forward, transposed=False)


for label, backend, device in (
    ("flash", "FLASH_ATTENTION", None),
    ("cuDNN", "CUDNN_ATTENTION", CUDA),
    ("efficient", "EFFICIENT_ATTENTION", CUDA),
    ("math", "MATH", None),
):
    scaled_dot_product(label, backend, device)


@peer(*ATTENTION, name="flash-attn", only=CUDA)
def flash_attention(memory, case, inputs):
    imported("torch", "torch")
    kernel = imported("flash_attn", "flash-attn").flash_attn_func
    if SIZES[case.dtype] != 2:
        raise NotTimed("outside", "16 bits only")
    return passes(memory, case, inputs, lambda q, k, v: kernel(q, k, v, causal=case.causal), transposed=True)


@peer(*ATTENTION, name="torch.compile flex (Triton)", option="compile", only=CUDA)
def flex_attention(memory, case, inputs):
    torch, flex = imported("torch", "torch"), imported("torch.nn.attention.flex_attention", "torch 2.5 or newer")
    compiled, mask = torch.compile(flex.flex_attention, dynamic=False), None
    if case.causal:
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, case.tokens, case.tokens, device="cuda")
    return passes(memory, case, inputs, lambda q, k, v: compiled(q, k, v, block_mask=mask), transposed=False)


def rotated(x, cosine, sine):
    """As transformers does it, cosines and sines made beforehand."""
    a, b = x.chunk(2, -1)
    return x * cosine + importlib.import_module("torch").cat((-b, a), -1) * sine


def rotation(memory, inputs, turn):
    torch = imported("torch", "torch")
    x, positions = tensors(memory, inputs, ("x", "positions"))
    angles = Rotary.angles(torch, {"x": x.double(), "positions": positions.double()}).repeat(1, 1, 1, 2)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return lambda: turn(x, cosine, sine), lambda y: {"y": y}


@peer(Rotary, name="PyTorch")
def pytorch_rotation(memory, case, inputs):
    return rotation(memory, inputs, rotated)


@peer(Rotary, name="torch.compile", option="compile")
def compiled_rotation(memory, case, inputs):
    return rotation(memory, inputs, imported("torch", "torch").compile(rotated, dynamic=False))


@peer(*CASES, name="NumPy", only=CPU)
def numpy_form(memory, case, inputs):
    """The form that the others are checked against, in the case's precision."""
    if case.dtype == "bf16":
        raise NotTimed("outside", "NumPy has no bfloat16")
    if case.batch * case.heads * case.tokens**2 * SIZES[case.dtype] > 1 << 30:
        raise NotTimed("outside", "its weights are more than 1 GiB")
    return lambda: case.truth(memory.xp, inputs, case.tokens), lambda found: found


# Checking and timing.


def error_of(memory, case, inputs, found, rows):
    """The largest error of a block of rows of any output, relative to its true norm, over the last `rows` tokens; NaN is infinite."""
    worst = 0.0
    for name, true in case.truth(memory.xp, {name: memory.numbers(x) for name, x in inputs.items()}, rows).items():
        got = memory.numbers(found[name])
        if case.tokens > rows:
            got = got[:, :, -rows:]
        if tuple(got.shape) != tuple(true.shape):
            raise NotTimed("wrong", f"{name} has shape {tuple(got.shape)}, not {tuple(true.shape)}")
        wrong, size = (((x**2).sum(-1)) for x in (got - true, true))
        if len(wrong.shape) == 2:  # one row per head
            wrong, size = wrong[..., None], size[..., None]
        for first in range(0, wrong.shape[2], BLOCK):
            block = slice(first, first + BLOCK)
            error = float((wrong[:, :, block].sum(-1) / size[:, :, block].sum(-1)).max()) ** 0.5
            worst = max(worst, error if error == error else math.inf)
    return worst


def head(arrays):
    """The last head of each tensor."""
    return {name: x[-1:, -1:] for name, x in arrays.items()}


class Subject:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind  # "kernel", "peer" or "ceiling"
        self.status, self.reason, self.error, self.run, self.times = "timed", None, None, None, []
        self.flops = self.bytes = 0

    def prepare(self, memory, case, make, problems):
        """make(case, inputs) -> (run, result). Answers the small problem and the timed one before it may be timed."""
        try:
            self.flops, self.bytes = case.flops(), case.bytes()
            for of, inputs, rows in problems:
                run, result = make(of, inputs)
                answer = result(run())
                memory.finish()
                small = of.tokens <= rows
                error = error_of(
                    memory, of, *((inputs, answer) if small else (head(inputs), head(answer))), min(rows, of.tokens)
                )
                self.error = max(self.error or 0, error)
                if not error <= TOLERANCE[case.dtype]:
                    raise NotTimed(
                        "wrong", f"{'of the small problem' if small else 'in the last rows'} the error is {error:.2g}"
                    )
            self.run = run
            for _ in range(WARM_UP):
                self.run()
            memory.finish()
        except NotTimed as why:
            self.status, self.reason = why.status, str(why)
        except Exception as error:  # of a peer, or out of memory: whatever it is, the others are timed
            self.status, self.reason = "failed", f"{type(error).__name__}: {error}".splitlines()[0][:300]

    def record(self, best):
        found = {"name": self.name, "kind": self.kind, "status": self.status, "flops": self.flops, "bytes": self.bytes}
        if self.reason:
            found["reason"] = self.reason
        if self.error is not None:
            found["error"] = min(self.error, sys.float_info.max)  # JSON has no infinity
        if self.times:
            median = statistics.median(self.times)
            quarter = statistics.quantiles(self.times, n=4, method="inclusive") if len(self.times) > 1 else [median] * 3
            found.update(
                seconds=self.times,
                median=median,
                spread=(quarter[2] - quarter[0]) / median,
                flops_per_second=self.flops / median,
                bytes_per_second=self.bytes / median,
            )
            if self.kind != "ceiling":
                found["ratio"] = statistics.median(mine / ours for mine, ours in zip(self.times, best.times))
        return found


def kernel_subjects(plugin, memory, case, problems):
    for kernel in plugin.kernels:
        if (kernel.equation, kernel.reading, kernel.dtype) != (case.equation, case.reading, case.dtype):
            continue
        subject = Subject(kernel.title(), "kernel")
        condition = unmet(kernel.capabilities, {**case.sizes(), **case.parameters})
        if kernel.layout != "bhnd":
            subject.status, subject.reason = "outside", f"layout {kernel.layout}; bhnd is timed"
        elif condition:
            subject.status, subject.reason = "outside", f"outside its capabilities: {condition}"
        else:

            def make(of, inputs, kernel=kernel):
                outputs = {name: memory.empty(tensor) for name, tensor in of.outputs().items()}
                return Call(kernel, of, memory, inputs, outputs), lambda _: outputs

            subject.prepare(memory, case, make, problems)
        yield subject


def peer_subjects(memory, case, problems, options):
    for name, prepare in peers_of(case, memory.device, options).items():
        subject = Subject(name, "peer")
        subject.prepare(memory, case, lambda of, inputs, prepare=prepare: prepare(memory, of, inputs), problems)
        yield subject


def ceiling_subjects(memory, case):
    for name, run, flops, moved in memory.ceilings(case.dtype):
        subject = Subject(name, "ceiling")
        subject.run, subject.flops, subject.bytes = run, flops, moved
        for _ in range(WARM_UP):
            run()
        yield subject


def measure(plugin, memory, case, options):
    small = case.small()
    found = {
        "equation": case.equation,
        "reading": case.reading,
        "dtype": case.dtype,
        "batch": case.batch,
        "heads": case.heads,
        "sizes": case.sizes(),
        "parameters": case.parameters,
        "flops": case.flops(),
        "bytes": case.bytes(),
        "title": case.title(),
    }
    try:
        inputs = {name: memory.draw(tensor) for name, tensor in case.inputs().items()}
    except Exception as error:
        if type(error).__name__ not in ("OutOfMemoryError", "_ArrayMemoryError", "MemoryError"):
            raise
        return {**found, "subjects": [], "reason": "its inputs do not fit into memory"}
    problems = [
        (small, {name: memory.draw(tensor) for name, tensor in small.inputs().items()}, small.tokens),
        (case, inputs, CHECKED_ROWS),
    ]
    subjects = [*kernel_subjects(plugin, memory, case, problems), *peer_subjects(memory, case, problems, options)]
    timed = [subject for subject in subjects if subject.run and subject.status == "timed"]
    ours = [subject for subject in timed if subject.kind == "kernel"]
    if ours:
        ceilings = list(ceiling_subjects(memory, case))
        subjects += ceilings
        end = time.monotonic() + options.seconds
        for round in range(options.rounds):
            if round and time.monotonic() > end:
                break
            for subject in timed + ceilings:
                subject.times.append(memory.seconds(subject.run))
    best = min(ours, key=lambda subject: statistics.median(subject.times), default=None)
    rows = [subject.record(best) for subject in subjects]
    if not ours:
        for row in rows:
            if row["status"] == "timed":
                row.update(status="outside", reason="no kernel of the plugin to compare it with")
    return {**found, "subjects": rows}


# What a person sees.


def engineering(value, unit):
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} us"


def table(case):
    """At most 100 columns. Peers that are not installed share a line."""
    rows = case["subjects"]
    ceilings = [row for row in rows if row["kind"] == "ceiling"]
    top = {key: max((row[key] for row in ceilings), default=0) for key in ("flops_per_second", "bytes_per_second")}
    rounds = max((len(row.get("seconds", ())) for row in rows), default=0)
    letter, scale = ("T", 1e12) if top["flops_per_second"] > 1e13 else ("G", 1e9)
    lines = [
        case["title"],
        f"  {engineering(case['flops'], 'flop')}, {engineering(case['bytes'], 'B')}, {rounds} rounds",
        f"  {'':<34}{'median':>11}{'spread':>8}{letter + 'FLOP/s':>10}{'share':>7}{'GB/s':>9}{'share':>7}{'ratio':>10}",
    ]
    if not rows:
        return f"{lines[0]}\n  not timed: {case['reason']}\n"
    absent = [row["name"] for row in rows if row["status"] == "absent"]
    for row in rows:
        if row["status"] == "absent":
            continue
        name = f"{row['name'][:33]:<34}"
        if "median" not in row:
            reason = f"{row['status']}: {' '.join(row['reason'].split())}"
            lines += textwrap.wrap(reason, 98, initial_indent=f"  {name}", subsequent_indent=" " * 36)
            continue

        def rate(key, scale):
            value = row[key]
            return (
                ("-", "-")
                if not value
                else (f"{value / scale:.3g}", f"{100 * value / top[key]:.0f} %" if top[key] else "-")
            )

        flops, flops_share = rate("flops_per_second", scale)
        moved, moved_share = rate("bytes_per_second", 1e9)
        ratio = f"{row['ratio']:.3g}" if "ratio" in row else "-"
        lines.append(
            f"  {name}{duration(row['median']):>11}{100 * row['spread']:>6.1f} %"
            f"{flops:>10}{flops_share:>7}{moved:>9}{moved_share:>7}{ratio:>10}"
        )
    if absent:
        lines += textwrap.wrap(f"not installed: {', '.join(absent)}", 98, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit():
    """Of the checkout that this file lies in."""
    root = pathlib.Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout.strip() if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def write(path, record):
    """All or nothing."""
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        pathlib.Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None


# The command line.


def library(name):
    """NAME is libattest_NAME.so among the project's plugins, anything with a dot or a slash a path."""
    if "/" in name or "." in name:
        path = pathlib.Path(name)
        if not path.is_file():
            raise InvalidPlugin(f"{name} does not exist")
        return path.resolve()
    folder = os.environ.get("ATTEST_PLUGIN_DIR")
    if not folder:
        raise UsageError(
            "ATTEST_PLUGIN_DIR does not name the folder of the plugins; `attest bench` does that, a path needs none"
        )
    path = pathlib.Path(folder) / f"libattest_{name.replace('-', '_')}.so"
    if not path.is_file():
        has = sorted(found.name[10:-3].replace("_", "-") for found in pathlib.Path(folder).glob("libattest_*.so"))
        raise InvalidPlugin(f"there is no plugin {name} in {folder}; it has {', '.join(has) or 'none'}")
    return path


def positive(value):
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def integers(value):
    return [positive(part) for part in value.split(",")]


def tokens(value):
    numbers = integers(value)
    if min(numbers) < BLOCK:
        raise ValueError
    return numbers


# What argparse calls them in a message.
integers.__name__ = positive.__name__ = "positive integer"
tokens.__name__ = f"number of tokens (at least {BLOCK})"


def dtypes(value):
    names = value.split(",")
    if not set(names) <= set(TOLERANCE):
        raise ValueError
    return names


dtypes.__name__ = f"dtype (of {', '.join(TOLERANCE)})"


def parser():
    one = argparse.ArgumentParser(
        prog="attest bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one.add_argument(
        "plugin", metavar="NAME|PATH", help="cuda, cuda-emulated, openmp ..., or the path of a plugin library"
    )
    one.add_argument(
        "--equation", default="*", help=f"glob over the equations that can be timed: {', '.join(EQUATIONS)}"
    )
    one.add_argument(
        "--dtype", type=dtypes, help="as in bf16,f32 (default: bf16, f16 and f32, where the plugin has them)"
    )
    one.add_argument(
        "--tokens",
        type=tokens,
        metavar="N,..",
        help="default 65536,8192,1024 on a GPU, 4096,1024 on a CPU; of softmax attention 16384,4096,1024 and 1024,256",
    )
    one.add_argument(
        "--width",
        type=integers,
        metavar="D,..",
        help="features and width of values (default 128,64,256 on a GPU, 64 on a CPU)",
    )
    one.add_argument("--heads", type=positive, help="default 16 on a GPU, 4 on a CPU")
    one.add_argument(
        "--batch",
        type=integers,
        metavar="B,..",
        help="sequences (default 1; of linear.causal_step 64,256 on a GPU, 16 on a CPU)",
    )
    one.add_argument("--rounds", type=positive, help="default 30 on a GPU, 7 on a CPU")
    one.add_argument(
        "--seconds", type=float, default=30, help="after which a case begins no further round (default 30)"
    )
    extent = one.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick", action="store_true", help="the first of each list only, and a third of the default rounds"
    )
    extent.add_argument(
        "--all",
        action="store_true",
        help="all combinations (default: those that differ from the first in one of the lists)",
    )
    one.add_argument(
        "--compile", action="store_true", help="time what torch.compile makes of the PyTorch forms as well"
    )
    one.add_argument("--list", action="store_true", help="show the kernels, cases and peers, and time nothing")
    one.add_argument("--json", metavar="FILE", help="write the record to this file as well, raw times included")
    return one


def settle(options, plugin):
    """Defaults that depend on the device."""
    gpu = plugin.device == CUDA
    options.width = options.width or ([128, 64, 256] if gpu else [64])
    options.heads = options.heads or (16 if gpu else 4)
    options.rounds = options.rounds or (30 if gpu else 7) // (3 if options.quick else 1)


def cases_of(options, plugin):
    if not any(fnmatch.fnmatchcase(name, options.equation) for name in EQUATIONS):
        raise UsageError(
            f"--equation '{options.equation}' matches nothing that can be timed; there are {', '.join(EQUATIONS)}"
        )
    cases = []
    for kind in CASES:
        if not fnmatch.fnmatchcase(kind.equation, options.equation):
            continue
        has = {
            kernel.dtype
            for kernel in plugin.kernels
            if (kernel.equation, kernel.reading) == (kind.equation, kind.reading)
        }
        wanted = [dtype for dtype in options.dtype or ("bf16", "f16", "f32") if dtype in has]
        lengths = options.tokens or kind.lengths[plugin.device] if kind.lengths else [1]
        lists = [wanted, options.batch or kind.batches[plugin.device], [options.heads], options.width, lengths]
        for places in itertools.product(*(range(len(values)) for values in lists)):
            if options.all or sum(place > 0 for place in places) <= (0 if options.quick else 1):
                cases.append(kind(*(values[place] for values, place in zip(lists, places))))
    if not cases:
        has = sorted(
            {
                f"{kernel.equation} {kernel.reading} {kernel.dtype}"
                for kernel in plugin.kernels
                if kernel.equation in EQUATIONS
            }
        )
        raise InvalidPlugin(
            f"{plugin.path} has no kernel of {options.equation} in {','.join(options.dtype or ['bf16', 'f16', 'f32'])}; "
            f"it has {', '.join(has) or 'none that can be timed'}"
        )
    return cases


def show(plugin, cases, options):
    print(f"{plugin.name} {plugin.version}, on a {'GPU' if plugin.device == CUDA else 'CPU'}")
    for case in cases:
        forms = [
            kernel.title()
            for kernel in plugin.kernels
            if (kernel.equation, kernel.reading, kernel.dtype, kernel.layout)
            == (case.equation, case.reading, case.dtype, "bhnd")
        ]
        print(f"{case.title()}: {' '.join(forms)}")
    for kind, case in {type(case): case for case in cases}.items():
        print(
            f"peers of {kind.equation} {kind.reading}{case.detail}: {', '.join(peers_of(kind, plugin.device, options))}"
        )
    return 0


def main():
    options = parser().parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    try:
        importlib.import_module("torch")  # first, so that a plugin's libraries do not stand in for its own
    except ImportError:
        pass
    plugin = Plugin(library(options.plugin))
    settle(options, plugin)
    cases = cases_of(options, plugin)
    if options.list:
        return show(plugin, cases, options)
    memory = Gpu() if plugin.device == CUDA else Host()
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": sys.argv[1:],
        "plugin": {
            "name": plugin.name,
            "version": plugin.version,
            "path": str(plugin.path),
            "commit": commit(),
            "sha256": hashlib.sha256(plugin.path.read_bytes()).hexdigest(),
        },
        "device": memory.description(),
        "system": platform.platform(),
        "versions": {
            "python": platform.python_version(),
            **{
                package: version(package)
                for package in (
                    "numpy",
                    "torch",
                    "triton",
                    "flash-attn",
                    "flash-linear-attention",
                    "fla-core",
                    "pytorch-fast-transformers",
                )
            },
        },
        "settings": {
            "rounds": options.rounds,
            "warm_up": WARM_UP,
            "flushed_bytes": memory.flushed,
            "tolerance": TOLERANCE,
            "checked_tokens": CHECKED_TOKENS,
            "checked_rows": CHECKED_ROWS,
            "chunk": CHUNK,
        },
        "cases": [],
    }
    if options.json:
        write(options.json, record)  # before an hour of timing, not after it
    print(f"{plugin.name} {plugin.version} on {record['device']['name']}, {record['date']}\n")
    gave_up = None
    try:
        for case in cases:
            record["cases"].append(measure(plugin, memory, case, options))
            print(table(record["cases"][-1]))
        record["device_after"] = memory.description()
    except KeyboardInterrupt:
        record["interrupted"] = True
    except RuntimeError as error:  # after a bad access of a kernel no call to the device succeeds
        gave_up = record["gave_up"] = f"the device gave up after {len(record['cases'])} of {len(cases)} cases: {error}"
    subjects = [row for case in record["cases"] for row in case["subjects"]]
    ours, peers = ([row for row in subjects if row["kind"] == kind] for kind in ("kernel", "peer"))

    def count(rows, *statuses):
        return sum(row["status"] in statuses for row in rows)

    print(
        f"Kernels: {count(ours, 'timed')} timed, {count(ours, 'wrong')} wrong, {count(ours, 'failed')} failed, "
        f"{count(ours, 'outside')} outside their capabilities"
    )
    print(
        f"Peers: {count(peers, 'timed')} timed, {count(peers, 'absent')} not installed, {count(peers, 'wrong')} compute something else, "
        f"{count(peers, 'failed')} failed, {count(peers, 'outside')} do not apply"
    )
    if options.json:
        write(options.json, record)
    if gave_up:
        raise InvalidPlugin(f"{plugin.path}: {gave_up}")
    if "interrupted" in record:
        return 130
    if count(ours, "wrong", "failed"):
        print("attest bench: a kernel of the plugin is wrong or failed, and has no time", file=sys.stderr)
        return 1
    if not count(ours, "timed"):
        raise InvalidPlugin(f"{plugin.path}: no kernel could be timed")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        print(f"attest bench: {error}", file=sys.stderr)
        sys.exit(2)
    except InvalidPlugin as error:
        print(f"attest bench: INVALID: {error}", file=sys.stderr)
        sys.exit(3)
    except BrokenPipeError:  # as in `| head`: nobody reads on, the interpreter's last flush included
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
