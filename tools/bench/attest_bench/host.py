# SPDX-License-Identifier: MIT
"""Tensors in the memory of a CPU, as NumPy arrays, and the time of a call. A bfloat16 is its 16 bits."""

import importlib
import os
import platform
import sys
import time

from .errors import OTHER_PYTHON, UsageError
from .interface import CPU


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
