"""The journal of one test: each decision about a call, and the spans that ended. Bounded, and says when it is full."""

from __future__ import annotations

import threading
import time
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.guard.ports import ToolCall

#: calls, and spans, that are kept of one test; a test with more of them fails, since not all were looked at
MOST: Final = 10_000


class Entry:
    """One judged call.

    Args:
        decision: the verdict. span: what tells of it, None where another telemetry has that. when: nanoseconds since
            1970. call, ref: what was judged, and its span's ids; None where the program changed its evidence file.
        outside: whether no run was open where it was judged. late: whether a run that is over was.
        expected: whether the test wants it to be refused.
    """

    __slots__ = ("call", "decision", "expected", "late", "outside", "ref", "span", "when")

    def __init__(self, decision: Decision, span: ReadableSpan | None) -> None:
        self.decision = decision
        self.span = span
        self.when = time.time_ns()
        self.call: ToolCall | None = None
        self.ref: SpanRef | None = None
        self.outside = False
        self.late = False
        self.expected = False


class Journal:
    """The judged calls in order, and the spans that ended. Safe for threads; bounded by `MOST`.

    Args:
        full: whether there was no room for some of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._by_decision: dict[int, Entry] = {}
        self._own: list[ReadableSpan] = []
        self._foreign: list[ReadableSpan] = []
        self.full = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The judged calls."""
        with self._lock:
            return tuple(self._entries)

    @property
    def own(self) -> tuple[ReadableSpan, ...]:
        """Ended spans of the test's own provider."""
        with self._lock:
            return tuple(self._own)

    @property
    def foreign(self) -> tuple[ReadableSpan, ...]:
        """Ended tool spans of others that have a verdict."""
        with self._lock:
            return tuple(self._foreign)

    def told(self, decision: Decision, span: object) -> Entry:
        """A call's span has started."""
        with self._lock:
            return self._add(decision, span if isinstance(span, ReadableSpan) else None)

    def amended(self, entry: Entry, decision: Decision) -> None:
        """The guard changed its verdict on a call."""
        with self._lock:
            entry.decision = decision
            self._by_decision[id(decision)] = entry

    def written(self, call: ToolCall, decision: Decision, ref: SpanRef | None) -> None:
        """The guard decided, and may change its mind yet."""
        with self._lock:
            entry = self._of(decision)
            entry.call, entry.ref = call, ref

    def judged(self, decision: Decision, *, outside: bool, late: bool) -> None:
        """The guard decided, for good."""
        with self._lock:
            entry = self._of(decision)
            entry.outside, entry.late = outside, late

    def ended(self, span: ReadableSpan) -> None:
        """A span of the test's own provider has ended."""
        self._keep(self._own, span)

    def seen(self, span: ReadableSpan) -> None:
        """A tool span of another's has ended."""
        self._keep(self._foreign, span)

    def _of(self, decision: Decision) -> Entry:
        return self._by_decision.get(id(decision)) or self._add(decision, None)

    def _add(self, decision: Decision, span: ReadableSpan | None) -> Entry:
        entry = Entry(decision, span)
        if len(self._entries) < MOST:
            self._entries.append(entry)
            self._by_decision[id(decision)] = entry  # an id is one decision's as long as the entry holds it
        else:
            self.full = True
        return entry

    def _keep(self, kept: list[ReadableSpan], span: ReadableSpan) -> None:
        with self._lock:
            if len(kept) < MOST:
                kept.append(span)
            else:
                self.full = True
