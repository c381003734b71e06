"""One run told three times is one run: spans, evidence lines and the replay of what was called agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from tests.traces.messages import parse_line

from citespan.calls.read import read_calls
from citespan.diff import Diff, collect, compare

FORMS = ("trace.jsonl", "evidence.jsonl", "runs.jsonl")


def diff(a: Path, b: Path) -> Diff:
    return compare(collect(read_calls(a), "A"), collect(read_calls(b), "B"))


@pytest.mark.parametrize("b", FORMS)
@pytest.mark.parametrize("a", FORMS)
def test_the_same_run_is_the_same_in_every_form(cited: Path, guessed: Path, a: str, b: str) -> None:
    """No kind, source, projection or verdict differs, and every call finds its partner."""
    for folder in (cited, guessed):
        summary = diff(folder / a, folder / b).summary
        assert (summary.calls, summary.changes) == ({"same": 4}, {})


@pytest.mark.parametrize("b", FORMS)
@pytest.mark.parametrize("a", FORMS)
def test_what_was_guessed_shows_in_every_form(cited: Path, guessed: Path, a: str, b: str) -> None:
    """Whichever two files are compared: one kind, one verdict."""
    summary = diff(cited / a, guessed / b).summary
    assert summary.calls == {"same": 3, "changed": 1}
    assert (summary.changes, summary.worse, summary.better) == ({"kind": 1, "status": 1}, 2, 0)


def test_a_collectors_file_of_the_run_is_no_different(cited: Path, tmp_path: Path) -> None:
    """It has other spans too, other resource attributes, its own order and batches, and some spans twice."""
    found: list[TracesData] = []
    for line in (cited / "trace.jsonl").read_text().splitlines():
        document = json.loads(line)
        for group in document["resourceSpans"]:
            for scoped in group["scopeSpans"]:
                for span in scoped["spans"]:
                    one = {"scope": scoped["scope"], "spans": [span]}
                    resource = {"attributes": [{"key": "host.name", "value": {"stringValue": "collector"}}]}
                    found.append(
                        parse_line(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [one]}]}))
                    )
    other = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "GET /", "startTimeUnixNano": "1"}
    lines = [b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + json.dumps(other).encode() + b"]}]}]}\n"]
    batch = TracesData()
    for data in (*reversed(found), *found[:2]):
        batch.MergeFrom(data)
    path = tmp_path / "collector.pb"
    path.write_bytes(batch.SerializeToString())
    both = tmp_path / "collector.jsonl"
    both.write_bytes(b"".join([*lines, *_shuffled(cited / "trace.jsonl")]))
    for file in (path, both):
        summary = diff(file, cited / "trace.jsonl").summary
        assert (summary.calls, summary.changes) == ({"same": 4}, {})


def _shuffled(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [*reversed(lines), *lines[:2]]
