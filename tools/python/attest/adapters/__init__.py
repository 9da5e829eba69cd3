# SPDX-License-Identifier: MIT
"""Kernels of published libraries, each with the conventions that it declares: one file per library."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from attest._check import check
from attest._kernel import Signature
from attest._pages import describe
from attest._report import Report


@dataclasses.dataclass
class Adapter:
    """A library's kernel under the names of an equation. `explains` holds the cause of the failure, traced by hand, for
    each profile in which the kernel fails."""

    equation: str
    function: Callable
    library: str
    profiles: tuple[str, ...]
    options: dict[str, Any]
    explains: dict[str, str]
    jit: bool = True

    @property
    def name(self) -> str:
        return f"{self.library}:{self.function.__name__}"

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.library)

    def check(self, profile: str, **options: Any) -> Report:
        """Judges the kernel with the adapter's options. Further options and errors are those of attest.check(); a
        device is the default one of its library while the kernel is judged."""
        function = self.function
        options = {**self.options, **options}
        if self.jit and options.get("like") == "jax":
            import jax

            signature = Signature(function, describe(self.equation))
            function = jax.jit(
                function, static_argnames=[name for name in signature.parameters if signature.takes(name)]
            )
        if not isinstance(options.get("gradients", False), bool):
            options["gradients"] = profile in options["gradients"]
        with contextlib.ExitStack() as settings:
            if options.get("like") == "jax" and profile == "f64":
                settings.enter_context(_double_precision())
            if options.get("like") == "torch" and options.get("device"):
                import torch

                settings.enter_context(torch.device(options["device"]))
            return check(self.equation, function, profile=profile, **options)


@contextlib.contextmanager
def _double_precision() -> Iterator[None]:
    """JAX with 64-bit numbers, for this while."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


@dataclasses.dataclass
class Absent:
    """A file of adapters whose library is not here, and why."""

    module: str
    reason: str


def adapter(
    equation: str,
    *,
    library: str,
    profiles: tuple[str, ...] = ("f32",),
    explains: dict[str, str] | None = None,
    jit: bool = True,
    **options: Any,
) -> Callable[[Callable], Adapter]:
    """Makes an Adapter of a function that calls a library's kernel with the inputs of an equation.

    Arguments:
        equation: id of the equation, as in "linear.causal".
        library: name of the distribution on PyPI.
        profiles: precisions that the kernel is judged in.
        explains: cause of the failure, for each profile in which the kernel fails.
        jit: whether a function on JAX's arrays is compiled as a whole; false for one that looks at the values of an
            array.
        options: further arguments of attest.check(), where `gradients` may also be the profiles whose gradients are
            judged."""
    return lambda function: Adapter(equation, function, library, profiles, options, explains or {}, jit)


def adapters(only: str = "*") -> Iterator[Adapter | Absent]:
    """Yields every adapter whose "library:name" matches `only`, one glob or several with commas between, and an Absent
    for each file that cannot be imported."""
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        try:
            loaded = importlib.import_module(f"{__name__}.{module}")
        except Exception as error:  # a library may fail in its own way where it does not fit this machine
            yield Absent(module, f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        yield from (
            one
            for one in vars(loaded).values()
            if isinstance(one, Adapter) and any(fnmatch.fnmatchcase(one.name, glob) for glob in only.split(","))
        )
