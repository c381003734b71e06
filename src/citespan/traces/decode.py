"""OTLP/JSON documents to `SpanRecord` values.

Strict where a wrong reading would go unnoticed (ids, numbers, types), and blind to what it does not know,
as the protocol asks: other fields are ignored, numbers may be text, enums may be names.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from citespan.traces.model import EventRecord, LinkRecord, SpanRecord, StatusCode

_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_CODES: Final[dict[Any, StatusCode]] = {
    0: "UNSET", 1: "OK", 2: "ERROR",
    "STATUS_CODE_UNSET": "UNSET", "STATUS_CODE_OK": "OK", "STATUS_CODE_ERROR": "ERROR",
}  # fmt: skip
_KINDS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_NOT_FINITE: Final = {"NaN", "Infinity", "-Infinity"}


class Malformed(ValueError):
    """A document that is no OTLP/JSON traces document; the text says where and why."""


def decode(document: Any, place: str) -> Iterator[SpanRecord]:
    """The spans of one `TracesData` (or `ExportTraceServiceRequest`) in the JSON encoding.

    Args:
        document: as a JSON parser gave it. place: put on each span.

    Raises:
        Malformed: the document breaks the encoding.

    Example:
        >>> list(decode({"resourceSpans": []}, "trace.jsonl:1"))
        []
    """
    if not isinstance(document, dict):
        raise Malformed("not a JSON object")
    if "resourceSpans" not in document:
        if document and not {"resourceMetrics", "resourceLogs", "resourceProfiles"} & document.keys():
            raise Malformed("no `resourceSpans`: this is not an OTLP/JSON traces file")
        return
    for number, group in enumerate(_list(document, "resourceSpans")):
        where = f"resourceSpans[{number}]"
        resource = _attributes(_object(_as_object(group, where), "resource", where), f"{where}.resource")
        for index, scoped in enumerate(_list(group, "scopeSpans", where)):
            inner = f"{where}.scopeSpans[{index}]"
            scope = _object(_as_object(scoped, inner), "scope", inner)
            name, version = _text(scope, "name", inner), _text(scope, "version", inner)
            for position, span in enumerate(_list(scoped, "spans", inner)):
                at = f"{inner}.spans[{position}]"
                yield _span(_as_object(span, at), at, resource, name, version, place)


def _span(
    span: dict[str, Any], where: str, resource: Mapping[str, Any], scope: str, version: str, place: str
) -> SpanRecord:
    status = _object(span, "status", where)
    code = status.get("code") or 0
    if not isinstance(code, int | str) or code not in _CODES:
        raise Malformed(f"{where}.status.code: no status code")
    return SpanRecord(
        _id(span, "traceId", 32, where),
        _id(span, "spanId", 16, where),
        _id(span, "parentSpanId", 16, where) if span.get("parentSpanId") else "",
        _text(span, "name", where),
        _kind(span.get("kind"), where),
        _integer(span, "startTimeUnixNano", where),
        _integer(span, "endTimeUnixNano", where),
        _attributes(span, where),
        tuple(
            EventRecord(_text(event, "name", at), _integer(event, "timeUnixNano", at), _attributes(event, at))
            for event, at in _objects(span, "events", where)
        ),
        tuple(
            LinkRecord(_id(link, "traceId", 32, at), _id(link, "spanId", 16, at), _attributes(link, at))
            for link, at in _objects(span, "links", where)
        ),
        _CODES[code],
        _text(status, "message", where),
        resource,
        scope,
        version,
        (
            _integer(span, "droppedAttributesCount", where),
            _integer(span, "droppedEventsCount", where),
            _integer(span, "droppedLinksCount", where),
        ),
        place,
    )


def _id(source: dict[str, Any], key: str, digits: int, where: str) -> str:
    value = source.get(key)
    if not isinstance(value, str) or len(value) != digits or not _HEX.fullmatch(value):
        length = f"{len(value)} characters" if isinstance(value, str) else type(value).__name__
        raise Malformed(f"{where}.{key}: {digits} hex digits are needed, not {length} (base64 is not OTLP/JSON)")
    if not value.strip("0"):
        raise Malformed(f"{where}.{key}: all zero")
    return value.lower()


def _kind(value: Any, where: str) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value.removeprefix("SPAN_KIND_") in _KINDS:
        return _KINDS.index(value.removeprefix("SPAN_KIND_"))
    if type(value) is not int:
        raise Malformed(f"{where}.kind: no span kind")
    return value


def _integer(source: dict[str, Any], key: str, where: str) -> int:
    value = source.get(key)
    if value is None:
        return 0
    try:
        if type(value) is int or type(value) is str:
            return int(value)
    except ValueError:
        pass
    raise Malformed(f"{where}.{key}: no integer")


def _text(source: dict[str, Any], key: str, where: str) -> str:
    value = source.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"{where}.{key}: no text")
    return value


def _object(source: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    value = source.get(key)
    return {} if value is None else _as_object(value, f"{where}.{key}")


def _as_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(f"{where}: no object")
    return value


def _list(source: dict[str, Any], key: str, where: str = "") -> list[Any]:
    value = source.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{where}{'.' if where else ''}{key}: no array")
    return value


def _objects(source: dict[str, Any], key: str, where: str) -> Iterator[tuple[dict[str, Any], str]]:
    for index, member in enumerate(_list(source, key, where)):
        at = f"{where}.{key}[{index}]"
        yield _as_object(member, at), at


def _attributes(source: dict[str, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair, at in _objects(source, "attributes", where):
        found[_text(pair, "key", at)] = _value(pair.get("value"), at)
    return found


def _value(value: Any, where: str) -> Any:
    """An `AnyValue` as a Python value; one of a type that is not known is None."""
    if value is None:
        return None
    fields = _as_object(value, where)
    for key, inner in fields.items():
        if key == "stringValue" and isinstance(inner, str):
            return inner
        if key == "boolValue" and isinstance(inner, bool):
            return inner
        if key == "intValue":
            return _integer(fields, key, where)
        if key == "doubleValue":
            return _double(inner, where)
        if key == "bytesValue":
            return _bytes(inner, where)
        if key == "arrayValue":
            return [_value(member, where) for member in _list(_as_object(inner, where), "values", where)]
        if key == "kvlistValue":
            members = _objects(_as_object(inner, where), "values", where)
            return {_text(pair, "key", at): _value(pair.get("value"), at) for pair, at in members}
        if key in {"stringValue", "boolValue"}:
            raise Malformed(f"{where}.{key}: wrong type")
    return None


def _double(value: Any, where: str) -> float:
    if type(value) is int or type(value) is float or value in _NOT_FINITE:
        return float(value)
    raise Malformed(f"{where}.doubleValue: no number")


def _bytes(value: Any, where: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise Malformed(f"{where}.bytesValue: no base64") from None
