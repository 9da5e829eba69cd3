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
    """A library's kernel behind the names of an equation. `explains`: for each profile that fails, the cause, traced by hand."""

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
        """attest.check() with what the adapter declares. Options as there."""
        function = self.function
        if self.jit and self.options.get("like") == "jax":
            import jax

            signature = Signature(function, describe(self.equation))
            function = jax.jit(
                function, static_argnames=[name for name in signature.parameters if signature.takes(name)]
            )
        gradients = self.options.get("gradients", False)
        if not isinstance(gradients, bool):
            options = {"gradients": profile in gradients, **options}
        with (
            _double_precision() if self.options.get("like") == "jax" and profile == "f64" else contextlib.nullcontext()
        ):
            return check(self.equation, function, profile=profile, **{**self.options, **options})


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
    """Makes an Adapter of a function. `library` is the distribution's name on PyPI; options as for attest.check(), where `gradients` may
    also be the profiles whose gradients are judged. Functions on JAX's arrays are compiled as a whole unless `jit` is false: one
    that looks at the values of an array."""
    return lambda function: Adapter(equation, function, library, profiles, options, explains or {}, jit)


def adapters(only: str = "*") -> Iterator[Adapter | Absent]:
    """Every adapter whose "library:name" matches `only`, a glob or several with commas between; an Absent for each file that cannot be imported."""
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
