# SPDX-License-Identifier: MIT
"""Rotary position embedding."""

import importlib
import math

from ..case import Case, Tensor
from ..peers import imported, peer, tensors


class Rotary(Case):
    equation, reading = "positional.rotary", "value"
    parameters = {
        "base": 10000.0,
        "pairing": "half",
        "rotary_width": 0,
        "scaling": "none",
        "factor": 8.0,
        "original_length": 8192,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "attention_factor": 1.0,
        "low_frequency_factor": 1.0,
        "high_frequency_factor": 4.0,
    }
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
