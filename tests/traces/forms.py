"""One run in each form that a trace file has."""

from __future__ import annotations

import gzip
import json
import struct
from typing import Any, Final

from tests.traces.messages import parse_line

from citespan.traces.model import SpanRecord

TRACE_ID: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID: Final = "00f067aa0ba902b7"


def attribute(key: str, **value: Any) -> dict[str, Any]:
    """One attribute: `attribute("k", stringValue="v")`."""
    return {"key": key, "value": value}


def span(name: str = "execute_tool list_files", **fields: Any) -> dict[str, Any]:
    """A span with something of everything."""
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "parentSpanId": "1" * 16,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000000001000",
        "attributes": [
            attribute("provenance.status", stringValue="blocked"),
            attribute("provenance.budget", intValue="0"),
            attribute("provenance.weak.path", boolValue=True),
            attribute("share", doubleValue=0.5),
            attribute("raw", bytesValue="AP8="),
            attribute("nothing"),
            attribute("provenance.violations", arrayValue={"values": [{"stringValue": "assumed_fields=[path]"}]}),
            attribute("map", kvlistValue={"values": [attribute("inner", stringValue='a "{[')]}),
        ],
        "events": [
            {"name": "provenance.uncited", "timeUnixNano": "5", "attributes": [attribute("e", stringValue="x")]}
        ],
        "links": [{"traceId": TRACE_ID, "spanId": "2" * 16, "attributes": [attribute("l", stringValue="y")]}],
        "status": {"code": 2, "message": "refused"},
        "droppedLinksCount": 3,
        **fields,
    }


def document(*spans: Any) -> dict[str, Any]:
    """A `TracesData`."""
    resource = {"attributes": [attribute("service.name", stringValue="s")]}
    return {
        "resourceSpans": [
            {
                "resource": resource,
                "scopeSpans": [{"scope": {"name": "citespan", "version": "1"}, "spans": list(spans)}],
            }
        ]
    }


DOCUMENTS: Final = [document(span("a"), span("b")), document(span("c"))]
NAMES: Final = ["a", "b", "c"]


def message(number: int) -> bytes:
    """A document in protobuf's binary form."""
    return parse_line(json.dumps(DOCUMENTS[number])).SerializeToString()


def framed(*messages: bytes) -> bytes:
    """Messages as a collector's `file` exporter writes them with `format: proto`."""
    return b"".join(struct.pack(">I", len(each)) + each for each in messages)


LINES: Final = "".join(f"{json.dumps(each)}\n" for each in DOCUMENTS).encode()
ONE_LINE: Final = json.dumps(DOCUMENTS[1]).encode()
PRETTY: Final = b"\n".join(json.dumps(each, indent=2).encode() for each in DOCUMENTS)

#: the same spans each time
FORMS: Final[dict[str, bytes]] = {
    "lines": LINES,
    "no last line break": LINES.rstrip(),
    "a byte-order mark": b"\xef\xbb\xbf" + LINES,
    "CRLF": LINES.replace(b"\n", b"\r\n"),
    "blank lines": b"\n \n\n\n" + LINES.replace(b"\n", b"\n\n"),
    "spaces before": b"  " + LINES,
    "pretty": PRETTY,
    "pretty, a blank line before": b"\n" + PRETTY,
    "pretty, tabs, blank lines before": b"\n\n\n" + json.dumps(DOCUMENTS[0], indent="\t").encode() + b"\n" + ONE_LINE,
    "without line breaks": LINES.replace(b"\n", b""),
    "pretty, then lines": json.dumps(DOCUMENTS[0], indent=1).encode() + b"\n" + ONE_LINE,
    "one message": message(0) + message(1),
    "messages after their lengths": framed(message(0), b"", message(1)),
    "documents after their lengths": framed(*LINES.splitlines()),
    "Jaeger's API for OTLP": "".join(f"{json.dumps({'result': each})}\n" for each in DOCUMENTS).encode(),
}
FORMS.update({f"{name}, gzip": gzip.compress(data) for name, data in FORMS.items()})
FORMS["gzip in members, padded"] = (
    gzip.compress(LINES[:10]) + gzip.compress(b"") + gzip.compress(LINES[10:]) + b"\0" * 600
)


def whole(records: list[SpanRecord]) -> list[SpanRecord]:
    """Records without their places, which differ."""
    return [record._replace(place="") for record in records]
