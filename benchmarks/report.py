"""The result as a plain table, as Markdown or as JSON. Each function returns text."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from itertools import groupby
from typing import Any

from benchmarks.measure import Row

_COLUMNS = "{:<66} {:>7}  {:<7} {:<7} {:>12} {:>12}  {}"
_LIBRARIES = ("opentelemetry-sdk", "orjson", "wrapt")


def surroundings() -> dict[str, Any]:
    """What the figures depend on besides the code; `load` is the load average of the last minute."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        **{name: metadata.version(name) for name in _LIBRARIES},
    }


def table(rows: Sequence[Row], around: dict[str, Any]) -> str:
    """One line per row, grouped."""
    lines = [", ".join(f"{name} {value}" for name, value in around.items())]
    lines.append("Ratios are of medians; both sides are measured in turn, in this one run. us: CPU microseconds.")
    for group, members in groupby(rows, key=lambda entry: entry.group):
        lines += ["", _COLUMNS.format(group, "ratio", "target", "", "this", "against", "(this / against)").rstrip()]
        lines += [_line(entry) for entry in members]
    aimed = [entry for entry in rows if entry.met is not None]
    lines += ["", f"{sum(entry.met is True for entry in aimed)} of {len(aimed)} targets met"]
    return "\n".join(lines)


def _line(entry: Row) -> str:
    target, met = _judged(entry)
    amounts = [_amount(amount, entry.unit) for amount in (entry.amount, entry.against)]
    sides = f"{entry.side} / {entry.other}"
    return _COLUMNS.format(f"  {entry.name}", f"{entry.ratio:.2f}", target, met, *amounts, sides).rstrip()


def _amount(amount: float, unit: str) -> str:
    if unit == "bytes":
        return f"{amount:,.0f} B"
    return f"{amount:,.0f} us" if amount >= 1000 else f"{amount:,.1f} us"


def markdown(rows: Sequence[Row], around: dict[str, Any]) -> str:
    """The same as the table of docs/benchmarks.md."""
    lines = [", ".join(f"{name} {value}" for name, value in around.items()), ""]
    lines += ["| | ratio | target | | this | against |", "|---|---:|---|---|---:|---:|"]
    for group, members in groupby(rows, key=lambda entry: entry.group):
        lines.append(f"| **{group}** | | | | | |")
        for entry in members:
            target, met = _judged(entry)
            amounts = ((entry.side, entry.amount), (entry.other, entry.against))
            sides = [f"{name} {_amount(amount, entry.unit)}" for name, amount in amounts]
            cells = [entry.name, f"{entry.ratio:.2f}", target, met, *sides]
            lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines)


def _judged(entry: Row) -> tuple[str, str]:
    return "" if entry.target is None else str(entry.target), {True: "met", False: "not met", None: ""}[entry.met]


def as_json(rows: Sequence[Row], around: dict[str, Any]) -> str:
    """The same as one JSON document."""
    return json.dumps({"surroundings": around, "rows": [_record(entry) for entry in rows]}, indent=2)


def _record(entry: Row) -> dict[str, Any]:
    target = entry.target
    return {
        **entry._asdict(),
        "ratio": entry.ratio,
        "target": None if target is None else {"sense": target.sense, "bound": target.bound},
        "met": entry.met,
    }
