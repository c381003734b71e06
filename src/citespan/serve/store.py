"""The traces that the service keeps: in memory, bounded, the least recently touched dropped first.

A dropped trace is dropped as a whole and remembered, so that no question about it, and no span that comes late, ever
makes it look complete. Single-threaded: the event loop owns it, and batches do not change once they are in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.serve.judge import Judgement
from citespan.serve.limits import Limits
from citespan.serve.packed import Batch

Reason: TypeAlias = Literal["memory", "traces", "age"]

#: bytes of bookkeeping: of a span (its object, its place, what tells it from others), of a batch, of a trace.
#: Measured on CPython 3.11 to 3.13, allocator's rounding included
SPAN_COST: Final = 160
BATCH_COST: Final = 350
TRACE_COST: Final = 1500
#: other traces that one trace's citations may lead to and are looked at
MAX_CITED: Final = 16


class Dropped(NamedTuple):
    """A trace that was kept once. why: `memory` and `traces`: for new ones; `age`: nothing came for long enough."""

    trace_id: str
    why: Reason


class Trace:
    """One trace. Read it; only the store changes it.

    Args:
        trace_id: 32 hex digits. lost: why spans that came earlier are gone, None where none are.
        serial: no two that were ever kept have the same, also not one that came again after it was dropped.
    """

    __slots__ = (
        "batches",
        "came",
        "cites",
        "judged",
        "lost",
        "refused",
        "seen",
        "serial",
        "size",
        "spans",
        "touched",
        "trace_id",
        "unusable",
    )

    def __init__(self, trace_id: str, lost: Reason | None, serial: int) -> None:
        self.trace_id = trace_id
        self.lost = lost
        self.serial = serial
        self.batches: list[Batch] = []
        self.seen: set[int] = set()
        self.cites: set[str] = set()
        self.size = TRACE_COST
        #: distinct spans; those that went over a limit; those that no span could be made of
        self.spans = 0
        self.refused = 0
        self.unusable = 0
        #: when its last span came: on the clock that only goes forward, and in seconds since 1970
        self.touched = 0.0
        self.came = 0.0
        self.judged: Judgement | None = None


class Store:
    """All traces.

    Args:
        limits: of which `memory`, `traces`, `spans`, `dropped` and `keep` are held here.

    Example:
        >>> store = Store(Limits())
        >>> store.add([Batch("5b" * 16, b"", (b"span",))], now=0.0, time=0.0)
        0
        >>> store.find("5b" * 16, now=1.0).spans
        1
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._traces: OrderedDict[str, Trace] = OrderedDict()  # the least recently touched first
        self._dropped: OrderedDict[int, Reason] = OrderedDict()
        self.size = 0
        self._serial = 0
        #: dropped since the start, forgotten ones included
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._traces)

    def add(
        self, batches: Iterable[Batch], *, lacking: Mapping[str, int] = MappingProxyType({}), now: float, time: float
    ) -> int:
        """Take spans in; one that is there already counts once.

        Args:
            lacking: spans that came and cannot be used, by trace: it stays incomplete.
            now: seconds on the clock that `find` is asked on. time: seconds since 1970.

        Returns:
            How many spans were refused, because their trace is over its limit.
        """
        self.expire(now)
        refused = 0
        for batch in batches:
            refused += self._extend(self._touched(batch.trace_id, now, time), batch)
            self._make_room()
        for trace_id, number in lacking.items():
            self._touched(trace_id, now, time).unusable += number
            self._make_room()
        return refused

    def _touched(self, trace_id: str, now: float, time: float) -> Trace:
        trace = self._traces.get(trace_id)
        if trace is None:
            self._serial += 1
            trace = Trace(trace_id, self._dropped.pop(int(trace_id, 16), None), self._serial)
            self._traces[trace_id] = trace
            self.size += TRACE_COST
        self._traces.move_to_end(trace_id)
        trace.touched, trace.came = now, time
        return trace

    def _extend(self, trace: Trace, batch: Batch) -> int:
        room = self._limits.of_a_trace - trace.size - BATCH_COST - len(batch.origin)
        kept: list[bytes] = []
        refused = 0
        for span in batch.spans:
            mark = hash(span)
            if mark in trace.seen:
                continue
            cost = len(span) + SPAN_COST
            if trace.spans + len(kept) >= self._limits.spans or cost > room:
                refused += 1
                continue
            trace.seen.add(mark)
            kept.append(span)
            room -= cost
        if kept:
            trace.batches.append(batch._replace(spans=tuple(kept)))
            trace.spans += len(kept)
            trace.cites.update(sorted(batch.cites)[: MAX_CITED - len(trace.cites)])
            size = self._limits.of_a_trace - room
            self.size += size - trace.size
            trace.size = size
        trace.refused += refused
        return refused

    def _make_room(self) -> None:
        while len(self._traces) > self._limits.traces:
            self._drop("traces")
        while self.size > self._limits.memory:
            self._drop("memory")

    def expire(self, now: float) -> None:
        """Drop what nothing came for in a long time."""
        while self._traces and next(iter(self._traces.values())).touched <= now - self._limits.keep:
            self._drop("age")

    def _drop(self, why: Reason) -> None:
        trace_id, trace = self._traces.popitem(last=False)
        self.size -= trace.size
        self.dropped += 1
        self._dropped[int(trace_id, 16)] = why
        if len(self._dropped) > self._limits.dropped:
            self._dropped.popitem(last=False)

    def find(self, trace_id: str, *, now: float) -> Trace | Dropped | None:
        """The trace, or that it was dropped; None where it never came, or was dropped long ago."""
        self.expire(now)
        trace = self._traces.get(trace_id)
        if trace is not None:
            return trace
        why = self._dropped.get(int(trace_id, 16))
        return None if why is None else Dropped(trace_id, why)

    def newest(self, *, now: float) -> Iterator[Trace]:
        """All traces, the one that was touched last first."""
        self.expire(now)
        yield from list(reversed(self._traces.values()))

    def cited(self, trace: Trace) -> tuple[Trace, ...]:
        """Traces that are here and that citations of this one lead to."""
        found = (self._traces.get(each) for each in sorted(trace.cites))
        return tuple(each for each in found if each is not None)
