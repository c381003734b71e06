"""OTLP/JSON lines to protobuf messages and back, ids in their right form; messages to `SpanRecord` values.

The protocol's JSON writes trace and span ids as hex, where the protobuf library's JSON writes all bytes as
base64: its parser takes hex for base64 and gives wrong ids without a word.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.json_format import ParseError as ProtobufParseError
from google.protobuf.message import Message
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from citespan.traces.decode import MAX_DEPTH, Malformed, decode
from citespan.traces.model import EventRecord, LinkRecord, SpanRecord, StatusCode

_CODES: Final[tuple[StatusCode, ...]] = ("UNSET", "OK", "ERROR")
_SCALARS: Final = frozenset({"string_value", "bool_value", "int_value", "double_value", "bytes_value"})
_IDS: Final = ("traceId", "spanId", "parentSpanId")


def parse_line(line: bytes | str) -> TracesData:
    """One line of a trace file as protobuf.

    Raises:
        ValueError: the line is no OTLP/JSON.

    Example:
        >>> parse_line('{"resourceSpans": []}').resource_spans
        []
    """
    document = orjson.loads(line)
    for _ in decode(document, ""):  # checks it, ids included
        pass
    for holder in _holders(document):
        for key in _IDS:
            if holder.get(key):
                holder[key] = base64.b64encode(bytes.fromhex(holder[key])).decode("ascii")
    try:
        return ParseDict(document, TracesData(), ignore_unknown_fields=True)
    except ProtobufParseError as error:
        raise Malformed(str(error)) from error


def to_json(message: Message) -> dict[str, Any]:
    """A `TracesData` or `ExportTraceServiceRequest` message in the protocol's JSON encoding."""
    document: dict[str, Any] = MessageToDict(message, use_integers_for_enums=True)
    for holder in _holders(document):
        for key in _IDS:
            if holder.get(key):
                holder[key] = base64.b64decode(holder[key]).hex()
    return document


def spans_of(message: Any, place: str) -> Iterator[SpanRecord]:
    """The spans of a `TracesData` or `ExportTraceServiceRequest` message that came over OTLP.

    Raises:
        Malformed: an id has not its length, or a status code is not known.
    """
    for group in message.resource_spans:
        resource = attributes_of(group.resource.attributes)
        for scoped in group.scope_spans:
            scope, version = scoped.scope.name, scoped.scope.version
            for span in scoped.spans:
                yield span_of(span, resource, scope, version, place)


def span_of(span: Any, resource: Mapping[str, Any], scope: str, version: str, place: str) -> SpanRecord:
    """One `Span` message as a record; what stands around it in the message is given.

    Raises:
        Malformed: as `spans_of`.
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


def _holders(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object that holds ids: spans and their links."""
    for group in document.get("resourceSpans") or ():
        for scoped in group.get("scopeSpans") or ():
            for span in scoped.get("spans") or ():
                yield span
                yield from span.get("links") or ()
