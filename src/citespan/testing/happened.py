"""From what was watched to calls: each once, as `citespan show` and the report have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from citespan import semconv
from citespan.calls import Call, call_of
from citespan.core.decision import Decision
from citespan.core.leaves import Snapshot
from citespan.guard.ports import ToolCall
from citespan.otel.attributes import record
from citespan.otel.digest import default_digester
from citespan.otel.exporter import ProvenanceSpanExporter
from citespan.testing.journal import Entry, Journal
from citespan.traces.decode import decode
from citespan.traces.model import SpanRecord
from citespan.traces.otlp_json import traces_data

_BLANK: Final = SpanRecord(
    "", "", "", "", 1, 0, 0, {}, (), (), "UNSET", "", {}, semconv.SCOPE, "", (0, 0, 0), ""
)  # fmt: skip


class Happened(NamedTuple):
    """One call of a test.

    Args:
        call: what there is to show. counted: how many of its leaves took from a budget.
        outside: whether no run was open where it was judged. late: whether a run that is over was.
        expected: whether the test wants it to be refused.
    """

    call: Call
    counted: int
    outside: bool = False
    expected: bool = False
    late: bool = False


def happened(journal: Journal) -> tuple[Happened, ...]:
    """The calls so far, by start."""
    entries = journal.entries
    taken = {_id(entry.span) for entry in entries if entry.span is not None}
    others = [span for span in journal.foreign if _id(span) not in taken]
    calls = [call for span in exported(others) if (call := _call(span)) is not None]
    found = [Happened(call, len(call.assumed_fields)) for call in calls]
    unclaimed = [(call.tool, call.status) for call in calls]
    for entry in entries:
        key = (entry.decision.tool, entry.decision.status)
        if entry.span is None and key in unclaimed:
            unclaimed.remove(key)  # the second gate told this decision on the span of another's
            continue
        found.append(Happened(_told(entry), len(entry.decision.counted), entry.outside, entry.expected, entry.late))
    return tuple(sorted(found, key=lambda one: one.call.start))


def ended(journal: Journal) -> tuple[ReadableSpan, ...]:
    """The spans that ended so far, each once: the test's own, then those of others."""
    told = (entry.span for entry in journal.entries if entry.span is not None and entry.span.end_time is not None)
    spans = {_id(span): span for span in (*journal.own, *journal.foreign, *told)}
    return exported(spans.values())


def exported(spans: Iterable[ReadableSpan]) -> tuple[ReadableSpan, ...]:
    """Copies without the raw arguments and results that others put on spans (design section 4)."""
    sink = InMemorySpanExporter()
    ProvenanceSpanExporter(sink).export(tuple(spans))
    return sink.get_finished_spans()


def _id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    return 0 if context is None else context.span_id


def _call(span: ReadableSpan) -> Call | None:
    return next((call_of(each) for each in decode(traces_data([span]), "")), None)


def _told(entry: Entry) -> Call:
    call = None if entry.span is None else next(map(_call, exported([entry.span])), None)
    return call or _without_span(entry)


def _without_span(entry: Entry) -> Call:
    """A call of which there is no span here: other telemetry has it."""
    decision = entry.decision
    told = record(entry.call or _from(decision), decision, default_digester())
    span = _BLANK._replace(name=told.names.span, attributes=told.attributes, start=entry.when, end=entry.when)
    if entry.ref is not None:
        span = span._replace(trace_id=entry.ref.trace_id, span_id=entry.ref.span_id)
    made = call_of(span)
    assert made is not None  # its name is that of a tool call
    return made


def _from(decision: Decision) -> ToolCall:
    """What a decision says of its call."""
    undeclared = {tag.leaf.path[0] for tag in decision.tags if tag.leaf.role == "key" and len(tag.leaf.path) == 1}
    names = {str(tag.leaf.path[0]) for tag in decision.tags if tag.leaf.path[0] not in undeclared}
    leaves = tuple(tag.leaf for tag in decision.tags)
    return ToolCall(decision.tool, decision.server, Snapshot({}, leaves), frozenset(names), None, None, None, None)
