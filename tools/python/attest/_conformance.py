# SPDX-License-Identifier: MIT
"""Kernels as tests: what the pytest plugin collects, and what an adapter is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from attest._check import check
from attest._pages import describe
from attest._report import Report


@dataclasses.dataclass
class Conformance:
    """A function that returns a kernel, and how the kernel is to be judged."""

    equation: str
    make: Callable[[], Callable]
    profiles: tuple[str, ...]
    options: dict[str, Any]

    def groups(self) -> list[str]:
        """What a report is divided into: the flags of the golden cases, then "batch", "laws", "statistics", "contract"."""
        batch = ["batch"] if self.options.get("layout", "nd") != "nd" else []
        return [*dict.fromkeys(describe(self.equation)["flags"]), *batch, "laws", "statistics", "contract"]

    def run(self, profile: str) -> Report:
        return check(self.equation, self.make(), profile=profile, **self.options)


def conformance(
    equation: str, *, profile: str | Iterable[str] = "f32", **options: Any
) -> Callable[[Callable[[], Callable]], Conformance]:
    """Marks a function without arguments that returns a kernel. pytest then has one test per group of cases and profile:

        @attest.conformance("linear.causal", profile=("f32", "bf16"))
        def my_kernel():
            return fast_causal_linear_attention

    Options as for attest.check(). Raises UsageError, while the file is collected, for an equation that does not exist."""
    describe(equation)
    return lambda make: Conformance(equation, make, (profile,) if isinstance(profile, str) else tuple(profile), options)
