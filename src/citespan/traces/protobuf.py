"""OTLP messages to `SpanRecord` values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from citespan.traces.decode import MAX_DEPTH, Malformed
from citespan.traces.model import EventRecord, LinkRecord, SpanRecord, StatusCode, is_remote

_CODES: Final[tuple[StatusCode, ...]] = ("UNSET", "OK", "ERROR")
_SCALARS: Final = frozenset({"string_value", "bool_value", "int_value", "double_value", "bytes_value"})


def span_of(span: Any, resource: Mapping[str, Any], scope: str, version: str, place: str) -> SpanRecord:
    """One `Span` message as a record; what stands around it in the message is given.

    Raises:
        Malformed: an id has not its length, or a status code is not known.
    """
    code = span.status.code
    if not 0 <= code < len(_CODES):
        raise Malformed("status.code: no status code")
    return SpanRecord(
        _id(span.trace_id, 16, "traceId"),
        _id(span.span_id, 8, "spanId"),
        _id(span.parent_span_id, 8, "parentSpanId") if span.parent_span_id else "",
        span.name,
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        attributes_of(span.attributes),
        tuple(EventRecord(event.name, event.time_unix_nano, attributes_of(event.attributes)) for event in span.events),
        tuple(
            LinkRecord(
                _id(link.trace_id, 16, "links.traceId"),
                _id(link.span_id, 8, "links.spanId"),
                attributes_of(link.attributes),
            )
            for link in span.links
        ),
        _CODES[code],
        span.status.message,
        resource,
        scope,
        version,
        (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count),
        place,
        is_remote(span.flags),
    )


def attributes_of(pairs: Iterable[Any]) -> dict[str, Any]:
    """`KeyValue` messages as Python values.

    Raises:
        Malformed: values are nested too deep.
    """
    return {pair.key: _value(pair.value, MAX_DEPTH) for pair in pairs}


def _value(value: Any, room: int) -> Any:
    """An `AnyValue` message as a Python value; one of a type that is not known is None."""
    name = value.WhichOneof("value")
    if name in _SCALARS:
        return getattr(value, name)
    if name == "array_value" or name == "kvlist_value":
        if not room:
            raise Malformed(f"more than {MAX_DEPTH} values inside each other")
        members = getattr(value, name).values
        if name == "array_value":
            return [_value(member, room - 1) for member in members]
        return {pair.key: _value(pair.value, room - 1) for pair in members}
    return None


def _id(value: bytes, size: int, key: str) -> str:
    if len(value) != size:
        raise Malformed(f"{key}: {size} bytes are needed, not {len(value)}")
    if not any(value):
        raise Malformed(f"{key}: all zero")
    return value.hex()
