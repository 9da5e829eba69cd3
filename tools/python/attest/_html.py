# SPDX-License-Identifier: MIT
"""Reports as one file: JSON for machines, a static page for people."""

from __future__ import annotations

import html
import json
import pathlib

from attest._report import Report, write_atomically

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c1c1c }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: 13px }
.PASS { color: #14692d } .FAIL, .CRASH { color: #b00020; font-weight: 600 }
.INVALID { color: #8a5a00; font-weight: 600 }
"""


def write_reports(path: str, reports: list[tuple[str, Report]]) -> None:
    """Writes (name, report) pairs as the file's suffix says."""
    if pathlib.Path(path).suffix == ".json":
        write_atomically(
            path, json.dumps([{"name": name, **report.as_dict()} for name, report in reports], indent=2) + "\n"
        )
    else:
        write_atomically(path, page(reports))


def page(reports: list[tuple[str, Report]]) -> str:
    passed = sum(report.passed for _, report in reports)
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>attest</title>",
        f"<style>{STYLE}</style>",
        f"<h1>attest</h1><p>{passed} of {len(reports)} kernels pass.</p>",
        row(
            "th",
            "kernel",
            "equation",
            "profile",
            "verdict",
            "cases",
            "skipped",
            "error / bound",
            "bits",
            opening="<table>",
        ),
    ]
    for number, (name, report) in enumerate(reports):
        parts.append(
            f"<tr><td><a href='#k{number}'>{html.escape(name)}</a></td>"
            f"<td>{report.equation}</td><td>{report.profile}</td>"
            f"<td class='{report.verdict}'>{report.verdict}</td>"
            f"<td class='number'>{report.cases['passed']}/{report.cases['judged']}</td>"
            f"<td class='number'>{report.cases['skipped']}</td>"
            f"<td class='number'>{report.worst.ratio:.2g}</td><td class='number'>{report.bits}</td></tr>"
        )
    parts.append("</table>")
    for number, (name, report) in enumerate(reports):
        parts.append(
            f"<h2 id='k{number}'>{html.escape(name)} <span class='{report.verdict}'>{report.verdict}</span></h2>"
        )
        parts.append(f"<pre>{html.escape(report.diagnosis)}</pre>")
        if report.left_out:
            reasons = ", ".join(f"{cases} {reason}" for reason, cases in report.left_out.items())
            parts.append(f"<p>Cases left out: {html.escape(reasons)}</p>")
        if report.worst.query:
            parts.append(
                f"<p>Nearest to its bound: {html.escape(report.worst.text)}"
                f"<br><code>{html.escape(report.worst.query)}</code></p>"
            )
        parts.append(row("th", "reading", "group", "judged", "passed", "skipped", opening="<table>"))
        for one in report.rows:
            parts += [
                row("td", one["reading"], group, count["judged"], count["passed"], count["skipped"])
                for group, count in one["groups"].items()
            ]
        parts.append("</table>")
        failures = [failure for one in report.rows for failure in one["failures"]]
        if failures:
            parts.append(row("th", "group", "found by", "what", "query", opening="<table>"))
            parts += [
                row("td", failure["group"], failure["tier"], failure["message"], failure["query"])
                for failure in failures
            ]
            parts.append("</table>")
    return "\n".join(parts) + "</html>\n"


def row(cell: str, *texts: object, opening: str = "") -> str:
    return f"{opening}<tr>" + "".join(f"<{cell}>{html.escape(str(text))}</{cell}>" for text in texts) + "</tr>"
