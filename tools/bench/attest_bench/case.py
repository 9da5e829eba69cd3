# SPDX-License-Identifier: MIT
"""A problem that kernels and peers are given: its tensors, sizes, parameters and number of operations."""

import math

from .interface import CPU, CUDA

CHECKED_TOKENS = 384  # six chunks of 64, three of 128
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8}  # bytes


class Tensor:
    """Numbers are drawn between low and high; integers are those of the last axis, counted from 0."""

    def __init__(self, shape, dtype, low=-1.0, high=1.0):
        self.shape, self.dtype, self.low, self.high = tuple(shape), dtype, low, high

    def count(self):
        return math.prod(self.shape)

    def bytes(self):
        return self.count() * SIZES[self.dtype]


class Case:
    """A problem of one equation, of its outputs or of its gradients; features and values have one width. A subclass
    has `equation` and `reading` as kernels name them, inputs(), outputs(), flops(), and truth(xp, x, rows): the last
    rows of the outputs by the array library xp in float64, in as much memory as those rows need times the tokens."""

    lengths = {CPU: [4096, 1024], CUDA: [65536, 8192, 1024]}  # default numbers of tokens
    batches = {CPU: [1], CUDA: [1]}
    parameters = {}
    widths, detail = "c = m", ""
    leaves = ("phi_q", "phi_k", "v")  # of a peer's backward pass

    def __init_subclass__(cls):
        cls.peers = {}  # by name, filled by peers.peer

    def __init__(self, dtype, batch, heads, width, tokens=1):
        self.dtype, self.batch, self.heads, self.width, self.tokens = dtype, batch, heads, width, tokens
        self.state = "f64" if dtype == "f64" else "f32"

    def sizes(self):
        return {"n": self.tokens, "c": self.width, "m": self.width}

    def title(self):
        size = f"{self.batch} x {self.heads} heads, n = {self.tokens}, {self.widths} = {self.width}"
        return f"{self.equation} {self.reading} {self.dtype}, {size}{self.detail}"

    def rows(self, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, self.tokens, self.width), self.dtype, low, high)

    def states(self, *shape, low=-1.0, high=1.0):
        return Tensor((self.batch, self.heads, *shape), self.state, low, high)

    def bytes(self):
        """Every input read once, every output written once. Tensors that are all zeros are left out: no peer reads
        them."""
        return sum(
            tensor.bytes()
            for tensor in (*self.inputs().values(), *self.outputs().values())
            if (tensor.low, tensor.high) != (0, 0)
        )

    def small(self):
        return type(self)(self.dtype, self.batch, self.heads, self.width, min(self.tokens, CHECKED_TOKENS))
