"""Spans to OTLP/JSON (opentelemetry-proto, "JSON Protobuf Encoding").

Ids are hex, enums are numbers, 64-bit integers are text.

Written straight from the SDK's spans, without protobuf messages in between; tests hold it equal to what the
OTLP exporter's own encoder gives. What cannot be written (integers over 64 bits, values that are no
attribute values) is left out with its key, as that encoder does; lone surrogates are replaced. Nothing
fails a batch.
"""

from __future__ import annotations

import base64
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext

_log = logging.getLogger("citespan")

_MAX_DEPTH: Final = 64
_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**63 - 1
_HAS_IS_REMOTE: Final = 0x100
_IS_REMOTE: Final = 0x200


def encode_line(spans: Sequence[ReadableSpan]) -> bytes:
    r"""One line of a trace file, its line feed included.

    Args:
        spans: ended spans; those of one resource and one scope are written together.

    Example:
        >>> encode_line([])
        b'{"resourceSpans":[]}\n'
    """
    document = traces_data(spans)
    try:
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate somewhere
        return orjson.dumps(_scrub(document), option=orjson.OPT_APPEND_NEWLINE)


def traces_data(spans: Iterable[ReadableSpan]) -> dict[str, Any]:
    """Spans as a `TracesData` in the JSON encoding: plain dicts, lists, text and numbers."""
    groups: dict[Any, dict[InstrumentationScope | None, list[dict[str, Any]]]] = {}
    for span in spans:
        if span.get_span_context() is None:
            continue  # made by hand, and of no trace
        scopes = groups.setdefault(span.resource, {})
        scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    resource_spans = []
    for resource, scopes in groups.items():
        entry: dict[str, Any] = {
            "resource": _with({}, attributes=_attributes(resource.attributes)),
            "scopeSpans": [_scope_spans(scope, members) for scope, members in scopes.items()],
        }
        resource_spans.append(_with(entry, schemaUrl=resource.schema_url))
    return {"resourceSpans": resource_spans}


def _scope_spans(scope: InstrumentationScope | None, spans: list[dict[str, Any]]) -> dict[str, Any]:
    if scope is None:
        return {"scope": {}, "spans": spans}
    described = _with({}, name=scope.name, version=scope.version, attributes=_attributes(scope.attributes))
    return _with({"scope": described, "spans": spans}, schemaUrl=scope.schema_url)


def _span(span: ReadableSpan) -> dict[str, Any]:
    context, parent, status = span.get_span_context(), span.parent, span.status
    assert context is not None  # `traces_data` leaves such spans out
    return _with(
        {"traceId": format(context.trace_id, "032x"), "spanId": format(context.span_id, "016x")},
        traceState=context.trace_state.to_header() if context.trace_state else None,
        parentSpanId=format(parent.span_id, "016x") if parent is not None else None,
        flags=_flags(parent),
        name=span.name,
        kind=span.kind.value + 1,
        startTimeUnixNano=_time(span.start_time),
        endTimeUnixNano=_time(span.end_time),
        attributes=_attributes(span.attributes),
        droppedAttributesCount=span.dropped_attributes,
        events=[_event(event) for event in span.events],
        droppedEventsCount=span.dropped_events,
        links=[_link(link) for link in span.links],
        droppedLinksCount=span.dropped_links,
    ) | {"status": _with({}, message=status.description, code=status.status_code.value)}


def _event(event: Event) -> dict[str, Any]:
    return _with(
        {},
        timeUnixNano=_time(event.timestamp),
        name=event.name,
        attributes=_attributes(event.attributes),
        droppedAttributesCount=event.dropped_attributes,
    )


def _link(link: Link) -> dict[str, Any]:
    context = link.context
    return _with(
        {"traceId": format(context.trace_id, "032x"), "spanId": format(context.span_id, "016x")},
        attributes=_attributes(link.attributes),
        droppedAttributesCount=link.dropped_attributes,
        flags=_flags(context),
    )


def _with(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Add the fields that are not at their default; the encoding leaves defaults out."""
    for name, value in fields.items():
        if value:
            document[name] = value
    return document


def _flags(context: SpanContext | None) -> int:
    return _HAS_IS_REMOTE | (_IS_REMOTE if context is not None and context.is_remote else 0)


def _time(nanoseconds: int | None) -> str | None:
    return str(nanoseconds) if nanoseconds else None


def _attributes(attributes: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    encoded = []
    for key, value in (attributes or {}).items():
        kind = type(value)
        if kind is str:
            encoded.append({"key": key, "value": {"stringValue": value}})
            continue
        try:
            encoded.append({"key": key, "value": _value(value, _MAX_DEPTH)})
        except ValueError as error:
            _log.warning("an attribute of type %s is not written: %s", kind.__name__, error)
    return encoded


def _value(value: Any, room: int) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        if not _MIN_INT <= value <= _MAX_INT:
            raise ValueError("more than 64 bits")
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE[str(value)]}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if not room:
        raise ValueError("nested too deep")
    if isinstance(value, Sequence):
        return {"arrayValue": _with({}, values=[_value(member, room - 1) for member in value])}
    if isinstance(value, Mapping):
        members = [{"key": str(key), "value": _value(member, room - 1)} for key, member in value.items()]
        return {"kvlistValue": _with({}, values=members)}
    raise ValueError("not an attribute value")


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _scrub(value: Any) -> Any:
    """A copy with lone surrogates replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_scrub(key): _scrub(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_scrub(member) for member in value]
    return value
