# SPDX-License-Identifier: MIT
"""Tensors in the memory of a GPU, as those of PyTorch, and the time between two events of a stream."""

import importlib
import subprocess
import sys

from .errors import OTHER_PYTHON, UsageError
from .interface import CUDA


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
        return x.detach().to(self.xp.float64, copy=True)

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
