"""A span exporter that lets no raw content out (design section 4).

Frameworks and instrumentation libraries put arguments, results and messages on spans. A processor cannot
take them off again (a span that ends is frozen), so they are left out of the copy that is exported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Status

from citespan import semconv
from citespan.otel.posture import report
from citespan.otel.recognise import tool_of


class ProvenanceSpanExporter(SpanExporter):
    """Wraps an exporter: drops raw content, and gives tool spans that nobody judged the status `unguarded`.

    Args:
        exporter: where the spans go. allow_content: keep raw content.

    Example:
        `BatchSpanProcessor(ProvenanceSpanExporter(OTLPSpanExporter()))`
    """

    def __init__(self, exporter: SpanExporter, allow_content: bool = False) -> None:
        self.inner = exporter
        self._allow_content = allow_content

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export copies. An exporter that raises has failed, and breaks nothing."""
        try:
            return self.inner.export([self._copy(span) for span in spans])
        except Exception as error:
            report(f"{type(self.inner).__name__}.export", error)
            return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self.inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter."""
        return self.inner.force_flush(timeout_millis)

    def _copy(self, span: ReadableSpan) -> ReadableSpan:
        attributes = span.attributes or {}
        added: dict[str, Any] = {}
        told = semconv.STATUS in attributes or semconv.WITHIN in attributes
        if not told and tool_of(span.name, attributes) is not None:
            added[semconv.STATUS] = "unguarded"
        holds = _is_agents_content if _is_of_agents(span) else is_content
        dirty = not self._allow_content and _is_dirty(span, holds)
        if not added and not dirty:
            return span
        kept = _without(attributes, holds) if dirty else attributes
        return ReadableSpan(
            name=span.name,
            context=span.get_span_context(),
            parent=span.parent,
            resource=span.resource,
            attributes=_bounded({**kept, **added}, span.dropped_attributes),
            events=_events(span, holds) if dirty else span._events,  # the list knows what it dropped
            links=span._links,
            kind=span.kind,
            status=_status(span) if dirty else span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )


def is_content(key: str) -> bool:
    """Whether an attribute holds raw arguments, results or messages."""
    return key in semconv.CONTENT_KEYS or key.startswith(semconv.CONTENT_PREFIXES)


def _is_agents_content(key: str) -> bool:
    return is_content(key) or key in semconv.AGENT_CONTENT_KEYS


def _is_of_agents(span: ReadableSpan) -> bool:
    return any(key.startswith(semconv.AGENT_PREFIXES) for key in span.attributes or {})


def _is_dirty(span: ReadableSpan, holds: Callable[[str], bool]) -> bool:
    events = (event.attributes or {} for event in span.events)
    return _says_more(span) or any(holds(key) for attributes in (span.attributes or {}, *events) for key in attributes)


def _says_more(span: ReadableSpan) -> bool:
    """Whether the status of somebody else's span about an agent has a text: an exception's, mostly, with its values."""
    scope = span.instrumentation_scope
    ours = scope is not None and scope.name == semconv.SCOPE
    return bool(span.status.description) and not ours and _is_of_agents(span)


def _status(span: ReadableSpan) -> Status:
    return Status(span.status.status_code) if _says_more(span) else span.status


def _without(attributes: Mapping[str, Any], holds: Callable[[str], bool]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if not holds(key)}


def _bounded(attributes: dict[str, Any], dropped: int) -> BoundedAttributes:
    bounded = BoundedAttributes(attributes=attributes, immutable=True)
    bounded.dropped = dropped
    return bounded


def _events(span: ReadableSpan, holds: Callable[[str], bool]) -> BoundedList[Event]:
    events: BoundedList[Event] = BoundedList(None)
    events.extend(
        [
            Event(
                event.name, _bounded(_without(event.attributes or {}, holds), event.dropped_attributes), event.timestamp
            )
            for event in span.events
        ]
    )
    events.dropped = span.dropped_events
    return events
