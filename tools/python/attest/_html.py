# SPDX-License-Identifier: MIT
"""Several reports as one file: JSON for machines, a page for people."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from attest import native
from attest._report import Report, write_atomically


def write_reports(path: str, reports: list[tuple[str, dict[str, Any], Report]]) -> None:
    """Writes (name, Report.as_dict(), report) of each kernel as the file's suffix says; the page takes the reports."""
    if pathlib.Path(path).suffix == ".json":
        write_atomically(path, json.dumps([{"name": name, **data} for name, data, _ in reports], indent=2) + "\n")
    else:
        write_atomically(path, native.html([report._named(name) for name, _, report in reports]))
