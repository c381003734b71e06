"""The calls of any file: what it is shows in its content, whatever its name and however it is packed."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path

import pytest
from tests.replay.recordings import call

from citespan.calls.read import read_calls
from citespan.core.policy import Policy
from citespan.errors import PolicyError, TraceFileError
from citespan.files import opened
from citespan.policy_file import loads
from citespan.replay import Policies

SPAN = {
    "traceId": "a" * 32,
    "spanId": "b" * 16,
    "name": "execute_tool look",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "look"}},
        {"key": "provenance.status", "value": {"stringValue": "ok"}},
    ],
}
OTHER = {"traceId": "a" * 32, "spanId": "c" * 16, "name": "chat"}
TRACE = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [OTHER, SPAN]}]}]}).encode() + b"\n"
EVIDENCE = b'{"schema":"citespan.evidence/1","tool":"look","status":"ok"}\n'
RECORDED = {"id": "r1", "user_messages": ["look"], "calls": [call("look"), call("cut", path="a.md")]}
TRAJECTORY = json.dumps(RECORDED).encode() + b"\n"
FILES = {"trace": (TRACE, 1), "evidence": (EVIDENCE * 2, 2), "trajectory": (TRAJECTORY, 2)}


@pytest.fixture(autouse=True)
def no_policy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", FILES)
def test_each_kind_of_file_gives_its_calls(
    kind: str, packed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, open already, and from standard input, where nothing is lost by looking."""
    assert callable(packed)
    content, number = FILES[kind]
    data = packed(content)
    path = tmp_path / "file"
    path.write_bytes(data)
    sizes: list[int] = []
    assert [found.tool for found in read_calls(path, sizes.append)][:1] == ["look"]
    assert sum(sizes) == len(data)
    with opened(path) as recording:
        assert len(list(read_calls(recording))) == number
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert len(list(read_calls("-"))) == number


@pytest.mark.parametrize("kind", FILES)
def test_a_slow_pipe_is_recognised_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when its first byte comes alone."""
    content, number = FILES[kind]
    reader, writer = os.pipe()
    stream = io.TextIOWrapper(os.fdopen(reader, "rb"))
    monkeypatch.setattr("sys.stdin", stream)

    def write() -> None:
        with os.fdopen(writer, "wb", buffering=0) as file:
            for start in range(len(content)):
                file.write(content[start : start + 1])

    thread = threading.Thread(target=write)
    thread.start()
    with stream:
        assert len(list(read_calls("-"))) == number
        thread.join()


@pytest.mark.parametrize("first", ["tools", "notes", "user_messages"])
def test_a_trajectorys_keys_may_come_in_any_order(first: str, tmp_path: Path) -> None:
    """Also where one of them is long, and holds braces, quotes and keys of its own."""
    strange = {"calls": '}{"resourceSpans":[]', 'a"b\\': [{"spans": 1}] * 50}
    long = {
        "tools": {"look": {"parameters": {"type": "object", "properties": {}, "x": ["y" * 9000]}}},
        "notes": strange,
    }
    record = {first: long.get(first, ["look " * 3000])} | RECORDED
    (tmp_path / "runs").write_text(json.dumps(record) + "\n")
    assert [found.tool for found in read_calls(tmp_path / "runs")] == ["look", "cut"]


class TestRecordedRuns:
    """Judged as `citespan replay` judges them."""

    def test_the_runs_own_policy_wins_over_the_environments(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And that of the environment over the defaults."""
        path, policy = tmp_path / "runs", tmp_path / "citespan.toml"
        policy.write_text('version = 1\n[defaults]\nmode = "tag"\n')
        own = {**RECORDED, "id": "r2", "policy": 'version = 1\n[defaults]\nmode = "off"\n'}
        path.write_text(json.dumps(RECORDED) + "\n" + json.dumps(own) + "\n")
        assert [found.status for found in read_calls(path)] == ["ok", "blocked", "ok", "ok"]
        monkeypatch.setenv("CITESPAN_POLICY", str(policy))
        assert [found.status for found in read_calls(path)] == ["ok", "flagged", "ok", "ok"]

    def test_the_named_one_wins_over_all(self, tmp_path: Path) -> None:
        """As `--policy` does."""
        path = tmp_path / "runs"
        path.write_text(json.dumps({**RECORDED, "policy": "version = 1\n"}) + "\n")
        named = Policies(loads('version = 1\n[defaults]\nmode = "tag"\n'), Policy())
        assert [found.status for found in read_calls(path, policies=named)] == ["ok", "flagged"]

    def test_a_policy_that_is_not_there_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It matters for recorded runs only: a trace was judged already."""
        monkeypatch.setenv("CITESPAN_POLICY", str(tmp_path / "none.toml"))
        (tmp_path / "runs").write_bytes(TRAJECTORY)
        (tmp_path / "trace").write_bytes(TRACE)
        with pytest.raises(PolicyError, match=r"none\.toml"):
            list(read_calls(tmp_path / "runs"))
        assert len(list(read_calls(tmp_path / "trace"))) == 1


@pytest.mark.parametrize(
    "content, said",
    [
        (b"nonsense\n", "file:1: "),
        (TRACE + b"{\n", "file:2: "),
        (EVIDENCE + b'{"schema":"citesp', "file:2: no JSON: .*the last line is unfinished"),
        (EVIDENCE + TRACE, "file:2: no line of an evidence file"),
        (TRAJECTORY + EVIDENCE, "file:2: "),
        (TRAJECTORY + b"{}\n", "file:2: calls: is missing"),
        (gzip.compress(EVIDENCE * 9)[:-9], "gzip"),
        (gzip.compress(TRAJECTORY)[:-9], "gzip"),
        (b"", None),
        (b"\n\n", None),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(content: bytes, said: str | None, tmp_path: Path) -> None:
    """By the reader of that kind of file; an empty file has no calls."""
    path = tmp_path / "file"
    path.write_bytes(content)
    if said is None:
        assert list(read_calls(path)) == []
        return
    with pytest.raises(TraceFileError, match=said):
        list(read_calls(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(TraceFileError, match=r"none\.jsonl: No such file"):
        list(read_calls(tmp_path / "none.jsonl"))
