"""Trace files of OTLP protobuf: one message, or messages after their lengths.

A collector's `file` exporter with `format: proto` writes each message after its length: four bytes, the most
significant first. A message is walked through by its fields, and one span of it at a time becomes a value: whatever
they hold, memory is bounded by the bytes of one message and a multiple of one span.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from citespan.errors import TraceFileError
from citespan.files import MAX_DOCUMENT, Document, Recording
from citespan.traces.decode import Malformed
from citespan.traces.json_documents import spans_of_line
from citespan.traces.model import SpanRecord
from citespan.traces.protobuf import attributes_of, span_of
from citespan.traces.wire import BYTES, Broken, fields, varint

#: bytes of one span, resource or scope
MAX_SPAN: Final = 4 * 1024 * 1024
_LENGTH: Final = struct.Struct(">I")
#: numbers of the fields, in opentelemetry-proto
_RESOURCE_SPANS: Final = 1
_RESOURCE, _SCOPE_SPANS = 1, 2
_SCOPE, _SPANS = 1, 2
_TAG: Final = _RESOURCE_SPANS << 3 | BYTES
_MAX_PREFIX: Final = 6


def read_framed(recording: Recording) -> Iterator[SpanRecord]:
    """The spans of a file of messages, each after its length. The place of each is `file:message N`, counted from 1.

    Raises:
        TraceFileError: a message is cut short, too long, or none.
    """
    number = 0
    while prefix := recording.file.read(_LENGTH.size):
        number += 1
        place = f"{recording.name}:message {number}"
        if len(prefix) < _LENGTH.size:
            raise TraceFileError(f"{place}: the file ends inside its length")
        (size,) = _LENGTH.unpack(prefix)
        data = _read(recording, size, place)
        if data[:1] == b"{":
            yield from spans_of_line(recording, Document(number, data))
        else:
            yield from spans_of_bytes(data, place)
        recording.advance()


def read_message(recording: Recording) -> Iterator[SpanRecord]:
    """The spans of a file that is one message. The place of each is `file:byte N`, where its `ResourceSpans` begins.

    Raises:
        TraceFileError: the message is cut short, has a part that is too long, or is none.
    """
    at = 0
    while prefix := recording.file.peek(_MAX_PREFIX)[:_MAX_PREFIX]:
        place = f"{recording.name}:byte {at}"
        if prefix[0] != _TAG:
            raise TraceFileError(f"{place}: no OTLP traces message goes on like this")
        try:
            if len(prefix) < _MAX_PREFIX:  # the end of the file, or of what was read of it so far
                start = recording.file.read(1) + _lengths_bytes(recording)
            else:
                start = recording.file.read(varint(prefix, 1)[1])
            size, _ = varint(start, 1)
        except Broken as error:
            raise TraceFileError(f"{place}: no OTLP traces message: {error}") from None
        data = _read(recording, size, place)
        yield from _placed(_group(data, 0, len(data), place), place)
        recording.advance()
        at += len(start) + size


def _lengths_bytes(recording: Recording) -> bytes:
    found = b""
    while byte := recording.file.read(1):
        found += byte
        if byte < b"\x80":
            break
    return found


def _read(recording: Recording, size: int, place: str) -> bytes:
    if size > MAX_DOCUMENT:
        raise TraceFileError(f"{place}: a message of {size} bytes, which is more than {MAX_DOCUMENT}")
    data = recording.file.read(size)
    if len(data) < size:
        raise TraceFileError(f"{place}: the file ends inside it, after {len(data)} of {size} bytes")
    return data


def spans_of_bytes(data: bytes, place: str) -> Iterator[SpanRecord]:
    """The spans of a `TracesData` or `ExportTraceServiceRequest` in protobuf's binary form, one at a time.

    Args:
        place: put on each span, and before an error.

    Raises:
        TraceFileError: it is no such message.
    """
    return _placed(_groups(data, place), place)


def _placed(spans: Iterator[SpanRecord], place: str) -> Iterator[SpanRecord]:
    try:
        yield from spans
    except (Broken, DecodeError) as error:
        reason = f": {error}" if isinstance(error, Broken) else ""
        raise TraceFileError(f"{place}: no OTLP traces message{reason}") from None
    except Malformed as error:
        raise TraceFileError(f"{place}: {error}") from None


def _groups(data: bytes, place: str) -> Iterator[SpanRecord]:
    for field in fields(data, 0, len(data)):
        if field.number == _RESOURCE_SPANS and field.wire == BYTES:
            yield from _group(data, field.start, field.end, place)


def _group(data: bytes, start: int, end: int, place: str) -> Iterator[SpanRecord]:
    """The spans of a `ResourceSpans`. The resource may stand behind them."""
    resource = attributes_of(_last(data, start, end, _RESOURCE, Resource()).attributes)
    for scoped in fields(data, start, end):
        if scoped.number != _SCOPE_SPANS or scoped.wire != BYTES:
            continue
        scope = _last(data, scoped.start, scoped.end, _SCOPE, InstrumentationScope())
        name, version = scope.name, scope.version
        for field in fields(data, scoped.start, scoped.end):
            if field.number == _SPANS and field.wire == BYTES:
                span = _parsed(data, field.start, field.end, Span())
                yield span_of(span, resource, name, version, place)


def _last(data: bytes, start: int, end: int, number: int, message: Any) -> Any:
    """A message that a field holds; of several the fields are merged, as the format asks."""
    for field in fields(data, start, end):
        if field.number == number and field.wire == BYTES:
            _parsed(data, field.start, field.end, message)
    return message


def _parsed(data: bytes, start: int, end: int, message: Any) -> Any:
    if end - start > MAX_SPAN:
        raise Malformed(f"a span or resource of {end - start} bytes, which is more than {MAX_SPAN}")
    message.MergeFromString(data[start:end])
    return message
