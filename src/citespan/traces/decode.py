"""OTLP/JSON documents to `SpanRecord` values.

Strict where a wrong reading would go unnoticed (ids, numbers, types), and blind to what it does not know,
as the protocol asks: other fields are ignored, numbers may be text, enums may be names.

Where a mistake is inside a document is found out on the way back up from it (`Malformed.inside`): a document
without one pays nothing for it.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from citespan.traces.model import EventRecord, LinkRecord, SpanRecord, StatusCode, is_remote

#: of values in values; deeper ones are refused. What citespan writes stays above it
MAX_DEPTH: Final = 64
_MIN_INT: Final = -(2**63)
_MAX_UNSIGNED: Final = 2**64 - 1
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-fA-F]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-fA-F]{16}")
#: digits of an integer that surely fits into 64 bits
_SHORT: Final = 19
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_DROPPED: Final = frozenset({"droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"})
_NONE_DROPPED: Final = (0, 0, 0)
_CODES: Final[dict[Any, StatusCode]] = {
    0: "UNSET", 1: "OK", 2: "ERROR",
    "STATUS_CODE_UNSET": "UNSET", "STATUS_CODE_OK": "OK", "STATUS_CODE_ERROR": "ERROR",
}  # fmt: skip
_KINDS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Malformed(ValueError):
    """A document that is no traces document; the text says where and why."""

    def inside(self, where: str) -> Malformed:
        """The same, one step further out."""
        text = str(self)
        return Malformed(f"{where}{text if text[0] in ':[' else f'.{text}'}")


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
        try:
            resource = _attributes(_object(_as_object(group), "resource"))
        except Malformed as error:
            raise error.inside(where) from None
        for index, scoped in enumerate(_in(where, _list, group, "scopeSpans")):
            inner = f"{where}.scopeSpans[{index}]"
            scope = _in(inner, _object, _in(inner, _as_object, scoped), "scope")
            name, version = _in(inner, _text, scope, "name"), _in(inner, _text, scope, "version")
            for position, span in enumerate(_in(inner, _list, scoped, "spans")):
                try:
                    record = _span(_as_object(span), resource, name, version, place)
                except Malformed as error:
                    raise error.inside(f"{inner}.spans[{position}]") from None
                yield record


def _in(where: str, read: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except Malformed as error:
        raise error.inside(where) from None


def _span(span: dict[str, Any], resource: Mapping[str, Any], scope: str, version: str, place: str) -> SpanRecord:
    parent = span.get("parentSpanId")
    events, links, status = span.get("events"), span.get("links"), span.get("status")
    return SpanRecord(
        _id(span, "traceId", _TRACE_ID),
        _id(span, "spanId", _SPAN_ID),
        "" if parent is None or parent == "" else _id(span, "parentSpanId", _SPAN_ID),
        _text(span, "name"),
        _kind(span.get("kind")),
        _integer(span, "startTimeUnixNano"),
        _integer(span, "endTimeUnixNano"),
        _attributes(span),
        () if events is None else tuple(_each(span, "events", _event)),
        () if links is None else tuple(_each(span, "links", _link)),
        "UNSET" if status is None else _code(_object(span, "status")),
        "" if status is None else _in("status", _text, status, "message"),
        resource,
        scope,
        version,
        _NONE_DROPPED if _DROPPED.isdisjoint(span) else _dropped(span),
        place,
        "flags" in span and is_remote(_integer(span, "flags")),
    )


def _dropped(span: dict[str, Any]) -> tuple[int, int, int]:
    return (
        _integer(span, "droppedAttributesCount"),
        _integer(span, "droppedEventsCount"),
        _integer(span, "droppedLinksCount"),
    )


def _event(event: dict[str, Any]) -> EventRecord:
    return EventRecord(_text(event, "name"), _integer(event, "timeUnixNano"), _attributes(event))


def _link(link: dict[str, Any]) -> LinkRecord:
    return LinkRecord(_id(link, "traceId", _TRACE_ID), _id(link, "spanId", _SPAN_ID), _attributes(link))


def _id(source: dict[str, Any], key: str, form: re.Pattern[str]) -> str:
    value = source.get(key)
    if type(value) is str and form.fullmatch(value):
        return value.lower()
    digits = 32 if form is _TRACE_ID else 16
    if isinstance(value, str) and len(value) == digits and not value.strip("0"):
        raise Malformed(f"{key}: all zero")
    length = f"{len(value)} characters" if isinstance(value, str) else type(value).__name__
    raise Malformed(f"{key}: {digits} hex digits are needed, not {length} (base64 is not OTLP/JSON)")


def _kind(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is str and value.removeprefix("SPAN_KIND_") in _KINDS:
        return _KINDS.index(value.removeprefix("SPAN_KIND_"))
    if type(value) is not int:
        raise Malformed("kind: no span kind")
    return value


def _code(status: dict[str, Any]) -> StatusCode:
    code = status.get("code")
    if code is None:
        return "UNSET"
    if (type(code) is not int and type(code) is not str) or code not in _CODES:
        raise Malformed("status.code: no status code")
    return _CODES[code]


def _integer(source: dict[str, Any], key: str) -> int:
    value = source.get(key)
    if value is None:
        return 0
    if type(value) is str and ((value.isdigit() and value.isascii()) or _INTEGER.fullmatch(value)) and len(value) < 22:
        value = int(value)
    if type(value) is int and _MIN_INT <= value <= _MAX_UNSIGNED:
        return value
    raise Malformed(f"{key}: no integer")


def _text(source: dict[str, Any], key: str) -> str:
    value = source.get(key)
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise Malformed(f"{key}: no text")


def _object(source: dict[str, Any], key: str) -> dict[str, Any]:
    value = source.get(key)
    if value is None:
        return {}
    if type(value) is not dict:
        raise Malformed(f"{key}: no object")
    return value


def _as_object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise Malformed(": no object")
    return value


def _list(source: dict[str, Any], key: str) -> list[Any]:
    value = source.get(key)
    if value is None:
        return []
    if type(value) is not list:
        raise Malformed(f"{key}: no array")
    return value


def _each(source: dict[str, Any], key: str, read: Callable[[dict[str, Any]], Any]) -> Iterator[Any]:
    for index, member in enumerate(_list(source, key)):
        try:
            yield read(_as_object(member))
        except Malformed as error:
            raise error.inside(f"{key}[{index}]") from None


def _attributes(source: dict[str, Any]) -> dict[str, Any]:
    pairs = source.get("attributes")
    if pairs is None:
        return {}
    if type(pairs) is not list:
        raise Malformed("attributes: no array")
    found: dict[str, Any] = {}
    for pair in pairs:
        try:
            key, value = pair["key"], pair["value"]
            if len(value) == 1 and type(key) is str:
                # nearly all of them are this: a key, and a text or a number of few digits
                inner = value.get("stringValue")
                if type(inner) is str:
                    found[key] = inner
                    continue
                inner = value.get("intValue")
                if type(inner) is str and len(inner) < _SHORT and inner.isdigit() and inner.isascii():
                    found[key] = int(inner)
                    continue
        except (KeyError, TypeError, AttributeError):
            pass  # something else, or nothing that is allowed
        try:
            key = _text(_as_object(pair), "key")
            found[key] = _value(pair.get("value"), MAX_DEPTH)
        except Malformed as error:
            index = next(index for index, other in enumerate(pairs) if other is pair)
            raise error.inside(f"attributes[{index}]") from None
    return found


def _value(value: Any, room: int) -> Any:
    """An `AnyValue` as a Python value; one of a type that is not known is None."""
    if value is None:
        return None
    for key, inner in _as_object(value).items():
        read = _VALUES.get(key)
        if read is not None:
            return read(value, inner, room)
    return None


def _string(_: dict[str, Any], value: Any, __: int) -> str:
    if type(value) is str:
        return value
    raise Malformed("stringValue: wrong type")


def _bool(_: dict[str, Any], value: Any, __: int) -> bool:
    if type(value) is bool:
        return value
    raise Malformed("boolValue: wrong type")


def _int(fields: dict[str, Any], _: Any, __: int) -> int:
    return _integer(fields, "intValue")


def _double(_: dict[str, Any], value: Any, __: int) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise Malformed("doubleValue: no number")


def _bytes(_: dict[str, Any], value: Any, __: int) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise Malformed("bytesValue: no base64") from None


def _array(_: dict[str, Any], value: Any, room: int) -> list[Any]:
    return [_value(member, room - 1) for member in _values(value, room)]


def _mapping(_: dict[str, Any], value: Any, room: int) -> dict[str, Any]:
    pairs = map(_as_object, _values(value, room))
    return {_text(pair, "key"): _value(pair.get("value"), room - 1) for pair in pairs}


def _values(value: Any, room: int) -> list[Any]:
    if not room:
        raise Malformed(f": more than {MAX_DEPTH} values inside each other")
    return _list(_as_object(value), "values")


_VALUES: Final[dict[str, Callable[[dict[str, Any], Any, int], Any]]] = {
    "stringValue": _string,
    "boolValue": _bool,
    "intValue": _int,
    "doubleValue": _double,
    "bytesValue": _bytes,
    "arrayValue": _array,
    "kvlistValue": _mapping,
}
