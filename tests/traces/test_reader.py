"""Reading trace files: every span, or the file, the line and the reason."""

from __future__ import annotations

import functools
import io
import json
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from citespan.errors import TraceFileError
from citespan.files import documents
from citespan.traces import lines
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def span(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "n", **fields}


def document(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def write(path: Path, *documents: Any) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    return path


def read(path: Path) -> list[SpanRecord]:
    return list(read_spans(path))


def test_every_span_of_every_line_in_order(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", document(span(name="a"), span(name="b")), document(), document(span(name="c")))
    assert [(record.name, record.place) for record in read(file)] == [
        ("a", f"{file}:1"),
        ("b", f"{file}:1"),
        ("c", f"{file}:3"),
    ]


def test_everything_that_a_collector_may_write_is_understood(tmp_path: Path) -> None:
    entry = {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
                "scopeSpans": [
                    {
                        "scope": {"name": "citespan", "version": "1"},
                        "unknownField": {"a": 1},
                        "spans": [
                            span(
                                traceId=TRACE_ID.upper(),
                                parentSpanId="",
                                kind="SPAN_KIND_CLIENT",
                                startTimeUnixNano=5,
                                endTimeUnixNano="7",
                                status={"code": "STATUS_CODE_ERROR", "message": "m"},
                                attributes=[
                                    {"key": "i", "value": {"intValue": 3}},
                                    {"key": "d", "value": {"doubleValue": "NaN"}},
                                    {"key": "e", "value": {"doubleValue": 1}},
                                    {"key": "a", "value": {"arrayValue": {}}},
                                    {"key": "n", "value": {}},
                                    {"key": "m"},
                                    {"key": "new", "value": {"futureValue": 1}},
                                ],
                                links=[{"traceId": TRACE_ID, "spanId": SPAN_ID}],
                                events=[{"name": "e", "timeUnixNano": "6"}],
                                droppedLinksCount=2,
                            )
                        ],
                    }
                ],
            }
        ]
    }
    (record,) = read(write(tmp_path / "t.jsonl", entry))
    assert (record.trace_id, record.parent_id, record.kind, record.start, record.end) == (TRACE_ID, "", 3, 5, 7)
    assert (record.status, record.message, record.scope, record.scope_version) == ("ERROR", "m", "citespan", "1")
    assert record.resource == {"service.name": "s"}
    assert record.dropped == (0, 0, 2)
    attributes = dict(record.attributes)
    assert attributes.pop("d") != 0
    assert attributes == {"i": 3, "e": 1.0, "a": [], "n": None, "m": None, "new": None}
    assert (record.events[0].name, record.links[0].span_id) == ("e", SPAN_ID)


@pytest.mark.parametrize("flags, remote", [(0x301, True), ("768", True), (0x101, False), (0x200, False), (None, False)])
def test_whether_the_parent_is_in_another_process(tmp_path: Path, flags: Any, remote: bool) -> None:
    """As the span's flags say, in both encodings; alone, the second bit says nothing."""
    entry = {"resourceSpans": [{"scopeSpans": [{"spans": [span(parentSpanId=SPAN_ID, flags=flags)]}]}]}
    assert [record.remote for record in read(write(tmp_path / "t.jsonl", entry))] == [remote]
    message = TracesData()
    sent = message.resource_spans.add().scope_spans.add().spans.add()
    sent.trace_id, sent.span_id = bytes.fromhex(TRACE_ID), bytes.fromhex(SPAN_ID)
    sent.flags = int(flags or 0)
    (tmp_path / "t.pb").write_bytes(message.SerializeToString())
    assert [record.remote for record in read(tmp_path / "t.pb")] == [remote]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.TextIOWrapper(io.BytesIO(json.dumps(document(span())).encode()))
    monkeypatch.setattr(sys, "stdin", data)
    (record,) = read_spans("-")
    assert record.place == "<stdin>:1"


def test_progress_adds_up_to_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", *[document(span())] * 10)
    sizes: list[int] = []
    list(read_spans(file, sizes.append))
    assert sum(sizes) == file.stat().st_size


