# SPDX-License-Identifier: MIT
"""Commands of attest that run in Python: candidates called python:MODULE:FUNCTION, and the survey of libraries."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import importlib.util
import json
import os
import pathlib
import sys
from collections.abc import Callable

from attest import Interrupted, Report, UsageError, __version__, check, native, reproduce
from attest._conformance import Conformance
from attest._report import write_atomically

STRENGTH = "how many conditions are brought together, from 0 to 4 (default 2); 0: golden cases and laws alone"
EXIT = {"PASS": 0, "FAIL": 1, "CRASH": 3, "INVALID": 3}


def main() -> int:
    faulthandler.enable()
    status = run()
    native.end_ranks(status)
    return status


def run() -> int:
    try:
        arguments = parser().parse_args()
    except SystemExit as end:  # of help, or of wrong usage
        return end.code or 0
    try:
        return arguments.run(arguments)
    except UsageError as error:
        print(f"attest: {error}", file=sys.stderr)
        return 2


def command() -> None:
    """The `attest` command of an installed package: the native program, with this interpreter for Python's part."""
    program = pathlib.Path(__file__).parent / "bin" / "attest"
    os.environ["ATTEST_PYTHON"] = sys.executable
    os.execv(program, ["attest", *sys.argv[1:]])


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="attest", description=__doc__)
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(required=True)
    for name, run, help in (
        ("check", run_check, "judge a Python function"),
        ("diagnose", run_check, "say what is wrong with a Python function"),
    ):
        one = commands.add_parser(name, help=help)
        one.set_defaults(run=run, command=name)
        one.add_argument(
            "kernel", metavar="python:MODULE:FUNCTION", help="MODULE may be a file: python:folder/kernels.py:causal"
        )
        one.add_argument(
            "--op",
            metavar="ID",
            help="the equation, as in linear.causal; a function marked with attest.conformance knows its own",
        )
        one.add_argument("--profile", help="precision that is claimed (default f32)")
        one.add_argument("--max-cases", type=int, help="at most so many cases")
        one.add_argument("--budget", type=float, help="seconds after which no further case is begun")
        one.add_argument("--flags", default="*", help="glob over the flags of cases")
        one.add_argument("--seed", type=int, default=1, help="seed of the drawn cases and laws")
        one.add_argument("--laws", type=int, default=6, help="cases drawn per law; 0: none")
        one.add_argument("--strength", type=int, default=2, help=STRENGTH)
        one.add_argument(
            "--sizes",
            choices=("small", "real"),
            default="small",
            help="real: also the sizes at which kernels are shipped",
        )
        one.add_argument("--shapes", type=int, help="at most so many different shapes in the regimes")
        one.add_argument("--repeat", type=int, default=1, help="how many times all cases and regimes are called")
        one.add_argument("--json", metavar="FILE", help="write the report to this file as well")
        one.add_argument("--html", metavar="FILE", help="write the report as a page for a browser to this file as well")
        one.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML to this file as well")
        one.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0 to this file as well")
        if name == "check":
            one.add_argument(
                "--waivers", metavar="FILE", help="TOML file of failures that are known: they do not fail the run"
            )
        declarations(one)
    again = commands.add_parser("reproduce", help="judge one case by its query")
    again.set_defaults(run=run_reproduce)
    again.add_argument("query")
    again.add_argument("kernel", metavar="python:MODULE:FUNCTION")
    declarations(again)
    libraries = commands.add_parser("survey", help="judge the published libraries that are installed")
    libraries.set_defaults(run=run_survey)
    libraries.add_argument("--only", default="*", help="globs over LIBRARY:KERNEL, as in 'torch:*,jax:*'")
    libraries.add_argument("--seed", type=int, default=1)
    libraries.add_argument("--budget", type=float, help="seconds after which a judgement begins no further case or law")
    libraries.add_argument("--strength", type=int, default=2, help=STRENGTH)
    libraries.add_argument("--device", help="judge the kernels of PyTorch and JAX alone, on this device, as in cuda")
    kept = libraries.add_mutually_exclusive_group()
    kept.add_argument(
        "--journal",
        metavar="DIR",
        help="keep the judgements that are finished in this folder, so that --resume goes on from there; the folder is "
        "new, or empty",
    )
    kept.add_argument("--resume", metavar="DIR", help="go on from the journal in this folder")
    libraries.add_argument("--json", metavar="FILE", help="write the record to this file")
    libraries.add_argument("--markdown", metavar="FILE", help="write the record as a page to this file")
    return top


