"""Jaeger's JSON: the same calls as in the spans that it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citespan.calls import call_of
from citespan.errors import TraceFileError
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


def tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    """One tag."""
    return {"key": key, "type": kind, "value": value}


def reference(span: str, kind: str = "CHILD_OF", trace: str = TRACE_ID) -> dict[str, Any]:
    """One reference."""
    return {"refType": kind, "traceID": trace, "spanID": span}


SPAN = {
    "traceID": TRACE_ID,
    "spanID": "f067aa0ba902b7",
    "operationName": "execute_tool list_files",
    "references": [reference("aa"), reference("bb", "FOLLOWS_FROM"), reference("cc", "CHILD_OF", "1")],
    "startTime": 1700000000000001,
    "duration": 5,
    "tags": [
        tag("gen_ai.operation.name", "execute_tool"),
        tag("gen_ai.tool.name", "list_files"),
        tag("provenance.status", "blocked"),
        tag("provenance.violations", '["assumed_fields=[path]"]'),
        tag("provenance.accepts.path", '["list_files.files.*"]'),
        tag("provenance.kind.path", "assumed"),
        tag("provenance.budget", 0, "int64"),
        tag("provenance.weak.path", True, "bool"),
        tag("note", '["stays","text"]'),
        tag("share", 0.5, "float64"),
        tag("raw", "AP8=", "binary"),
        tag("span.kind", "internal"),
        tag("error", True, "bool"),
        tag("otel.status_code", "ERROR"),
        tag("otel.status_description", "refused"),
        tag("otel.scope.name", "citespan"),
        tag("otel.scope.version", "1"),
    ],
    "logs": [{"timestamp": 1700000000000002, "fields": [tag("event", "provenance.uncited"), tag("e", "x")]}],
    "processID": "p1",
    "warnings": None,
}
EXPORT = {
    "data": [
        {
            "traceID": TRACE_ID,
            "spans": [SPAN],
            "processes": {"p1": {"serviceName": "s", "tags": [tag("telemetry.sdk.name", "opentelemetry")]}},
        }
    ],
    "total": 0,
    "errors": None,
}


def read(tmp_path: Path, export: Any) -> list[SpanRecord]:
    """The spans of an export."""
    file = tmp_path / "recorded"
    file.write_text(json.dumps(export, indent=2))
    return list(read_spans(file))


def with_span(**fields: Any) -> dict[str, Any]:
    """The export with another span."""
    return {"data": [{**EXPORT["data"][0], "spans": [{**SPAN, **fields}]}]}  # type: ignore[index]


def test_everything_that_a_span_has(tmp_path: Path) -> None:
    """Ids filled up with zeros, nanoseconds, status, scope, resource; what Jaeger adds is no attribute."""
    (record,) = read(tmp_path, EXPORT)
    assert record == SpanRecord(
        trace_id=TRACE_ID,
        span_id="00f067aa0ba902b7",
        parent_id="00000000000000aa",
        name="execute_tool list_files",
        kind=1,
        start=1700000000000001000,
        end=1700000000000006000,
        attributes=record.attributes,
        events=record.events,
        links=record.links,
        status="ERROR",
        message="refused",
        resource={"service.name": "s", "telemetry.sdk.name": "opentelemetry"},
        scope="citespan",
        scope_version="1",
        dropped=(0, 0, 0),
        place=f"{tmp_path / 'recorded'}:1",
    )
    assert [(event.name, event.time, event.attributes) for event in record.events] == [
        ("provenance.uncited", 1700000000000002000, {"e": "x"})
    ]
    assert [(link.trace_id, link.span_id) for link in record.links] == [
        (TRACE_ID, "00000000000000bb"),
        ("0" * 31 + "1", "00000000000000cc"),
    ]
    assert not {"span.kind", "error", "otel.status_code", "otel.scope.name"} & record.attributes.keys()


def test_our_lists_are_lists_again_and_no_other(tmp_path: Path) -> None:
    """Text under a key of another's stays text, whatever it looks like."""
    (record,) = read(tmp_path, EXPORT)
    assert record.attributes["provenance.violations"] == ["assumed_fields=[path]"]
    assert record.attributes["provenance.accepts.path"] == ["list_files.files.*"]
    assert record.attributes["note"] == '["stays","text"]'
    assert (record.attributes["share"], record.attributes["raw"]) == (0.5, b"\0\xff")
    call = call_of(record)
    assert call is not None
    assert (call.violations, call.budget, call.status) == (("assumed_fields=[path]",), 0, "blocked")
    assert [(each.name, each.weak, each.accepts) for each in call.arguments] == [
        ("path", True, ("list_files.files.*",))
    ]