def test_blank_lines_marks_and_other_signals_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"\xef\xbb\xbf\n" + b'{"resourceMetrics": []}\n{}\n \n' + json.dumps(document(span())).encode())
    assert [record.place for record in read(file)] == [f"{file}:5"]


@pytest.mark.parametrize(
    "line,reason",
    [
        ("{", "no JSON"),
        ("[]", "not a JSON object"),
        ('{"spans": []}', "no `resourceSpans`"),
        ('{"resourceSpans": {}}', "resourceSpans: no array"),
        ('{"resourceSpans": [1]}', "resourceSpans[0]: no object"),
        (json.dumps(document(span(traceId="S/kvNXezTaajzpKdDg5HNg=="))), "traceId: 32 hex digits"),
        (json.dumps(document(span(traceId="0" * 32))), "traceId: all zero"),
        (json.dumps(document(span(traceId=None))), "traceId: 32 hex digits"),
        (json.dumps(document(span(spanId=TRACE_ID))), "spans[0].spanId: 16 hex digits"),
        (json.dumps(document(span(), span(spanId="x" * 16))), "spans[1].spanId: 16 hex digits"),
        (json.dumps(document(span(parentSpanId="1"))), "parentSpanId"),
        (json.dumps(document(span(name=1))), "name: no text"),
        (json.dumps(document(span(kind="SPAN_KIND_OTHER"))), "kind"),
        (json.dumps(document(span(kind=[]))), "kind"),
        (json.dumps(document(span(startTimeUnixNano="soon"))), "startTimeUnixNano: no integer"),
        (json.dumps(document(span(startTimeUnixNano=1.5))), "startTimeUnixNano: no integer"),
        (json.dumps(document(span(status=1))), "status: no object"),
        (json.dumps(document(span(status={"code": 9}))), "no status code"),
        (json.dumps(document(span(status={"code": [1]}))), "no status code"),
        (json.dumps(document(span(attributes={}))), "attributes: no array"),
        (json.dumps(document(span(attributes=[{"key": 1}]))), "attributes[0].key: no text"),
        (json.dumps(document(span(attributes=[{"key": "k", "value": 1}]))), "no object"),
        (json.dumps(document(span(attributes=[{"key": "k", "value": {"stringValue": 1}}]))), "wrong type"),
        (json.dumps(document(span(attributes=[{"key": "k", "value": {"intValue": "x"}}]))), "no integer"),
        (json.dumps(document(span(attributes=[{"key": "k", "value": {"doubleValue": "x"}}]))), "no number"),
        (json.dumps(document(span(attributes=[{"key": "k", "value": {"bytesValue": "?"}}]))), "no base64"),
        (json.dumps(document(span(links=[{"traceId": TRACE_ID}]))), "links[0].spanId"),
        (json.dumps(document(span(events=["x"]))), "events[0]: no object"),
    ],
)
def test_a_bad_line_names_file_line_and_reason(tmp_path: Path, line: str, reason: str) -> None:
    file = write(tmp_path / "t.jsonl", document(span()))
    with file.open("a") as more:
        more.write(line + "\n")
    found = read_spans(file)
    assert next(found).name == "n"
    with pytest.raises(TraceFileError, match=rf"^{re.escape(str(file))}:2: .*{re.escape(reason)}"):
        list(found)


def test_an_unfinished_last_line_is_said_to_be_one(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", document(span()))
    with file.open("a") as more:
        more.write('{"resourceSpans": [')
    with pytest.raises(TraceFileError, match=r":2: .*unfinished"):
        read(file)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "documents", functools.partial(documents, limit=100))
    with pytest.raises(TraceFileError, match=r":1: a document or line of more than 100 bytes"):
        read(write(tmp_path / "t.jsonl", document(span(name="x" * 200))))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"nowhere: No such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(TraceFileError, match="Is a directory"):
        read(tmp_path)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = json.dumps(document(*[span(name="x" * 100)] * 50)) + "\n"
    file = tmp_path / "t.jsonl"
    with file.open("w") as target:
        for _ in range(2000):
            target.write(line)
    assert file.stat().st_size > 15_000_000
    tracemalloc.start()
    number = sum(1 for _ in read_spans(file))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert number == 100_000
    assert peak < 2_000_000
