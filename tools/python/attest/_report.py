# SPDX-License-Identifier: MIT
"""Verdicts as objects."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import tempfile
import textwrap
from typing import Any

from attest import native


class Failure(AssertionError):
    """Raised by Report.raise_for_failure(); the message is the diagnosis, `report` the report."""

    def __init__(self, report: "Report"):
        super().__init__(report.diagnosis)
        self.report = report


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a check; `report` is what was found until then."""

    def __init__(self, report: "Report"):
        super().__init__("interrupted")
        self.report = report


@dataclasses.dataclass(frozen=True)
class Fault:
    """A known fault that fits the errors of a failing kernel.

    `whole`: every case agrees with the equation of the fault within the bounds of a correct kernel. `failing`: every
    failing case does. Otherwise the errors are fitted by a multiple of the fault: `c` is the factor in units of the
    fault, `error` its standard error, z = c / error, and `explained` the share of the squared error that the fit
    explains, from 0 to 1."""

    name: str
    whole: bool
    failing: bool
    c: float
    error: float
    z: float
    explained: float


@dataclasses.dataclass(frozen=True)
class Worst:
    """The element that comes nearest to its bound, also when everything passes. `ratio` is error / bound, at most 1 for
    a correct kernel; `query` names the case."""

    ratio: float
    text: str
    query: str


ORDER = ("PASS", "INVALID", "FAIL", "CRASH")  # from best to worst


