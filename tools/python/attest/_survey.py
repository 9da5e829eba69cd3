# SPDX-License-Identifier: MIT
"""Survey of published libraries: every adapter whose library is installed, judged in every profile it declares."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import sys
from typing import Any

from attest import native
from attest._report import ORDER, Interrupted, Report, rounded
from attest.adapters import Absent, Adapter, adapters
from attest.native import __version__


def survey(
    only: str = "*",
    seed: int = 1,
    budget: float | None = None,
    strength: int = 2,
    journal: str = "",
    resume: bool = False,
    device: str | None = None,
) -> dict[str, Any] | None:
    """Runs the adapters that match; the record as data. Ctrl-C ends it with what was found until then.

    With a device, as in "cuda", those of PyTorch and JAX alone, on it; adapters that name one have that one.

    The ranks of an MPI job share the judgements; None on each but the first. `journal` is a folder that keeps those
    that are finished, and with `resume` has them already."""
    record: dict[str, Any] = {
        "attest": __version__,
        "date": datetime.date.today().isoformat(),
        "machine": "",
        "python": platform.python_version(),
        "seed": seed,
        "budget": budget,
        "strength": strength,
        "device": device,
        "rows": [],
        "absent": [],
    }
    found = list(adapters(only))
    for one in found:
        if isinstance(one, Absent):
            record["absent"].append({"adapters": one.module, "reason": one.reason})
    judged = [one for one in found if isinstance(one, Adapter)]
    if device:
        judged = [one for one in judged if one.options.get("like") in ("torch", "jax")]
    devices = sorted({name_of(one.options.get("device") or device) for one in judged})
    record["machine"] = ", ".join([platform.machine(), *devices])
    judgements = [(one, profile) for one in judged for profile in one.profiles]
    done: dict[int, str] = {}

    def judge(number: int) -> str:
        result = row(*judgements[number], seed, budget, strength, device)
        print(line(result), file=sys.stderr, flush=True)
        done[number] = json.dumps(result)
        return done[number]

    keys = [f"{one.name} {one.equation} {profile}" for one, profile in judgements]
    try:
        rows = native.run_items(identity(record), journal, resume, keys, judge)
    except KeyboardInterrupt:
        record["interrupted"] = True
        rows = [done[number] for number in sorted(done)]
    if rows is None:
        return None
    record["rows"] = [json.loads(one) for one in rows]
    return record


def identity(record: dict[str, Any]) -> str:
    """What the rows depend on: the options, this package, and the libraries."""
    files = sorted(pathlib.Path(__file__).parent.rglob("*.py")) + [pathlib.Path(native.__file__)]
    code = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    libraries = sorted({f"{one.name} {one.version}" for one in importlib.metadata.distributions()})
    options = ", ".join(f"{key} {record[key]}" for key in ("seed", "budget", "strength", "device", "python"))
    return f"attest survey, {options}; {hashlib.sha256(f'{code} {libraries}'.encode()).hexdigest()}"


def verdict_of(report: Report) -> str:
    """The worst verdict among the readings that a budget left enough time for."""
    reached = [
        part["status"] for part in report.rows if not (part["ended_by"] == "budget" and part["status"] == "INVALID")
    ]
    return max(reached, key=ORDER.index, default="INVALID")


def diagnosis_of(report: Report) -> str:
    """The fault that the errors fit, where one fits well, and the first failure; nothing for a kernel that passes."""
    if verdict_of(report) == "PASS":
        return ""
    faults = report.faults
    fits = faults and (faults[0].failing or faults[0].explained > 0.5)
    return "; ".join(filter(None, [f"looks like {faults[0].name}" if fits else "", report.first_error]))


def name_of(device: str | None) -> str:
    """What a record calls a device: the GPU's name, or what PyTorch or JAX call it."""
    torch = sys.modules.get("torch")
    if device and torch and device.split(":")[0] == "cuda" and torch.cuda.is_available():
        return torch.cuda.get_device_name(device)
    return device or "CPU"


