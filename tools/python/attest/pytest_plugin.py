# SPDX-License-Identifier: MIT
"""pytest plugin: makes tests of every attest.conformance of a test file, one per profile and group of cases.

--attest-report=FILE writes the reports of all kernels to FILE.json or FILE.html. A group whose cases fail is a failed
test, with the diagnosis and the queries that reproduce it; a group that no case was judged in is skipped, with the
reason, and so is one whose every failure is waived. --attest-report with another suffix, or in a folder that does not
exist, is a usage error."""

from __future__ import annotations

import pathlib
import sys

import pytest

REPORTS = pytest.StashKey[list]()
SUFFIXES = (".json", ".html")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("attest", "conformance of attention kernels")
    group.addoption("--attest-report", metavar="FILE", help="write what attest found to FILE.json or FILE.html")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORTS] = []
    path = config.getoption("--attest-report")
    if path and pathlib.Path(path).suffix not in SUFFIXES:
        raise pytest.UsageError(f"--attest-report={path}: the name must end in {' or '.join(SUFFIXES)}")
    if path and not pathlib.Path(path).resolve().parent.is_dir():
        raise pytest.UsageError(f"--attest-report={path}: there is no folder {pathlib.Path(path).resolve().parent}")


def pytest_pycollect_makeitem(collector, name: str, obj: object):
    # A file without a Conformance never loads the judge.
    attest = sys.modules.get("attest")
    if attest is not None and isinstance(obj, attest.Conformance):
        return Kernel.from_parent(collector, name=name, conformance=obj)
    return None


class Kernel(pytest.Collector):
    """One Conformance: judged once per profile, when the first of its tests runs."""

    def __init__(self, conformance, **kwargs):
        super().__init__(**kwargs)
        self.conformance = conformance
        self._outcomes: dict = {}

    def collect(self):
        several = len(self.conformance.profiles) > 1
        for profile in self.conformance.profiles:
            for group in self.conformance.groups():
                yield Group.from_parent(
                    self, name=f"{profile}-{group}" if several else group, profile=profile, group=group
                )

    def outcome(self, profile: str):
        """The report, or the exception that stands for it."""
        if profile not in self._outcomes:
            from attest import Interrupted

            try:
                self._outcomes[profile] = self.conformance.run(profile)
            except Interrupted as interrupted:
                self.config.stash[REPORTS].append((self.nodeid, interrupted.report))
                raise
            except Exception as error:  # the function that makes the kernel, or how it is to be judged
                self._outcomes[profile] = error
            else:
                self.config.stash[REPORTS].append((self.nodeid, self._outcomes[profile]))
        if isinstance(self._outcomes[profile], Exception):
            raise self._outcomes[profile]
        return self._outcomes[profile]


class NotConformant(AssertionError):
    """The failures of a group, with the diagnosis of the kernel."""


class Group(pytest.Item):
    def __init__(self, profile: str, group: str, **kwargs):
        super().__init__(**kwargs)
        self.profile, self.group = profile, group

    def runtest(self) -> None:
        report = self.parent.outcome(self.profile)
        counts = [row["groups"][self.group] for row in report.rows if self.group in row["groups"]]
        everything = [failure for row in report.rows for failure in row["failures"]]
        failures = [one for one in everything if one["group"] == self.group and one["waiver"] is None]
        waived = [one["waiver"] for one in everything if one["group"] == self.group and one["waiver"] is not None]
        if failures:
            raise NotConformant(message(report, failures))
        if self.group == "contract":
            # Whatever no other test shows: nothing was judged, it ended early, or a waiver should not be there.
            shown = any(one["waiver"] is None for one in everything)
            problems = [problem for waiver in report.data["waivers"] for problem in waiver["problems"]]
            if problems or (not report.passed and not shown):
                raise NotConformant("\n".join([message(report, []), *problems]))
        if waived:
            waiver = report.data["waivers"][waived[0]]
            pytest.skip(f"{len(waived)} failures waived until {waiver['expires']}: {waiver['reason']}")
        if self.group == "contract":
            return
        judged, skipped = sum(count["judged"] for count in counts), sum(count["skipped"] for count in counts)
        if judged == 0:
            if self.group in ("laws", "statistics", "regimes"):
                pytest.skip(
                    "not judged: " + ("the cases failed" if not report.passed else "not applicable to these cases")
                )
            reasons = ", ".join(f"{cases} {reason}" for reason, cases in report.left_out.items())
            pytest.skip(f"no case was judged: {skipped} left out (of the whole run: {reasons})")

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, NotConformant):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, f"{self.parent.name}[{self.name}]"


def message(report, failures) -> str:
    lines = [report.diagnosis]
    for failure in failures[:3]:
        lines += ["", failure["message"]]
        if failure["query"]:
            lines.append(f"  attest.reproduce({failure['query']!r}, kernel)")
    if len(failures) > 3:
        lines += ["", f"and {len(failures) - 3} more"]
    return "\n".join(lines)


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--attest-report")
    if not path or hasattr(session.config, "workerinput"):
        return
    from attest._html import write_reports

    write_reports(path, session.config.stash[REPORTS])


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    reports = config.stash[REPORTS]
    if not reports:
        return
    terminalreporter.section("attest")
    for name, report in reports:
        cases = report.cases
        terminalreporter.line(
            f"{name} {report.profile}: {report.verdict}, {cases['passed']} of {cases['judged']} cases "
            f"({cases['skipped']} skipped), "
            f"error/bound {report.worst.ratio:.2g}, {report.bits} bits"
        )
        for assumed, what in report.assumed.items():
            terminalreporter.line(f"  assumed: {assumed} is {what}")
