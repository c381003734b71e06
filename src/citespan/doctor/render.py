"""The findings as text for people, and as JSON for programs."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

import orjson

from citespan.doctor.findings import Finding, Framework, Health

SCHEMA: Final = "citespan.doctor/1"
#: what no adapter can see
NOWHERE: Final = (
    "tools that a model provider runs itself (web search, code execution), remote executors, and bodies that are",
    "called without their framework. A span that nobody guards has provenance.status = unguarded.",
)
_MARKS: Final = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
_FRAMEWORK_MARKS: Final = {
    "guarded": "ok     ",
    "supported": "ok     ",
    "unsupported": "PROBLEM",
    "broken": "PROBLEM",
    "absent": "-      ",
}


def text(health: Health) -> str:
    """One line for each thing, what to do below it."""
    lines = []
    for area, findings in groupby(health.findings, key=lambda finding: finding.area):
        lines.append(area)
        for finding in findings:
            lines += _finding(finding)
    lines.append("frameworks")
    for framework in health.frameworks:
        lines += _framework(framework)
    lines.append("not covered anywhere")
    lines += [f"  {line}" for line in NOWHERE]
    return "\n".join(lines) + "\n"


def _finding(finding: Finding) -> list[str]:
    lines = [f"  {_MARKS[finding.state]} {finding.name}: {finding.text}"]
    return lines + ([f"          {finding.advice}"] if finding.advice else [])


def _framework(framework: Framework) -> list[str]:
    mark, name = _FRAMEWORK_MARKS[framework.state], framework.title
    if framework.state == "absent":
        return [f"  {mark} {name}: {framework.distribution} is not installed"]
    if framework.reason:
        return [f"  {mark} {name}: NOT guarded: {framework.reason} (supported: {framework.supported})"]
    tried = (
        "wrapped and unwrapped just now" if framework.state == "guarded" else "not tried; --try imports and wraps it"
    )
    judged = framework.note or f"{framework.mode}, policy {framework.policy}"
    return [
        f"  {mark} {name} {framework.version}: {judged} ({tried})",
        f"          wraps:   {', '.join(framework.wraps)}",
        f"          covers:  {framework.covers}",
        f"          misses:  {framework.misses}",
        f"          refusal: to the model: {framework.tell}",
        f"          abort:   to the caller: {framework.abort}",
    ]


def json(health: Health) -> bytes:
    """The same as one JSON object, with `schema`."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "healthy": health.healthy,
        "findings": [finding._asdict() for finding in health.findings],
        "frameworks": [framework._asdict() for framework in health.frameworks],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
