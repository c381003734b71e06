"""Findings, all counted and the worst of them kept: the memory that they take is bounded."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from citespan.audit.model import MAX_FINDINGS, Finding
from citespan.audit.rules import RULES, SEVERITIES
from citespan.audit.texts import MAX_MESSAGE, clean

_ORDER: Final = {rule: position for position, rule in enumerate(RULES)}
_SEVERITY: Final = {severity: position for position, severity in enumerate(SEVERITIES)}
_Timed: TypeAlias = tuple[int, Finding]


class Kept:
    """Collects findings. What is kept does not depend on the order in which they come.

    Args:
        most: how many are kept: errors before warnings before notes, early ones before late ones.
    """

    def __init__(self, most: int = MAX_FINDINGS) -> None:
        self.counts: Counter[str] = Counter()
        self._most = most
        self._found: list[_Timed] = []

    def add(
        self,
        rule: str,
        message: str,
        *,
        time: int = 0,
        tool: str = "",
        argument: str = "",
        trace_id: str = "",
        span_id: str = "",
        place: str = "",
    ) -> None:
        """Count one finding, and keep it if there is room. Its texts are cleaned here, once for all formats.

        Args:
            time: start of the span that it is about, nanoseconds since 1970.
        """
        self.counts[rule] += 1
        known = RULES[rule]
        finding = Finding(
            rule,
            known.severity,
            known.family,
            clean(message, MAX_MESSAGE),
            clean(tool),
            clean(argument),
            clean(trace_id),
            clean(span_id),
            clean(place, MAX_MESSAGE),
        )
        self._found.append((time, finding))
        if len(self._found) >= 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        self._found.sort(key=lambda timed: (_SEVERITY[timed[1].severity], *_when(timed)))
        del self._found[self._most :]

    def findings(self) -> tuple[Finding, ...]:
        """Those that are kept, in order of time."""
        self._cut()
        self._found.sort(key=_when)
        return tuple(finding for _, finding in self._found)


def _when(timed: _Timed) -> tuple[int | str, ...]:
    time, found = timed
    return time, found.trace_id, found.span_id, _ORDER[found.rule], found.argument, found.message, found.place
