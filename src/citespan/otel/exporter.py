"""A span exporter that lets no raw content out (design section 4).

Frameworks and instrumentation libraries put arguments, results and messages on spans. A processor cannot
take them off again (a span that ends is frozen), so they are left out of the copy that is exported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList

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
        dirty = not self._allow_content and (
            _has_content(attributes) or any(_has_content(event.attributes or {}) for event in span.events)
        )
        if not added and not dirty:
            return span
        return ReadableSpan(
            name=span.name,
            context=span.get_span_context(),
            parent=span.parent,
            resource=span.resource,
            attributes=_bounded({**_without(attributes, dirty), **added}, span.dropped_attributes),
            events=_events(span) if dirty else span._events,  # the list knows what it dropped
            links=span._links,
            kind=span.kind,
            status=span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )


def is_content(key: str) -> bool:
    """Whether an attribute holds raw arguments, results or messages."""
    return key in semconv.CONTENT_KEYS or key.startswith(semconv.CONTENT_PREFIXES)


def _has_content(attributes: Mapping[str, Any]) -> bool:
    return any(is_content(key) for key in attributes)


def _without(attributes: Mapping[str, Any], dirty: bool) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if not dirty or not is_content(key)}


def _bounded(attributes: dict[str, Any], dropped: int) -> BoundedAttributes:
    bounded = BoundedAttributes(attributes=attributes, immutable=True)
    bounded.dropped = dropped
    return bounded


def _events(span: ReadableSpan) -> BoundedList[Event]:
    events: BoundedList[Event] = BoundedList(None)
    events.extend(
        [
            Event(
                event.name, _bounded(_without(event.attributes or {}, True), event.dropped_attributes), event.timestamp
            )
            for event in span.events
        ]
    )
    events.dropped = span.dropped_events
    return events
