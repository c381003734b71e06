"""The body of a request to spans, packed: decoded within bounds, one span at a time.

A body that is no OTLP at all is `Undecodable`. A span in it that cannot be used (an id that has not its length, a time
that is none) is refused alone, as partial success is meant (opentelemetry-proto, "OTLP/HTTP Response").
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from citespan.serve.bodies import Encoding, TooLarge, Undecodable
from citespan.serve.limits import Limits
from citespan.serve.packed import Batch, Unfit, pack, pack_origin
from citespan.traces.decode import Malformed, decode
from citespan.traces.model import SpanRecord
from citespan.traces.protobuf import attributes_of, span_of
from citespan.traces.wire import BYTES, Broken, Field, fields

_HEX: Final = re.compile("[0-9a-fA-F]{32}")
#: looks at the clock are this many fields or spans apart
_STRIDE: Final = 256
#: field numbers in opentelemetry-proto
_RESOURCE_SPANS: Final = 1
_RESOURCE, _SCOPE_SPANS = 1, 2
_SCOPE, _SPANS = 1, 2
_SPANS_TRACE: Final = 1


class Received(NamedTuple):
    """What a body held.

    Args:
        rejected: spans of it that cannot be used. why: what is wrong with the first of them.
        lacking: how many of those each trace lacks, as far as they say which trace they are of.
    """

    batches: tuple[Batch, ...]
    rejected: int = 0
    why: str = ""
    lacking: Mapping[str, int] = MappingProxyType({})


def receive(body: bytes, encoding: Encoding, limits: Limits) -> Received:
    """The spans of an `ExportTraceServiceRequest`.

    Args:
        body: unpacked. encoding: protobuf's binary form, or OTLP/JSON. limits: of which `span`, `of_json` and `decode`
            hold here.

    Raises:
        Undecodable: the body is no such request. TooLarge: see there.

    Example:
        >>> receive(b"", "protobuf", Limits())
        Received(batches=(), rejected=0, why='', lacking={})
    """
    if encoding == "json" and len(body) > limits.of_json:
        raise TooLarge(f"a body in JSON may be {limits.of_json} bytes; send smaller batches, or protobuf")
    sorting = _Sorting(limits)
    if encoding == "protobuf":
        try:
            _binary(body, sorting)
        except (Broken, DecodeError) as error:
            reason = f": {error}" if isinstance(error, Broken) else ""
            raise Undecodable(f"no ExportTraceServiceRequest in protobuf{reason}") from None
    else:
        _json(body, sorting)
    return sorting.received()


class _Sorting:
    """Spans by trace, for one origin after the other."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._deadline = time.monotonic() + limits.decode
        self._steps = 0
        self._batches: list[Batch] = []
        self._lacking: Counter[str] = Counter()
        self._why = ""

    def step(self) -> None:
        """One more field or span.

        Raises:
            TooLarge: the time is over.
        """
        self._steps += 1
        if not self._steps % _STRIDE and time.monotonic() > self._deadline:
            raise TooLarge(f"the body was not decoded within {self.limits.decode:g} s; send smaller batches")

    def refuse(self, trace_ids: Iterable[str], why: str) -> None:
        """Count spans that cannot be used, by trace; "" where they do not say which."""
        self._lacking.update(trace_ids)
        self._why = self._why or why

    def take(self, spans: Iterator[SpanRecord | None], resource: Mapping[str, Any], scope: str, version: str) -> None:
        """The spans of one scope; None for one that was refused already."""
        packed: dict[str, list[bytes]] = {}
        cites: dict[str, set[str]] = {}
        for span in spans:
            if span is None:
                continue
            try:
                packed.setdefault(span.trace_id, []).append(pack(span))
            except Unfit as error:
                self.refuse([span.trace_id], str(error))
                continue
            if span.links:
                cites.setdefault(span.trace_id, set()).update(
                    link.trace_id for link in span.links if link.trace_id != span.trace_id
                )
        if not packed:
            return
        try:
            origin = pack_origin(resource, scope, version)
        except Unfit as error:
            self.refuse((trace_id for trace_id, each in packed.items() for _ in each), str(error))
            return
        for trace_id, each in packed.items():
            if each:
                self._batches.append(Batch(trace_id, origin, tuple(each), frozenset(cites.get(trace_id, ()))))

    def received(self) -> Received:
        """What there was."""
        lacking = {trace_id: number for trace_id, number in self._lacking.items() if trace_id}
        return Received(tuple(self._batches), self._lacking.total(), self._why, lacking)


def _binary(body: bytes, sorting: _Sorting) -> None:
    for group in _steps(body, 0, len(body), sorting):
        if group.number != _RESOURCE_SPANS or group.wire != BYTES:
            continue
        try:
            resource = attributes_of(_merged(body, group, _RESOURCE, Resource(), sorting).attributes)
        except Malformed as error:
            sorting.refuse(_traces_in(body, group, sorting), f"resource: {error}")
            continue
        for scoped in _steps(body, group.start, group.end, sorting):
            if scoped.number != _SCOPE_SPANS or scoped.wire != BYTES:
                continue
            try:
                scope = _merged(body, scoped, _SCOPE, InstrumentationScope(), sorting)
            except Malformed as error:
                sorting.refuse(_traces_of_scope(body, scoped, sorting), f"scope: {error}")
                continue
            sorting.take(_binary_spans(body, scoped, resource, sorting), resource, scope.name, scope.version)


