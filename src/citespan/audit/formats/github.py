"""An audit as workflow commands of GitHub Actions, which become annotations of a check.

A service shows the first ten of each severity, so errors come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from citespan.audit.formats.places import split
from citespan.audit.formats.text import summary
from citespan.audit.model import Audit, Finding
from citespan.audit.rules import RULES, SEVERITIES, Severity

_COMMANDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "note": "notice"}


def render_github(audit: Audit) -> bytes:
    """One line per finding, and a notice with the summary."""
    ordered = sorted(audit.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    lines = [_line(finding) for finding in ordered]
    more = f" {audit.left_out} more are counted, and not listed." if audit.left_out else ""
    lines.append(f"::notice title=citespan audit::{_data(summary(audit) + more)}")
    return ("\n".join(lines) + "\n").encode()


def _line(finding: Finding) -> str:
    properties = ",".join(f"{key}={_property(value)}" for key, value in _properties(finding))
    where = ".".join(filter(None, (finding.tool, finding.argument)))
    span = f" (span {finding.span_id})" if finding.span_id else ""
    message = f"{where}{': ' if where else ''}{finding.message}{span}. {RULES[finding.rule].help}"
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(message)}"


def _properties(finding: Finding) -> Iterator[tuple[str, str]]:
    file, line = split(finding.place)
    if file:
        yield "file", file
        yield "line", str(line)
    yield "title", f"{finding.family}: {finding.rule}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
