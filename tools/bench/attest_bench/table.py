# SPDX-License-Identifier: MIT
"""The measurements of a case as a table of at most 100 columns."""

import textwrap


def engineering(value, unit):
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} us"


def share(value, scale, top):
    """A rate in units of `scale`, and its share of the ceiling's; "-" for what is not known."""
    if not value:
        return "-", "-"
    return f"{value / scale:.3g}", f"{100 * value / top:.0f} %" if top else "-"


def line(row, scale, top):
    """A row with times; `scale` is the unit of FLOP/s, `top` has the rates of the ceilings."""
    flops, flops_share = share(row["flops_per_second"], scale, top["flops_per_second"])
    moved, moved_share = share(row["bytes_per_second"], 1e9, top["bytes_per_second"])
    ratio = f"{row['ratio']:.3g}" if "ratio" in row else "-"
    return (
        f"  {row['name'][:33]:<34}{duration(row['median']):>11}{100 * row['spread']:>6.1f} %"
        f"{flops:>10}{flops_share:>7}{moved:>9}{moved_share:>7}{ratio:>10}"
    )


def table(case):
    """At most 100 columns. Peers that are not installed share a line."""
    rows = case["subjects"]
    ceilings = [row for row in rows if row["kind"] == "ceiling"]
    top = {key: max((row[key] for row in ceilings), default=0) for key in ("flops_per_second", "bytes_per_second")}
    rounds = max((len(row.get("seconds", ())) for row in rows), default=0)
    letter, scale = ("T", 1e12) if top["flops_per_second"] > 1e13 else ("G", 1e9)
    if not rows:
        return f"{case['title']}\n  not timed: {case['reason']}\n"
    lines = [
        case["title"],
        f"  {engineering(case['flops'], 'flop')}, {engineering(case['bytes'], 'B')}, {rounds} rounds",
        f"  {'':<34}{'median':>11}{'spread':>8}{letter + 'FLOP/s':>10}{'share':>7}{'GB/s':>9}{'share':>7}{'ratio':>10}",
    ]
    for row in rows:
        if "median" in row:
            lines.append(line(row, scale, top))
        elif row["status"] != "absent":
            lines += textwrap.wrap(
                f"{row['status']}: {' '.join(row['reason'].split())}",
                98,
                initial_indent=f"  {row['name'][:33]:<34}",
                subsequent_indent=" " * 36,
            )
    if absent := [row["name"] for row in rows if row["status"] == "absent"]:
        lines += textwrap.wrap(f"not installed: {', '.join(absent)}", 98, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
