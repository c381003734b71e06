"""Jaeger's JSON to `SpanRecord` values: what the download of its pages and `/api/traces/{id}` give.

Its tags have no arrays: one arrives as JSON text, and is read back only under keys that citespan defines as
`string[]`. Links lose their attributes there, and times are cut to microseconds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from citespan import semconv
from citespan.traces.decode import Malformed
from citespan.traces.model import EventRecord, LinkRecord, SpanRecord, StatusCode

_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_MAX_MICROSECONDS: Final = 2**64 // 1000
_KINDS: Final = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_CODES: Final[dict[Any, StatusCode]] = {"OK": "OK", "ERROR": "ERROR", "UNSET": "UNSET"}
#: tags that stand for a field of the span; Jaeger adds them, and they are no attributes
_KIND, _CODE, _DESCRIPTION, _ERROR = "span.kind", "otel.status_code", "otel.status_description", "error"
_SCOPE: Final = ("otel.scope.name", "otel.library.name")
_VERSION: Final = ("otel.scope.version", "otel.library.version")
_FIELDS: Final = (_KIND, _CODE, _DESCRIPTION, *_SCOPE, *_VERSION, "internal.span.format", "w3c.tracestate")
_EVENT: Final = ("event", "message")
_SERVICE: Final = "service.name"

_LISTS: Final = frozenset(each.key for each in semconv.ATTRIBUTES if each.type == "string[]" and "<" not in each.key)
_LISTS_OF: Final = tuple(
    each.key.partition("<")[0] for each in semconv.ATTRIBUTES if each.type == "string[]" and "<" in each.key
)


def is_export(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an answer of Jaeger's API: `data` is an array of traces.

    Example:
        >>> is_export({"data": [{"traceID": "1", "spans": [], "processes": {}}]}), is_export({"data": {}})
        (True, False)
    """
    data = document.get("data")
    if isinstance(data, list):
        return all(isinstance(each, dict) and "spans" in each for each in data)
    return data is None and "data" in document and "errors" in document


def spans_of(document: Mapping[str, Any], place: str) -> Iterator[SpanRecord]:
    """The spans of an export, in its order.

    Args:
        document: for which `is_export` holds. place: put on each span.

    Raises:
        Malformed: it is no such export after all, or Jaeger's answer is an error.
    """
    data = document.get("data") or []
    if not data and document.get("errors"):
        raise Malformed("errors: this is Jaeger's answer that it has no such trace")
    for number, trace in enumerate(data):
        where = f"data[{number}]"
        try:
            processes = {
                key: _process(_dict(process, f"processes.{at}"))
                for at, (key, process) in enumerate((_field(trace, "processes", dict, {})).items())
            }
            spans = _field(trace, "spans", list, [])
        except Malformed as error:
            raise error.inside(where) from None
        for index, span in enumerate(spans):
            try:
                record = _span(_dict(span, ""), processes, place)
            except Malformed as error:
                raise error.inside(f"{where}.spans[{index}]") from None
            yield record


def _span(span: dict[str, Any], processes: Mapping[Any, Mapping[str, Any]], place: str) -> SpanRecord:
    trace_id, span_id = _id(span, "traceID", 32), _id(span, "spanID", 16)
    tags = _tags(span, "tags")
    parent, links = _references(span, trace_id)
    start = _microseconds(span, "startTime")
    process = processes.get(_field(span, "processID", str, ""))
    if process is None:
        process = _process(_field(span, "process", dict, {}))
    code, failed = tags.get(_CODE), tags.get(_ERROR)
    status: StatusCode = _CODES.get(code, "UNSET") if type(code) is str else ("ERROR" if failed is True else "UNSET")
    if failed is True:
        del tags[_ERROR]
    message, kind = tags.get(_DESCRIPTION), tags.get(_KIND)
    scope, version = _first(tags, _SCOPE), _first(tags, _VERSION)
    for key in _FIELDS:
        tags.pop(key, None)
    return SpanRecord(
        trace_id,
        span_id,
        parent,
        _field(span, "operationName", str, ""),
        _KINDS.get(kind, 0) if type(kind) is str else 0,
        start,
        start + _microseconds(span, "duration"),
        tags,
        tuple(_each(span, "logs", _event)),
        links,
        status,
        message if type(message) is str else "",
        process,
        scope,
        version,
        (0, 0, 0),
        place,
    )