class Report:
    """Result of a check. True when the kernel passed.

    Attributes:
        passed: whether the value kernel and, where it was judged, the gradient kernel passed.
        verdict: "PASS", "FAIL", "CRASH", or "INVALID" where too little was judged for a verdict.
        effective_bits: precision of the values in bits, None where nothing was rounded.
        faults: known faults that fit the errors, the most likely first.
        first_error: the first failure as a sentence, "" when there is none.
        repro: query of a case that fails, for attest.reproduce(); "" when none does.
        worst: the element nearest to its bound.
        cases: numbers of cases that were "judged", "passed" and "skipped".
        left_out: numbers of the skipped cases by reason: "precision", "capability causal == true", "limit of cases",
            "flag" ...
        assumed: parameters and optional inputs that the function does not take and that were not declared, with the
            value that they were held at.
        restricted: what a PASS leaves out: optional inputs that were never given, parameters that never varied.
        reach: what the run could have seen, of the reading that was called least: "calls" whose answers were judged, of
            these those from a "second_thread", cases "replayed" later, "unseen_rate" (a failure in a smaller share of
            calls may have stayed unseen), and what "never_varied".
        refusals: what the kernel raised an error for although its capabilities allow it, {} where it refused nothing:
            "cases" and "regimes" refused, calls "answered", the first "message" and its "query", and a "condition" that
            capabilities=... may state; it leaves "left" of the refused calls and excludes "excluded" of the answered
            ones, mostly 0.
        map: the weights that a failing value kernel gives to the rows of an input, {} where none were read: "input",
            "output", "query", "head" (of a batch), "rows", "columns", the "sentences" that say what is wrong, and "got"
            and "expected", row by row.
        kernel_seconds: time spent inside the kernel, in seconds.
        rows: one dictionary for the value kernel and one for the gradient kernel, as `attest check --json` writes them.
        table, diagnosis: the text that `attest check` and `attest diagnose` print.
    """

    def __init__(
        self,
        result: dict[str, Any],
        *,
        equation: str,
        profile: str,
        kernel: str,
        assumed: dict[str, Any],
        kernel_seconds: float,
        place: tuple[str, int] = ("", 0),
    ):
        self.data = json.loads(result["json"])
        self._judged = result["judged"]
        self.table: str = result["table"]
        self.diagnoses: list[str] = result["diagnoses"]
        self.equation, self.profile, self.kernel = equation, profile, kernel
        self.assumed, self.kernel_seconds, self._place = assumed, kernel_seconds, place
        self.rows: list[dict[str, Any]] = self.data["rows"]

    @property
    def verdict(self) -> str:
        return self.data["status"]

    @property
    def passed(self) -> bool:
        return self.verdict == "PASS"

    __bool__ = passed.fget

    @property
    def _row(self) -> dict[str, Any]:
        """The first row with the report's verdict."""
        return next((row for row in self.rows if row["status"] == self.verdict), self.rows[0] if self.rows else {})

    @property
    def diagnosis(self) -> str:
        """The fault of the kernel and the precision that it reaches, as `attest diagnose` prints them."""
        text = "".join(self.diagnoses).strip("\n") or "no case was judged: the kernel cannot do what was asked for"
        if self.assumed:
            text += "\n" + textwrap.fill(self._said, 98, initial_indent="  assumed       ", subsequent_indent=" " * 16)
        return text

    @property
    def _said(self) -> str:
        """What was assumed, in words."""
        return ", ".join(f"{name} is {what}" for name, what in self.assumed.items())

    @property
    def effective_bits(self) -> float | None:
        statistics = next((row["statistics"] for row in self.rows if row["reading"] == "value"), None)
        return statistics["bits"] if statistics and statistics["elements"] > 0 else None

    @property
    def bits(self) -> str:
        """The effective bits as reports print them."""
        return rounded(self.effective_bits)

    @property
    def cases(self) -> dict[str, int]:
        """How many cases were "judged", "passed" and "skipped", over all readings."""
        return {key: sum(row["cases"][key] for row in self.rows) for key in ("judged", "passed", "skipped")}

    @property
    def left_out(self) -> dict[str, int]:
        """How many cases were skipped for which reason, over all readings, the most frequent first."""
        counts: dict[str, int] = {}
        for row in self.rows:
            for reason, cases in row["cases"]["left_out"].items():
                counts[reason] = counts.get(reason, 0) + cases
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    @property
    def faults(self) -> list[Fault]:
        names = self._row.get("diagnosis", {}).get("names", [])
        return [
            Fault(
                name["fault"],
                name["whole"],
                name["failing"],
                *(float(name[key]) for key in ("c", "error", "z", "explained")),
            )
            for name in names
        ]

    @property
    def first_error(self) -> str:
        row = self._row
        failures = row.get("failures", [])
        return (row["diagnosis"]["first"] or failures[0]["message"]) if failures else ""

    @property
    def repro(self) -> str:
        row = self._row
        queries = [row["diagnosis"]["query"], *(failure["query"] for failure in row["failures"])] if row else []
        return next((query for query in queries if query), "")

    @property
    def restricted(self) -> list[str]:
        return list(dict.fromkeys(what for row in self.rows for what in row["restricted"]))

    @property
    def refusals(self) -> dict[str, Any]:
        return next((row["refusals"] for row in self.rows if row["refusals"]["message"]), {})

    @property
    def map(self) -> dict[str, Any]:
        return next((row["map"] for row in self.rows if row["map"]), {})

    @property
    def reach(self) -> dict[str, Any]:
        return min((row["reach"] for row in self.rows), key=lambda reach: reach["calls"], default={})

    @property
    def worst(self) -> Worst:
        best = max(
            self.rows, key=lambda row: float(row["worst"]["ratio"]) if row["worst"]["query"] else -1, default=None
        )
        if best is None:
            return Worst(math.nan, "", "")
        return Worst(float(best["worst"]["ratio"]), best["worst"]["text"], best["worst"]["query"])

    def raise_for_failure(self) -> "Report":
        """Raises Failure, an AssertionError with the diagnosis as its message, unless the kernel passed; returns the
        report."""
        if not self.passed:
            raise Failure(self)
        return self

    def as_dict(self) -> dict[str, Any]:
        """Everything as data that json can write."""
        return {
            "kernel": self.kernel,
            "equation": self.equation,
            "profile": self.profile,
            "verdict": self.verdict,
            "effective_bits": self.effective_bits,
            "faults": [dataclasses.asdict(fault) for fault in self.faults],
            "first_error": self.first_error,
            "repro": self.repro,
            "worst": dataclasses.asdict(self.worst),
            "assumed": self.assumed,
            "restricted": self.restricted,
            "reach": self.reach,
            "refusals": self.refusals,
            "kernel_seconds": self.kernel_seconds,
            "report": self.data,
        }

    def save(self, path: str | os.PathLike) -> None:
        """Writes as_dict() as JSON, beside the target first, so that a failure leaves the old file."""
        write_atomically(path, json.dumps(self.as_dict(), indent=2) + "\n")

    def _named(self, name: str) -> native.Judged:
        """The judge's own report, under that name."""
        return self._judged.named(name, "assumed: " + self._said if self.assumed else "", *self._place)

    def html(self, path: str | os.PathLike) -> None:
        """Writes the page that `attest check --html` writes."""
        write_atomically(path, native.html([self._named(self.kernel)]))

    def junit(self, path: str | os.PathLike) -> None:
        """Writes the JUnit XML that `attest check --junit` writes."""
        write_atomically(path, native.junit([self._named(self.kernel)]))

    def sarif(self, path: str | os.PathLike) -> None:
        """Writes the SARIF that `attest check --sarif` writes; its location is the definition of the function, where
        that is in a file."""
        write_atomically(path, native.sarif([self._named(self.kernel)]))

    def __str__(self) -> str:
        return self.table

    def __repr__(self) -> str:
        return f"<attest.Report {self.kernel}: {self.equation} {self.profile} {self.verdict}>"


def rounded(bits: float | None) -> str:
    return "-" if bits is None else f"{bits:.1f}"


def write_atomically(path: str | os.PathLike, text: str) -> None:
    target = pathlib.Path(path)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".tmp-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