@pytest.mark.parametrize("text", ["[1]", "{}", "[", "text", ""])
def test_what_is_no_list_of_texts_stays_text(text: str, tmp_path: Path) -> None:
    """Also under our keys."""
    (record,) = read(tmp_path, with_span(tags=[tag("provenance.violations", text)]))
    assert record.attributes == {"provenance.violations": text}


@pytest.mark.parametrize(
    "tags, status",
    [
        ([], "UNSET"),
        ([tag("error", True, "bool")], "ERROR"),
        ([tag("error", False, "bool")], "UNSET"),
        ([tag("otel.status_code", "OK")], "OK"),
        ([tag("otel.status_code", "new")], "UNSET"),
    ],
)
def test_the_status_is_in_the_tags(tags: list[Any], status: str, tmp_path: Path) -> None:
    """Those of OpenTelemetry first, then Jaeger's own."""
    (record,) = read(tmp_path, with_span(tags=tags))
    assert record.status == status


def test_older_exports(tmp_path: Path) -> None:
    """The parent in a field, the process in the span, nothing else."""
    old = {"traceID": "1", "spanID": "2", "parentSpanID": "3", "process": {"serviceName": "s"}}
    (record,) = read(tmp_path, {"data": [{"spans": [old]}]})
    assert (record.trace_id, record.parent_id, record.resource) == (
        "0" * 31 + "1",
        "0" * 15 + "3",
        {"service.name": "s"},
    )
    assert (record.name, record.start, record.links, record.status) == ("", 0, (), "UNSET")


def test_no_traces_are_no_spans(tmp_path: Path) -> None:
    """A search that found nothing."""
    assert read(tmp_path, {"data": [], "errors": None}) == []


@pytest.mark.parametrize(
    "export, reason",
    [
        (
            {"data": None, "errors": [{"code": 404, "msg": "trace not found"}]},
            "Jaeger's answer that it has no such trace",
        ),
        (with_span(traceID=5), r"data\[0\].spans\[0\].traceID: up to 32 hex digits"),
        (with_span(spanID="0"), r"data\[0\].spans\[0\].spanID: all zero"),
        (with_span(spanID="1" * 17), "spanID: up to 16 hex digits"),
        (with_span(startTime="5"), "startTime: no time in microseconds"),
        (with_span(duration=2**63), "duration: no time in microseconds"),
        (with_span(tags=[5]), r"spans\[0\].tags\[0\]: no object"),
        (with_span(tags=[tag("k", "x", "int64")]), r"tags\[0\].value: no int64"),
        (with_span(tags=[tag("k", {}, "string")]), r"tags\[0\].value: no string"),
        (with_span(tags=[tag("k", {}, "other")]), r"tags\[0\].value: no other"),
        (with_span(tags=[tag("k", "?", "binary")]), r"tags\[0\].value: no binary"),
        (with_span(logs=[{"timestamp": 1, "fields": {}}]), r"logs\[0\].fields: no array"),
        (with_span(references=[reference("g")]), r"references\[0\].spanID"),
        ({"data": [{"spans": [SPAN], "processes": {"p1": 5}}]}, r"data\[0\].processes.0: no object"),
    ],
)
def test_what_is_wrong_is_named(export: Any, reason: str, tmp_path: Path) -> None:
    """By its path in the document."""
    with pytest.raises(TraceFileError, match=rf"recorded:1: .*{reason}"):
        read(tmp_path, export)