def _references(span: dict[str, Any], trace_id: str) -> tuple[str, tuple[LinkRecord, ...]]:
    """The parent, and what else is referred to: the first CHILD_OF of the same trace is the parent."""
    parent = _id(span, "parentSpanID", 16) if span.get("parentSpanID") else ""
    links: list[LinkRecord] = []
    for kind, link in _each(span, "references", _reference):
        if kind == "CHILD_OF" and link.trace_id == trace_id and parent in {"", link.span_id}:
            parent = link.span_id
        else:
            links.append(link)
    return parent, tuple(links)


def _reference(reference: dict[str, Any]) -> tuple[str, LinkRecord]:
    kind = _field(reference, "refType", str, "")
    return kind, LinkRecord(_id(reference, "traceID", 32), _id(reference, "spanID", 16), {})


def _event(log: dict[str, Any]) -> EventRecord:
    fields = _tags(log, "fields")
    name = _first(fields, _EVENT)
    fields.pop("event", None)
    return EventRecord(name, _microseconds(log, "timestamp"), fields)


def _process(process: dict[str, Any]) -> Mapping[str, Any]:
    tags = _tags(process, "tags")
    if service := _field(process, "serviceName", str, ""):
        tags[_SERVICE] = service
    return tags


def _tags(source: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: _listed(name, value) for name, value in _each(source, key, _tag)}


def _tag(tag: dict[str, Any]) -> tuple[str, Any]:
    key: str = _field(tag, "key", str, "")
    kind, value = tag.get("type"), tag.get("value")
    read = _VALUES.get(kind, _plain) if type(kind) is str and value is not None else _plain
    try:
        return key, read(value)
    except (TypeError, ValueError):
        raise Malformed(f"value: no {kind}") from None


def _listed(key: str, value: Any) -> Any:
    """An array that became text, as an array again; only under keys that are defined as one."""
    if type(value) is not str or (key not in _LISTS and not key.startswith(_LISTS_OF)):
        return value
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return found if type(found) is list and all(type(each) is str for each in found) else value


def _plain(value: Any) -> Any:
    if value is None or type(value) is str or type(value) is bool or type(value) is int or type(value) is float:
        return value
    raise ValueError


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise TypeError


def _bool(value: Any) -> bool:
    if type(value) is bool or value == "true" or value == "false":
        return value is True or value == "true"
    raise TypeError


def _integer(value: Any) -> int:
    if type(value) is int or (type(value) is str and len(value) <= 20):
        number = int(value)
        if -(2**63) <= number < 2**63:
            return number
    raise TypeError


def _double(value: Any) -> float:
    if type(value) is int or type(value) is float or (type(value) is str and len(value) <= 40):
        return float(value)
    raise TypeError


def _binary(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError from None


_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "string": _text,
    "bool": _bool,
    "int64": _integer,
    "float64": _double,
    "binary": _binary,
}


def _id(source: dict[str, Any], key: str, digits: int) -> str:
    value = source.get(key)
    if type(value) is not str or len(value) > digits or not _HEX.fullmatch(value):
        raise Malformed(f"{key}: up to {digits} hex digits are needed")
    if not value.strip("0"):
        raise Malformed(f"{key}: all zero")
    return value.lower().rjust(digits, "0")


def _microseconds(source: dict[str, Any], key: str) -> int:
    value = source.get(key)
    if value is None:
        return 0
    if type(value) is not int or not -_MAX_MICROSECONDS < value < _MAX_MICROSECONDS:
        raise Malformed(f"{key}: no time in microseconds")
    return value * 1000


def _first(tags: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if type(value := tags.get(key)) is str), "")


def _dict(value: Any, where: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise Malformed(f"{where}: no object")
    return value


def _field(source: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = source.get(key)
    if value is None:
        return default
    if type(value) is not kind:
        raise Malformed(f"{key}: {_NAMES[kind]}")
    return value


_NAMES: Final[dict[type, str]] = {dict: "no object", list: "no array", str: "no text"}


def _each(source: dict[str, Any], key: str, read: Callable[[dict[str, Any]], Any]) -> Iterator[Any]:
    for index, member in enumerate(_field(source, key, list, [])):
        try:
            yield read(_dict(member, ""))
        except Malformed as error:
            raise error.inside(f"{key}[{index}]") from None
