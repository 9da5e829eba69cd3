# SPDX-License-Identifier: MIT
"""Kernels as tests: the objects that the pytest plugin collects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from attest._check import check
from attest._pages import describe
from attest._report import Report


@dataclasses.dataclass
class Conformance:
    """A function that returns a kernel, with the equation, profiles and options that it is judged by."""

    equation: str
    make: Callable[[], Callable]
    profiles: tuple[str, ...]
    options: dict[str, Any]

    def groups(self) -> list[str]:
        """Names of the groups that a report counts: the flags of the golden cases, then "regimes", "laws",
        "statistics" and "contract"."""
        return [*dict.fromkeys(describe(self.equation)["flags"]), "regimes", "laws", "statistics", "contract"]

    def run(self, profile: str, **more: Any) -> Report:
        """Makes the kernel and judges it in one profile, with `more` options. Errors as for attest.check()."""
        return check(self.equation, self.make(), profile=profile, **{**self.options, **more})


def conformance(
    equation: str, *, profile: str | Iterable[str] = "f32", **options: Any
) -> Callable[[Callable[[], Callable]], Conformance]:
    """Marks a function without arguments that returns a kernel. pytest has one test per profile and group of cases:

        @attest.conformance("linear.causal", profile=("f32", "bf16"))
        def my_kernel():
            return fast_causal_linear_attention

    Arguments:
        equation: id of the equation.
        profile: precision that is claimed, or several; each is judged on its own.
        options: further arguments of attest.check().

    Raises UsageError, while the file is collected, for an equation that does not exist."""
    describe(equation)
    return lambda make: Conformance(equation, make, (profile,) if isinstance(profile, str) else tuple(profile), options)
