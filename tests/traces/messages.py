"""OTLP/JSON lines as protobuf messages, ids in their right form; messages as spans.

The protocol's JSON writes trace and span ids as hex, where the protobuf library's JSON writes all bytes as
base64: its parser takes hex for base64 and gives wrong ids without a word.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
from google.protobuf.json_format import ParseDict
from google.protobuf.json_format import ParseError as ProtobufParseError
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from citespan.traces.decode import Malformed, decode
from citespan.traces.model import SpanRecord
from citespan.traces.protobuf import attributes_of, span_of

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


def _holders(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object that holds ids: spans and their links."""
    for group in document.get("resourceSpans") or ():
        for scoped in group.get("scopeSpans") or ():
            for span in scoped.get("spans") or ():
                yield span
                yield from span.get("links") or ()
