"""An audit for a person: provenance, then causality, each by trace; at the end what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from citespan.audit.model import Audit, Finding
from citespan.audit.rules import FAMILIES, RULES, SEVERITIES
from citespan.calls.words import number
from citespan.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS

OUTCOMES: Final = {EXIT_OK: "clean", EXIT_VIOLATIONS: "violations", EXIT_INCOMPLETE: "incomplete"}


def render_text(audit: Audit) -> bytes:
    """The audit as plain text, UTF-8; nothing in it can drive a terminal."""
    lines: list[str] = []
    for family in FAMILIES:
        found = [finding for finding in audit.findings if finding.family == family]
        if found:
            lines += [family.capitalize(), *_traces(found), ""]
    if audit.findings:
        lines += ["What to do", *_help(audit), ""]
    if audit.left_out:
        lines += [f"{number(audit.left_out, 'more finding')} counted, and not listed.", ""]
    lines.append(summary(audit))
    return ("\n".join(lines) + "\n").encode()


def _traces(found: list[Finding]) -> Iterator[str]:
    by_trace: dict[str, list[Finding]] = {}
    for finding in found:
        by_trace.setdefault(finding.trace_id, []).append(finding)
    for trace, members in by_trace.items():
        yield f"  trace {trace}" if trace else "  all files"
        for finding in members:
            where = ".".join(filter(None, (finding.tool, finding.argument)))
            yield f"    {finding.severity:<7}  {finding.rule}  {where}{': ' if where else ''}{finding.message}"
            at = ", ".join(filter(None, (finding.place, finding.span_id and f"span {finding.span_id}")))
            if at:
                yield f"             at {at}"


def _help(audit: Audit) -> Iterator[str]:
    for rule in RULES.values():
        if audit.counts.get(rule.id):
            yield f"  {rule.id}: {rule.brief}"
            yield f"    {rule.help}"


def summary(audit: Audit) -> str:
    """One line: what was read, what was found, and what the command ends with."""
    totals: list[str] = []
    for family in FAMILIES:
        counts: Counter[str] = Counter()
        for rule, count in audit.counts.items():
            if RULES[rule].family == family:
                counts[RULES[rule].severity] += count
        shown = ", ".join(number(counts[severity], severity) for severity in SEVERITIES if counts[severity])
        totals.append(f"{family}: {shown or 'nothing'}")
    read = f"{number(audit.calls, 'call')} in {number(audit.spans, 'span')}"
    return f"{read}. {'; '.join(totals)}. {OUTCOMES[audit.exit_code]} (exit code {audit.exit_code})"