def declarations(one: argparse.ArgumentParser) -> None:
    one.add_argument("--capabilities", default="", help="conditions, as in 'causal == true; d in {64, 128}'")
    one.add_argument("--layout", default="nd", help="one of " + ", ".join(native.layouts))
    one.add_argument("--like", default="numpy", help="numpy, torch, jax or cupy")
    one.add_argument("--device", help="of that library, as in cuda")
    one.add_argument(
        "--gradients", action="store_true", help="judge the gradients as well, by automatic differentiation"
    )
    one.add_argument("--vjp", metavar="MODULE:FUNCTION", help="judge this vector-Jacobian product as well")


def load(name: str) -> Callable | Conformance:
    """The object that MODULE:FUNCTION names."""
    module_name, separator, path = name.removeprefix("python:").rpartition(":")
    if not separator or not module_name or not path:
        raise UsageError(f"{name} names no function; expected python:MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        if module_name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(pathlib.Path(module_name).stem, module_name)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name}: importing {module_name} failed: {type(error).__name__}: {error}") from error
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
            raise UsageError(f"{name}: {module_name} has no '{path}'; it has {', '.join(known) or 'no function'}")
        found = getattr(found, part)
    return found


def declared(arguments: argparse.Namespace) -> dict:
    options = {
        "capabilities": arguments.capabilities,
        "layout": arguments.layout,
        "like": arguments.like,
        "device": arguments.device,
        "gradients": arguments.gradients,
    }
    if arguments.vjp:
        options["vjp"] = load(arguments.vjp)
    return options


def finish(report: Report, arguments: argparse.Namespace, text: str) -> int:
    print(text, end="" if text.endswith("\n") else "\n")
    for name, what in report.assumed.items():
        print(f"Assumed, since the function does not take it: {name} is {what}")
    for path, write in (
        (
            getattr(arguments, "json", None),
            lambda path: write_atomically(path, json.dumps(report.data, indent=2) + "\n"),
        ),
        (getattr(arguments, "html", None), report.html),
        (getattr(arguments, "junit", None), report.junit),
        (getattr(arguments, "sarif", None), report.sarif),
    ):
        try:
            if path:
                write(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return EXIT[report.verdict]


def run_check(arguments: argparse.Namespace) -> int:
    kernel = load(arguments.kernel)
    waivers = getattr(arguments, "waivers", None)
    try:
        if isinstance(kernel, Conformance):
            report = kernel.run(arguments.profile or kernel.profiles[0], **({"waivers": waivers} if waivers else {}))
        else:
            if not arguments.op:
                raise UsageError(f"{arguments.kernel}: which equation is it? Give --op ID; `attest list` shows them")
            report = check(
                arguments.op,
                kernel,
                profile=arguments.profile or "f32",
                max_cases=arguments.max_cases,
                budget=arguments.budget,
                only=arguments.flags,
                seed=arguments.seed,
                laws=arguments.laws,
                strength=arguments.strength,
                sizes=arguments.sizes,
                shapes=arguments.shapes,
                repeat=arguments.repeat,
                waivers=waivers,
                **declared(arguments),
            )
    except Interrupted as interrupted:
        finish(interrupted.report, arguments, interrupted.report.table)
        return 130
    return finish(report, arguments, report.table if arguments.command == "check" else report.diagnosis)


def run_reproduce(arguments: argparse.Namespace) -> int:
    report = reproduce(arguments.query, load(arguments.kernel), **declared(arguments))
    return finish(report, arguments, report.table)


def run_survey(arguments: argparse.Namespace) -> int:
    from attest._survey import markdown, survey

    journal = arguments.journal or arguments.resume or ""
    record = survey(
        arguments.only,
        arguments.seed,
        arguments.budget,
        arguments.strength,
        journal,
        resume=bool(arguments.resume),
        device=arguments.device,
    )
    if record is None:  # the first rank has it
        return 0
    if not record["rows"] and not record["absent"]:
        raise UsageError(f"--only '{arguments.only}' matches no adapter")
    text = markdown(record)
    print(text, end="")
    if arguments.json:
        write_atomically(arguments.json, json.dumps(record, indent=1) + "\n")
    if arguments.markdown:
        write_atomically(arguments.markdown, text)
    return 130 if record.get("interrupted") else 0


if __name__ == "__main__":
    sys.exit(main())
