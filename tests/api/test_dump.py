"""`TracedTools.dump`: the run's spans as OTLP/JSON lines, whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from tests.guard.harness import LISTED, SECRET

import citespan
from citespan.traces.reader import read_spans


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


@pytest.fixture
def tools() -> citespan.TracedTools:
    ran: list[Any] = []

    def patch(path: str) -> None:
        ran.append(path)

    made = citespan.TracedTools({"names": lambda: list(LISTED), "patch": patch})
    made.call("names")
    made.call("patch", path=LISTED[0])
    with pytest.raises(PermissionError):
        made.call("patch", path=SECRET)
    assert ran == LISTED[:1]
    return made


def test_it_writes_every_span_and_closes_the_run(tools: citespan.TracedTools, path: Path) -> None:
    assert tools.dump(path) == 4
    spans = list(read_spans(path))
    assert [span.name for span in spans] == [
        "execute_tool names",
        "execute_tool patch",
        "execute_tool patch",
        "invoke_agent",
    ]
    assert [span.status for span in spans] == ["UNSET", "UNSET", "ERROR", "UNSET"]
    assert all(span.start <= span.end for span in spans)
    assert spans[-1].parent_id == ""
    assert {span.scope for span in spans} == {"citespan"}


def test_every_line_is_otlp_json(tools: citespan.TracedTools, path: Path) -> None:
    tools.dump(path)
    data = path.read_bytes()
    assert data.endswith(b"\n")
    for line in data.splitlines():
        document = json.loads(line)
        assert set(document) == {"resourceSpans"}
        spans = [
            span for group in document["resourceSpans"] for scope in group["scopeSpans"] for span in scope["spans"]
        ]
        assert spans
        for span in spans:
            assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
            assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
            assert re.fullmatch("[0-9]+", span["startTimeUnixNano"])
            assert span["kind"] == 1
        json_format.ParseDict(_with_base64_ids(document), TracesData())


def _with_base64_ids(value: Any) -> Any:
    """Ids as protobuf's own JSON has them: OTLP/JSON writes hex instead."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(member)).decode()
        if key in {"traceId", "spanId", "parentSpanId"}
        else _with_base64_ids(member)
        for key, member in value.items()
    }


def test_it_holds_no_value(tools: citespan.TracedTools, path: Path) -> None:
    tools.dump(path)
    data = path.read_text()
    assert SECRET not in data
    assert LISTED[0] not in data


def test_dumping_twice_writes_the_same_and_calls_after_it_are_added(tools: citespan.TracedTools, path: Path) -> None:
    assert tools.dump(path) == 4
    first = path.read_bytes()
    assert tools.dump(path) == 4
    assert path.read_bytes() == first
    tools.call("patch", path=LISTED[1])
    assert tools.dump(path) == 6
    spans = list(read_spans(path))
    assert [span.name for span in spans[4:]] == ["execute_tool patch", "invoke_agent"]
    assert spans[4].parent_id == spans[5].span_id


def test_a_set_that_was_never_called_dumps_an_empty_file(path: Path) -> None:
    assert citespan.TracedTools({"names": list}).dump(path) == 0
    assert path.read_bytes() == b""
    assert list(read_spans(path)) == []


def test_it_takes_text_or_a_path_and_replaces_what_is_there(
    tools: citespan.TracedTools, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("something else")
    assert tools.dump(str(path)) == 4
    assert len(list(read_spans(path))) == 4
    monkeypatch.chdir(path.parent)
    assert tools.dump("here.jsonl") == 4
    assert len(list(read_spans("here.jsonl"))) == 4


def test_where_it_cannot_be_written_nothing_is_changed(
    tools: citespan.TracedTools, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OSError, match="nowhere"):
        tools.dump(path.parent / "nowhere" / "trace.jsonl")
    path.write_text("something else")

    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdopen", full)
        with pytest.raises(OSError, match="no space left"):
            tools.dump(path)
    assert path.read_text() == "something else"
    assert list(path.parent.iterdir()) == [path]
    assert tools.dump(path) == 4


def test_what_ran_inside_another_run_is_dumped_too(path: Path) -> None:
    tools = citespan.TracedTools({"names": lambda: list(LISTED)})
    with citespan.run("agent"):
        tools.call("names")
    tools.call("names")
    assert tools.dump(path) == 3


def test_hostile_arguments_are_dumped_and_read_back(path: Path) -> None:
    tools = citespan.TracedTools({"take": lambda value, **more: None}, policy=citespan.Policy(mode="tag"))
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in ("\ud800", 2**70, float("nan"), b"\xff", cycle, object(), {"\udfff": 1}, "\0", "x" * 10**6):
        tools.call("take", value=value, **{"\ud800": 1})
    assert tools.dump(path) == 10
    assert [span.name for span in read_spans(path)] == ["execute_tool take"] * 9 + ["invoke_agent"]


def test_dumping_in_the_middle_of_an_open_run_keeps_the_run_usable(path: Path) -> None:
    tools = citespan.TracedTools({"names": lambda: list(LISTED), "patch": lambda path: path})
    with tools.run:
        tools.call("names")
        assert tools.dump(path) == 2
        tools.call("patch", path=LISTED[0])
    assert tools.dump(path) >= 3
