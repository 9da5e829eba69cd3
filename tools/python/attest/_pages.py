# SPDX-License-Identifier: MIT
"""Equations as data: their pages and their golden cases."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from attest import native

DATA = pathlib.Path(__file__).parent / "share" / "attest"
GOLDEN = DATA / "golden"


def operations() -> list[str]:
    """The ids of all equations that can be judged, as in "linear.causal"."""
    return native.operations()


def describe(equation: str) -> dict[str, Any]:
    """Returns the page of an equation as a dictionary.

    Its keys are "id", "title", "formula", "about", "source", "sizes", "inputs", "outputs", "parameters" (with default
    and choices), "forms", "constraints", "laws", "faults", "flags" (of its golden cases), "gradient" (the inputs that
    its vector-Jacobian product is taken for), "errata", "claims" and "notes". The "shape" of a tensor names sizes.

    Raises UsageError, with near names, when there is no such equation."""
    return json.loads(native.describe(equation))


_page = functools.lru_cache(maxsize=None)(describe)  # for those who do not change it


@dataclasses.dataclass(frozen=True)
class Profile:
    """A precision that a kernel can claim. `units` are the largest relative errors of a rounding, by channel:
    accumulate, operand, function, store, underflow."""

    name: str
    storage: str
    meaning: str
    units: dict[str, float]


def profiles() -> list[Profile]:
    """The precisions that can be claimed."""
    return [Profile(**profile) for profile in native.profiles()]


@dataclasses.dataclass(frozen=True)
class Certified:
    """The certified value of one tensor, hi + lo: `hi` (float64) and `lo` (float32) have its shape. `bound` and `rms`
    (float32, [5, *shape]) are the bound and the expected error of a correct kernel for each channel, in units of the
    channel: see Profile.units."""

    hi: np.ndarray
    lo: np.ndarray
    bound: np.ndarray
    rms: np.ndarray

    def allowance(self, profile: str | Profile) -> np.ndarray:
        """Returns the largest error that a correct kernel of the profile can have at each element: the sum over
        channels of unit x bound, a float64 array of the shape of `hi`."""
        units = list((profile if isinstance(profile, Profile) else _profile(profile)).units.values())
        return np.tensordot(units, self.bound.astype("f8"), 1)


def _profile(name: str) -> Profile:
    for profile in profiles():
        if profile.name == name:
            return profile
    raise native.UsageError(f"there is no profile '{name}'; there are {', '.join(p.name for p in profiles())}")


@dataclasses.dataclass(frozen=True)
class Case:
    """One golden case. Inputs and cotangents are float64 arrays that `exact` ("bf16", "f32", "f64") holds exactly.
    `outputs` has an entry per output ("o") and, for the cotangents, per gradient ("gradient.q"). `units` is "wide"
    where the bounds hold for every profile, "narrow" where they hold for f32 and f64. Where a discrete decision is too
    close to call, `alternatives` lists the outputs of every other way it may go; `margin` is each decision's certified
    gap."""

    query: str
    flag: str
    exact: str
    units: str
    sizes: dict[str, int]
    parameters: dict[str, Any]
    inputs: dict[str, np.ndarray]
    cotangents: dict[str, np.ndarray]
    outputs: dict[str, Certified]
    alternatives: list[dict[str, Certified]]
    margin: np.ndarray


def golden(equation: str) -> Iterator[Case]:
    """The golden cases of an equation, in the order of its file.

    Raises UsageError when there is no such equation, RuntimeError when its golden file is missing or damaged."""
    for case in native.golden(equation, str(GOLDEN)):
        case["outputs"], *case["alternatives"] = (
            {name: Certified(**tensor) for name, tensor in results.items()}
            for results in (case["outputs"], *case["alternatives"])
        )
        yield Case(**case)
