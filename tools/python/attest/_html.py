# SPDX-License-Identifier: MIT
"""Several reports as one file: JSON for machines, a page for people."""

from __future__ import annotations

import json
import pathlib

from attest import native
from attest._report import Report, write_atomically


def write_reports(path: str, reports: list[tuple[str, Report]]) -> None:
    """Writes (name, report) pairs as the file's suffix says."""
    if pathlib.Path(path).suffix == ".json":
        write_atomically(
            path, json.dumps([{"name": name, **report.as_dict()} for name, report in reports], indent=2) + "\n"
        )
    else:
        write_atomically(path, native.html([report._named(name) for name, report in reports]))