def row(
    one: Adapter, profile: str, seed: int, budget: float | None, strength: int, device: str | None
) -> dict[str, Any]:
    options = {"device": device} if device and not one.options.get("device") else {}
    # A cause was found on the device that the adapter names; elsewhere it is another kernel.
    explained = "" if options else one.explains.get(profile, "")
    result = {
        "library": one.library,
        "version": one.version,
        "kernel": one.name,
        "equation": one.equation,
        "profile": profile,
        "declared": {
            key: value
            for key, value in one.options.items()
            if key in ("conventions", "params", "capabilities", "layout") and value
        },
    }
    try:
        report = one.check(profile, seed=seed, budget=budget, strength=strength, **options)
    except Interrupted:
        raise
    except Exception as error:
        return {
            **result,
            "verdict": "ERROR",
            "bits": None,
            "cases": "",
            "worst": None,
            "diagnosis": f"{type(error).__name__}: {error}",
            "repro": "",
            "explained": explained,
        }

    def of_laws(key: str) -> int:
        return sum(part["laws"][key] for part in report.rows)

    return {
        **result,
        "assumed": report.assumed,
        "verdict": verdict_of(report),
        "bits": report.effective_bits,
        "cases": f"{report.cases['passed']}/{report.cases['judged']}",
        "skipped": report.cases["skipped"],
        "left": sum(part["not_run"] for part in report.rows),
        "laws": f"{of_laws('held')}/{of_laws('judged')}",
        "worst": report.worst.ratio,
        "diagnosis": diagnosis_of(report),
        "repro": report.repro,
        "explained": explained,
    }


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['kernel']:<60} {row['version']:<12} {row['equation']:<34} {row['profile']:<9} {row['cases']:>8} "
        f"{rounded(row['bits']):>5} {row['verdict']}"
    )


def markdown(record: dict[str, Any]) -> str:
    """The record as a page: a table, then every failure with its cause, then what was absent."""
    rows = record["rows"]
    failed = [one for one in rows if one["verdict"] != "PASS"]
    text = [
        f"# Survey of published libraries, {record['date']}",
        "",
        f"attest {record['attest']}, {record['machine']}, Python {record['python']}, seed {record['seed']}. "
        f"{len(rows)} judgements of {len({one['kernel'] for one in rows})} kernels "
        f"of {len({one['library'] for one in rows})} libraries: "
        f"{len(rows) - len(failed)} pass, {len(failed)} do not.",
        "Made by `tools/attest survey`."
        + (
            f" No judgement began a case or law after {record['budget']:g} seconds; the column `left` counts them."
            if record["budget"]
            else ""
        )
        + (" Interrupted." if record.get("interrupted") else ""),
        "",
        "| kernel | version | equation | profile | cases | left | error/bound | bits | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in rows:
        worst = "-" if one["worst"] is None else f"{one['worst']:.2g}"
        text.append(
            f"| {one['kernel']} | {one['version']} | {one['equation']} | {one['profile']} | {one['cases']} | "
            f"{one.get('left', 0)} | {worst} | {rounded(one['bits'])} | {one['verdict']} |"
        )
    if failed:
        text += ["", "## What does not pass, and why", ""]
        for one in failed:
            text += [
                f"**{one['kernel']}, {one['profile']}**: {one['explained'] or 'not explained'}",
                "",
                f"- found: {one['diagnosis']}",
            ]
            if one["repro"]:
                text.append(f"- repro: `{one['repro']}`")
            text.append("")
    declared = {one["kernel"]: one for one in rows if one["declared"] or one.get("assumed")}
    if declared:
        text += [
            "",
            "## What each declares",
            "",
            "| kernel | declared | not taken by its signature |",
            "| --- | --- | --- |",
        ]
        for name, one in declared.items():
            said = "; ".join(f"{key} {value}" for key, value in one["declared"].items()).replace("|", "\\|")
            assumed = "; ".join(f"{key} {value}" for key, value in one.get("assumed", {}).items())
            text.append(f"| {name} | {said} | {assumed} |")
    if record["absent"]:
        text += ["", f"## Skipped: {len(record['absent'])} files of adapters whose library is not installed", ""]
        text += [f"- {one['adapters']}: {one['reason']}" for one in record["absent"]]
    return "\n".join(text).rstrip() + "\n"
