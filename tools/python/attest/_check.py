# SPDX-License-Identifier: MIT
"""Judging Python functions."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attest import native
from attest._frameworks import framework
from attest._kernel import Kernel
from attest._pages import GOLDEN, _page, _profile
from attest._report import Interrupted, Report
from attest.native import UsageError


def check(
    equation: str,
    kernel: Callable,
    *,
    profile: str = "f32",
    params: Mapping[str, Any] | None = None,
    conventions: Mapping[str, Any] | None = None,
    capabilities: str = "",
    layout: str = "nd",
    like: str = "numpy",
    device: Any = None,
    gradients: bool = False,
    vjp: Callable | None = None,
    form: str = "",
    only: str = "*",
    seed: int = 1,
    laws: int = 6,
    strength: int = 2,
    sizes: str = "small",
    shapes: int | None = None,
    repeat: int = 1,
    max_cases: int | None = None,
    budget: float | None = None,
    waivers: str | os.PathLike | None = None,
) -> Report:
    """Judges `kernel` as an implementation of an equation, against certified values.

    The kernel is called with keywords: the inputs of the equation as arrays of the shapes that describe(equation)
    lists, and its parameters as Python values, None where a case leaves one at a default that depends on the sizes.
    Optional inputs that a case does not have are not passed. The kernel returns an array, a tuple in the order of the
    equation's outputs, or a dictionary by name; arrays have the shape of the output and the dtype of the profile.

    An optional input that the kernel's signature does not take is never given, and a parameter that it does not take is
    held at its default; Report.assumed lists both. `**kwargs` takes everything.

    Arguments:
        equation: id, as in "linear.causal"; operations() lists all.
        kernel: the function to judge.
        profile: precision that is claimed; decides the dtype of the arrays and the bound on errors. profiles() lists
            all.
        params: parameters or sizes that the kernel has fixed, {"causal": True}, or the values that it supports,
            {"d": [64, 128]}. All others vary. {"mask": False}: an optional tensor that the kernel does not have.
        conventions: the same, for conventions: {"empty_row": "mean"}.
        capabilities: further conditions under which the kernel can be called, as in "n % 64 == 0; not causal or
            n == s".
        layout: axes of the tensors. "nd": [row, column], one head. "bhnd": [batch, head, row, column]. "bnhd":
            [batch, row, head, column]. "thd": [row, head, column], sequences of unequal lengths packed one after the
            other, with one more argument offsets={"n": array}: sequence b is rows offsets["n"][b] to
            offsets["n"][b + 1] - 1. "pkv": keys and values are [page, row in page, head, column], all else as under
            "bnhd", with two more arguments, pages={"s": array [sequence, page]} and lengths={"s": array}: row j of
            sequence b is row j % page of page pages["s"][b, j // page]; capabilities="page == 64" says how long pages
            are.
        like: library whose arrays are passed and returned: "numpy" (bfloat16 is ml_dtypes.bfloat16), "torch", "jax" or
            "cupy".
        device: device of `like`, as in "cuda"; arrays are copied there. None: the CPU, without a copy.
        gradients: judges the vector-Jacobian product as well, by automatic differentiation (torch, jax) or by `vjp`.
        vjp: function vjp(**inputs, **parameters, cotangents={output: array}) that returns {input: gradient}, or a tuple
            in the order of describe(equation)["gradient"]. A cotangent has the shape of its output, a gradient that of
            its input.
        form: name of the form that the kernel implements, where the equation limits it to some sizes.
        only: glob over the flags of cases, as in "causal*".
        seed: seed of the drawn cases and laws, an integer that is not negative.
        laws: number of cases drawn per law; 0 tries no law.
        strength: how many conditions (sizes, parameters, optional inputs, magnitudes, batch, heads, ...) are brought
            together at a time, from 0 to 4: 2 visits every pair that the kernel allows, 0 judges by the golden cases
            and laws alone, without batches or heads.
        sizes: "real" judges also at the sizes at which kernels are shipped, thousands of tokens, by some of the rows; a
            kernel that can do no small sizes is judged there anyway.
        shapes: at most so many different sizes and extents of batches in the regimes, for a kernel that is compiled for
            each (jax.jit, torch.compile, Triton); the pairs that this leaves out are counted. None: no limit. Golden
            cases and laws have shapes of their own: max_cases and laws limit them.
        repeat: how many times all cases and regimes are called; more calls show rarer failures. A few cases are called
            once more at the end, from a second thread too.
        max_cases: largest number of golden and drawn cases, every flag before a second case of any; None: all.
        budget: seconds after which no further case, regime or law is begun, None for no limit; the report counts what
            was not run.
        waivers: TOML file of failures that are known and accepted, as `attest check --waivers` takes it: they are shown
            and counted, and do not make the verdict FAIL.

    Returns a Report: a wrong kernel is a verdict, not an exception.

    Raises UsageError, a ValueError, for a call that cannot be judged: an unknown equation, profile or parameter, or a
    function that does not take the inputs. Raises Interrupted, a KeyboardInterrupt, on Ctrl-C, with the report so far.
    A kernel that ends the process ends the caller's: `attest check python:MODULE:FUNCTION` judges in a process of its
    own."""
    return _judge(
        equation,
        kernel,
        query="",
        profile=profile,
        params=params,
        conventions=conventions,
        capabilities=capabilities,
        layout=layout,
        like=like,
        device=device,
        gradients=gradients,
        vjp=vjp,
        form=form,
        only=only,
        seed=seed,
        laws=laws,
        strength=strength,
        sizes=sizes,
        shapes=shapes,
        repeat=repeat,
        max_cases=max_cases,
        budget=budget,
        waivers=waivers,
    )


def diagnose(equation: str, kernel: Callable, **options: Any) -> str:
    """Returns the diagnosis of a kernel as text: the fault that it has, or the precision that it reaches.

    Arguments and errors are those of check()."""
    return check(equation, kernel, **options).diagnosis


def reproduce(
    query: str,
    kernel: Callable,
    *,
    params: Mapping[str, Any] | None = None,
    conventions: Mapping[str, Any] | None = None,
    capabilities: str = "",
    layout: str = "nd",
    like: str = "numpy",
    device: Any = None,
    gradients: bool = False,
    vjp: Callable | None = None,
    form: str = "",
) -> Report:
    """Judges a kernel on the one case of a query string, as Report.repro gives it.

    The other arguments and the errors are those of check(); the query names equation and profile. Raises UsageError
    also for a query that cannot be read, and for a case that the declared capabilities exclude."""
    equation, profile, _ = native.query_parts(query)
    report = _judge(
        equation,
        kernel,
        query=query,
        profile=profile,
        params=params,
        conventions=conventions,
        capabilities=capabilities,
        layout=layout,
        like=like,
        device=device,
        gradients=gradients,
        vjp=vjp,
        form=form,
        only="*",
        seed=1,
        laws=0,
        strength=0,
        sizes="small",
        shapes=None,
        repeat=1,
        max_cases=None,
        budget=None,
        waivers=None,
    )
    if not report.rows:
        raise UsageError(f"'{query}' is outside of what the kernel was declared to do")
    return report


def _judge(
    equation,
    kernel,
    *,
    query,
    profile,
    params,
    conventions,
    capabilities,
    layout,
    like,
    device,
    gradients,
    vjp,
    form,
    only,
    seed,
    laws,
    strength,
    sizes,
    shapes,
    repeat,
    max_cases,
    budget,
    waivers,
) -> Report:
    page = _page(equation)
    differentiated = bool(gradients or vjp)
    _require_functions(kernel, vjp)
    if layout not in native.layouts:
        raise UsageError(f"layout='{layout}' is not known; there are {', '.join(native.layouts)}")
    storage = _profile(profile).storage
    if gradients and vjp is None and like not in ("torch", "jax"):
        raise UsageError(
            f"gradients of like='{like}' need vjp=FUNCTION: only torch and jax differentiate by themselves"
        )
    if differentiated and not page["gradient"]:
        raise UsageError(
            f"{equation} has no gradient to judge: its page says by which inputs an equation is differentiated"
        )
    _require_choice_of_cases(page, only, seed, laws, strength, repeat, max_cases, shapes, budget)
    if sizes not in ("small", "real"):
        raise UsageError(f"sizes={sizes!r}; expected 'small' or 'real'")
    arrays = framework(like, device)
    arrays.require(storage)
    fixed = {**(params or {}), **(conventions or {})}
    of_one_value = [name for name, value in fixed.items() if len(_values(value)) == 1]
    judged = Kernel(page, kernel, vjp, arrays, layout, seed, of_one_value)
    for tensor in page["outputs"]:
        if differentiated and fixed.get(tensor["name"]) is False:
            raise UsageError(f"gradients are taken of every output, and '{tensor['name']}' was declared absent")
    conditions, assumed = _conditions(page, judged, fixed, capabilities)
    if not arrays.strided:
        conditions.append("contiguous")
    job = native.Job()
    job.equation, job.name, job.version = equation, _name(kernel), native.__version__
    job.profile, job.form, job.layout, job.golden = profile, form, layout, str(GOLDEN)
    job.capabilities = "; ".join(conditions)
    job.readings = ["value", "gradient"] if differentiated else ["value"]
    job.query, job.only, job.seed, job.laws, job.strength, job.repeat = query, only, seed, laws, strength, repeat
    job.max_cases, job.shapes, job.budget = max_cases, shapes, budget
    job.real_sizes = sizes == "real"
    job.waivers = os.fspath(waivers) if waivers else ""
    result = native.run(job, judged, judged.settle)
    report = Report(
        result,
        equation=equation,
        profile=profile,
        kernel=job.name,
        assumed=assumed,
        kernel_seconds=judged.seconds,
        place=_place(kernel),
    )
    if result["interrupted"]:
        raise Interrupted(report)
    return report


def _require_functions(kernel: Any, vjp: Any) -> None:
    if not callable(kernel):
        raise UsageError(f"the kernel is a {type(kernel).__name__}; expected a function")
    if vjp is not None and not callable(vjp):
        raise UsageError(f"vjp is a {type(vjp).__name__}; expected a function")


def _require_choice_of_cases(
    page: Mapping[str, Any], only, seed, laws, strength, repeat, max_cases, shapes, budget
) -> None:
    """Raises UsageError for options that choose no case or are no numbers."""
    numbers = (
        ("seed", seed, 0),
        ("laws", laws, 0),
        ("strength", strength, 0),
        ("repeat", repeat, 1),
        ("max_cases", max_cases, 1),
        ("shapes", shapes, 1),
    )
    for name, value, least in numbers:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise UsageError(f"{name}={value!r}; expected a whole number of at least {least}")
    if strength > native.most_strength:
        raise UsageError(f"strength={strength}; expected a whole number from 0 to {native.most_strength}")
    if not any(fnmatch.fnmatchcase(flag, only) for flag in page["flags"]):
        raise UsageError(
            f"only='{only}' matches no flag of {page['id']}; there are {', '.join(dict.fromkeys(page['flags']))}"
        )
    if budget is not None and not budget > 0:
        raise UsageError(f"budget={budget!r}; expected seconds, more than 0")


def _conditions(
    page: Mapping[str, Any], judged: Kernel, fixed: Mapping[str, Any], capabilities: str
) -> tuple[list[str], dict[str, str]]:
    """The kernel's capabilities as conditions, and what is assumed of the arguments that it does not take."""
    conditions = [capabilities] if capabilities.strip(" ;") else []
    conditions += [_condition(page, name, value) for name, value in fixed.items()]
    assumed: dict[str, str] = {}
    mentioned = set(fixed) | set(_words(capabilities))
    for name in judged.signature.optional:
        if not judged.signature.takes(name) and name not in mentioned:
            assumed[name] = "never given"
            conditions.append(f"{name} == false")
    for parameter in page["parameters"]:
        name = parameter["name"]
        if not judged.signature.takes(name) and name not in mentioned:
            default = parameter["default"] if parameter["default"] is not None else parameter["default_text"]
            assumed[name] = f"held at {default}"
            conditions.append(f"{name} == default")
    return conditions, assumed


def _name(function: Callable) -> str:
    function = function.func if isinstance(function, functools.partial) else function
    return getattr(function, "__qualname__", type(function).__qualname__).replace("<locals>.", "")


def _place(function: Callable) -> tuple[str, int]:
    """The file and line that define a function; ("", 0) where no file does."""
    function = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code and os.path.isfile(code.co_filename) else ("", 0)


def _words(text: str) -> Iterable[str]:
    """Names that a condition mentions."""
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def _condition(page: Mapping[str, Any], name: str, value: Any) -> str:
    """A fixed parameter as a condition of the capability language."""
    parameters = {parameter["name"]: parameter for parameter in page["parameters"]}
    tensors = [tensor["name"] for tensor in page["inputs"] + page["outputs"] if tensor["optional"]]
    known = [
        *parameters,
        *(size["name"] for size in page["sizes"]),
        *tensors,
        "deterministic",
        "any_thread",
        "hidden_nan",
    ]
    if name not in known:
        near = difflib.get_close_matches(name, known, 2)
        raise UsageError(
            f"{page['id']} has no parameter '{name}'; "
            + (f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(known)}")
        )
    values = _values(value)
    choices = parameters.get(name, {}).get("choices")
    for one in values:
        if choices and one not in choices:
            raise UsageError(f"{name}={one!r} is no choice of {page['id']}; there are {', '.join(map(repr, choices))}")
        if not choices and not isinstance(one, (bool, int, float)):
            raise UsageError(f"{name}={one!r}; expected a truth value or a number")
    if len(values) == 1:
        return f"{name} == {_literal(values[0])}"
    return f"{name} in {{{', '.join(map(_literal, values))}}}"


def _values(value: Any) -> list[Any]:
    """The values of a parameter that is fixed, one, or that a kernel supports."""
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}'" if isinstance(value, str) else repr(value)