def _steps(body: bytes, start: int, end: int, sorting: _Sorting) -> Iterator[Field]:
    for field in fields(body, start, end):
        sorting.step()
        yield field


def _merged(body: bytes, holder: Field, number: int, message: Any, sorting: _Sorting) -> Any:
    """A message that a field holds, which may stand behind others; of several the fields are merged."""
    room = sorting.limits.span
    for field in _steps(body, holder.start, holder.end, sorting):
        if field.number == number and field.wire == BYTES:
            room -= field.end - field.start
            if room < 0:
                raise Malformed(f"more than {sorting.limits.span} bytes")
            message.MergeFromString(body[field.start : field.end])
    return message


def _binary_spans(
    body: bytes, scoped: Field, resource: Mapping[str, Any], sorting: _Sorting
) -> Iterator[SpanRecord | None]:
    for field in _steps(body, scoped.start, scoped.end, sorting):
        if field.number == _SPANS and field.wire == BYTES:
            if field.end - field.start > sorting.limits.span:
                sorting.refuse([_trace_of(body, field, sorting)], f"span: more than {sorting.limits.span} bytes")
                continue
            message = Span.FromString(body[field.start : field.end])
            try:
                yield span_of(message, resource, "", "", "")
            except Malformed as error:
                sorting.refuse([_trace_of(body, field, sorting)], f"span: {error}")
                yield None


def _traces_in(body: bytes, group: Field, sorting: _Sorting) -> Iterator[str]:
    for scoped in _steps(body, group.start, group.end, sorting):
        if scoped.number == _SCOPE_SPANS and scoped.wire == BYTES:
            yield from _traces_of_scope(body, scoped, sorting)


def _traces_of_scope(body: bytes, scoped: Field, sorting: _Sorting) -> Iterator[str]:
    for field in _steps(body, scoped.start, scoped.end, sorting):
        if field.number == _SPANS and field.wire == BYTES:
            yield _trace_of(body, field, sorting)


def _trace_of(body: bytes, span: Field, sorting: _Sorting) -> str:
    """The trace of a span that cannot be used, "" where it does not say."""
    found = ""
    for field in _steps(body, span.start, span.end, sorting):
        if field.number == _SPANS_TRACE and field.wire == BYTES and field.end - field.start == 16:
            found = body[field.start : field.end].hex()
    return found


def _json(body: bytes, sorting: _Sorting) -> None:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Undecodable(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if not isinstance(document, dict):
        raise Undecodable("no ExportTraceServiceRequest: a JSON object is needed")
    if document and "resourceSpans" not in document:  # unknown fields are to be ignored, but not without a word
        sorting.refuse((), "nothing was taken: there are no `resourceSpans`")
    for number, group in enumerate(_objects(document, "resourceSpans", "")):
        sorting.step()
        where = f"resourceSpans[{number}]"
        resource = _resource(group.get("resource"), where)
        for index, scoped in enumerate(_objects(group, "scopeSpans", where)):
            sorting.step()
            inner = f"{where}.scopeSpans[{index}]"
            scope, version = _scope(scoped.get("scope"), inner)
            spans = _json_spans(_objects(scoped, "spans", inner), inner, sorting)
            sorting.take(spans, resource, scope, version)


def _json_spans(spans: list[dict[str, Any]], where: str, sorting: _Sorting) -> Iterator[SpanRecord | None]:
    for number, span in enumerate(spans):
        sorting.step()
        try:
            yield next(decode({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, ""))
        except (Malformed, RecursionError) as error:
            why = str(error) if isinstance(error, Malformed) else "nested too deep"
            trace_id = span.get("traceId")
            known = isinstance(trace_id, str) and _HEX.fullmatch(trace_id)
            why = f"{where}.spans[{number}]: {why.removeprefix(_ALONE)}"
            sorting.refuse([str(trace_id).lower() if known else ""], why)
            yield None


_ALONE: Final = "resourceSpans[0].scopeSpans[0].spans[0]."
#: the span that a resource or a scope is decoded with
_BARE: Final = {"traceId": "1" * 32, "spanId": "1" * 16}


def _resource(resource: Any, where: str) -> Mapping[str, Any]:
    return _decoded({"resource": resource, "scopeSpans": [{"spans": [_BARE]}]}, where).resource


def _scope(scope: Any, where: str) -> tuple[str, str]:
    span = _decoded({"scopeSpans": [{"scope": scope, "spans": [_BARE]}]}, where)
    return span.scope, span.scope_version


def _decoded(group: dict[str, Any], where: str) -> SpanRecord:
    try:
        return next(decode({"resourceSpans": [group]}, ""))
    except (Malformed, RecursionError) as error:
        why = str(error) if isinstance(error, Malformed) else "nested too deep"
        why = why.removeprefix("resourceSpans[0].").removeprefix("scopeSpans[0].")
        raise Undecodable(f"{where}.{why}") from None


def _objects(source: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    at = f"{where}.{key}".strip(".")
    found = source.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Undecodable(f"{at}: no array")
    for number, each in enumerate(found):
        if not isinstance(each, dict):
            raise Undecodable(f"{at}[{number}]: no object")
    return found
