"""What an audit says: findings, counts, and the exit code that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from citespan.audit.rules import RULES, Family, Severity
from citespan.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS

#: findings that are kept; all are counted
MAX_FINDINGS: Final = 10_000


class Finding(NamedTuple):
    """One thing that is wrong with a trace. Texts are cleaned: no control characters, and not longer than they may be.

    Args:
        rule: key of `RULES`. severity, family: the rule's.
        message: what was found; names, paths, ids and times, never a value.
        tool, argument: what it is about, "" where it is about no tool or the whole call.
        trace_id, span_id: where, hex; "" where it is about no one trace or span.
        place: `file:line` of that span, "" where there is none.
    """

    rule: str
    severity: Severity
    family: Family
    message: str
    tool: str = ""
    argument: str = ""
    trace_id: str = ""
    span_id: str = ""
    place: str = ""


class Audit(NamedTuple):
    """The outcome.

    Args:
        findings: in order of time; at most `MAX_FINDINGS`, errors first to be kept. left_out: how many are not kept.
        spans: distinct spans. calls: distinct tool calls, a call that a framework's own span tells of as well counting
            once.
        counts: number of findings by rule, of those with any, kept or not.
        incomplete: whether something that the files do not hold could change the answer.
    """

    findings: tuple[Finding, ...]
    left_out: int = 0
    spans: int = 0
    calls: int = 0
    counts: Mapping[str, int] = MappingProxyType({})
    incomplete: bool = False

    @property
    def exit_code(self) -> int:
        """1 where a rule was broken, else 2 where the files are incomplete, else 0 (design section 7).

        Example:
            >>> Audit((), counts={"blocked": 1}, incomplete=True).exit_code
            1
        """
        if any(RULES[rule].exit_code == EXIT_VIOLATIONS for rule, count in self.counts.items() if count):
            return EXIT_VIOLATIONS
        return EXIT_INCOMPLETE if self.incomplete else EXIT_OK
