# SPDX-License-Identifier: MIT
"""pytest plugin: makes tests of every attest.conformance of a test file, one per profile and group of cases.

--attest-report=FILE writes the reports of all kernels to FILE.json or FILE.html. A group whose cases fail is a failed
test, with the diagnosis and the queries that reproduce it; a group that no case was judged in is skipped, with the
reason, and so is one whose every failure is waived. --attest-report with another suffix, or in a folder that does not
exist, is a usage error.

Under pytest-xdist the processes hand their reports to the one that writes them; as data, of which no page can be made.
With --dist loadscope or loadfile the tests of a kernel run in one process, and it is judged once."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
from typing import Any

import pytest


@dataclasses.dataclass
class Judged:
    """A kernel's report: what is printed and written of it. `report` is None where another process judged."""

    name: str
    profile: str
    lines: list[str]
    data: dict[str, Any]
    report: Any = None


REPORTS = pytest.StashKey[dict]()  # (name, profile): Judged
TO_SEND = pytest.StashKey[list]()  # of a process of pytest-xdist: those that are not under way yet
SUFFIXES = (".json", ".html")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("attest", "conformance of attention kernels")
    group.addoption("--attest-report", metavar="FILE", help="write what attest found to FILE.json or FILE.html")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORTS] = {}
    config.stash[TO_SEND] = []
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Receiver(config), "attest-receiver")
    path = config.getoption("--attest-report")
    if path and pathlib.Path(path).suffix not in SUFFIXES:
        raise pytest.UsageError(f"--attest-report={path}: the name must end in {' or '.join(SUFFIXES)}")
    if path and not pathlib.Path(path).resolve().parent.is_dir():
        raise pytest.UsageError(f"--attest-report={path}: there is no folder {pathlib.Path(path).resolve().parent}")
    if path and config.getoption("dist", "no") != "no" and pathlib.Path(path).suffix != ".json":
        raise pytest.UsageError(f"--attest-report={path}: with pytest-xdist the name must end in .json")


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
                self._keep(interrupted.report)
                raise
            except Exception as error:  # the function that makes the kernel, or how it is to be judged
                self._outcomes[profile] = error
            else:
                self._keep(self._outcomes[profile])
        if isinstance(self._outcomes[profile], Exception):
            raise self._outcomes[profile]
        return self._outcomes[profile]

    def _keep(self, report) -> None:
        judged = Judged(self.nodeid, report.profile, summary(self.nodeid, report), report.as_dict(), report)
        self.config.stash[REPORTS][judged.name, judged.profile] = judged
        if hasattr(self.config, "workerinput"):
            self.config.stash[TO_SEND].append(judged)


def summary(name: str, report) -> list[str]:
    cases = report.cases
    return [
        f"{name} {report.profile}: {report.verdict}, {cases['passed']} of {cases['judged']} cases "
        f"({cases['skipped']} skipped), "
        f"error/bound {report.worst.ratio:.2g}, {report.bits} bits",
        *(f"  assumed: {assumed} is {what}" for assumed, what in report.assumed.items()),
    ]


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """A process of pytest-xdist hands reports over with the test that made them: it may not live to the end."""
    test = yield
    if item.config.stash[TO_SEND]:
        test.attest = json.dumps([dataclasses.asdict(dataclasses.replace(one, report=None)) for one in sent(item)])
    return test


def sent(item: pytest.Item) -> list[Judged]:
    reports, item.config.stash[TO_SEND] = item.config.stash[TO_SEND], []
    return reports


class Receiver:
    """Takes what processes of pytest-xdist hand over."""

    def __init__(self, config: pytest.Config):
        self.config = config

    def pytest_runtest_logreport(self, report) -> None:
        for fields in json.loads(getattr(report, "attest", "[]")):
            judged = Judged(**fields)
            self.config.stash[REPORTS][judged.name, judged.profile] = judged


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--attest-report")
    if not path or hasattr(session.config, "workerinput"):
        return
    from attest._html import write_reports

    write_reports(path, [(one.name, one.data, one.report) for one in session.config.stash[REPORTS].values()])


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    reports = config.stash[REPORTS]
    if not reports:
        return
    terminalreporter.section("attest")
    if (dist := config.getoption("dist", "no")) not in ("no", "loadscope", "loadfile"):
        terminalreporter.line(
            f"with --dist {dist} several processes may judge one kernel; --dist loadscope lets one do it"
        )
    for judged in reports.values():
        for line in judged.lines:
            terminalreporter.line(line)
