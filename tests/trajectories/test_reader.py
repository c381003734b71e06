"""A trajectory file is read run by run; a line that is none is named by file, line and reason, and not used at all."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citespan import TracedTools
from citespan.core.decision import Decision
from citespan.core.leaves import Snapshot
from citespan.errors import EXIT_BAD_INPUT, TraceFileError
from citespan.guard.ports import ToolCall
from citespan.stores.evidence import evidence_line
from citespan.trajectories import RecordedCall, RecordedTool, Trajectory, read_trajectories, reader

Write = Callable[..., Path]


def run(identity: str = "r1", **changes: Any) -> dict[str, Any]:
    """A run with one call."""
    return {"id": identity, "user_messages": ["book BER"], "calls": [call()], **changes}


def call(**changes: Any) -> dict[str, Any]:
    return {"tool": "book", "arguments": {"airport": "BER"}, "result": {"ok": 1}, "error": None, "turn": 0, **changes}


def without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes lines, given as JSON values or as bytes, into `runs.jsonl`."""

    def writer(*lines: Any) -> Path:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(b"".join(line if type(line) is bytes else json.dumps(line).encode() + b"\n" for line in lines))
        return path

    return writer


def all_of(source: Path) -> tuple[list[str], list[str]]:
    """Ids of the runs that could be read, and what was said of the lines that could not."""
    said: list[str] = []
    ids = [read.id for read in read_trajectories(source, bad=lambda error: said.append(str(error)))]
    return ids, said


def reason(source: Path) -> str:
    """What is said of the only bad line, without the file's name."""
    with pytest.raises(TraceFileError) as caught:
        list(read_trajectories(source))
    assert caught.value.exit_code == EXIT_BAD_INPUT
    return str(caught.value).removeprefix(f"{source}:")


class TestFilesOfAnotherKind:
    """What citespan itself writes is easily given here; its lines are recognised, not picked at key by key."""

    def test_a_trace_as_the_exporter_writes_it(self, tmp_path: Path) -> None:
        """One sentence for the whole file."""
        path = tmp_path / "trace.jsonl"
        with TracedTools({"look": lambda: "x"}) as tools:
            tools.call("look")
            tools.call("look")
            assert tools.dump(path)
        assert all_of(path) == ([], [f"{path}: {reader.TRACE}"])

    @pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n \n"], ids=["", "mark", "blank"])
    def test_a_trace_in_the_other_spelling(self, start: bytes, write: Write) -> None:
        """Protobuf's own names, and whatever may stand before a first line."""
        path = write(start, {"resource_spans": []}, {"resource_spans": []})
        assert all_of(path) == ([], [f"{path}: {reader.TRACE}"])

    def test_an_evidence_file_as_the_guard_writes_it(self, tmp_path: Path) -> None:
        """Its schema is on each line."""
        path = tmp_path / "e.jsonl"
        call = ToolCall("look", None, Snapshot({}, ()), frozenset(), None, None, None, None)
        decision = Decision("look", None, False, "ok", "enforce", "tell", (), (), 0, "", True)
        path.write_bytes(evidence_line(call, decision, None, 0) * 2)
        assert all_of(path) == ([], [f"{path}: {reader.EVIDENCE}"])

    def test_only_the_first_line_says_what_a_file_is(self, write: Write) -> None:
        """After a run such a line is a bad line like any other."""
        path = write(run(), {"resourceSpans": []}, run("r2"))
        assert all_of(path) == (["r1", "r2"], [f"{path}:2: calls: is missing: an array"])

    def test_a_line_that_is_too_long_to_be_read_says_nothing(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is refused unread."""
        monkeypatch.setattr(reader, "MAX_LINE", 20)
        assert "a line of more than 20 bytes" in reason(write({"resourceSpans": [{"scopeSpans": []}]}))


class TestWhatIsRead:
    def test_a_run_with_everything(self, write: Write) -> None:
        schema = {"type": "object", "properties": {"airport": {"type": "string"}}}
        tools = {"book": {"parameters": schema, "annotations": {"readOnlyHint": False}}, "look": {}}
        record = run(tools=tools, policy="version = 1\n", calls=[call(step=3, turn=1, error={"code": 5})], reward=1)
        path = write(record)
        (read,) = read_trajectories(path)
        assert read == Trajectory(
            "r1",
            ("book BER",),
            {"book": RecordedTool(schema, False), "look": RecordedTool(None, None)},
            "version = 1\n",
            (RecordedCall("book", {"airport": "BER"}, {"ok": 1}, {"code": 5}, 1, "3"),),
            f"{path}:1",
            record,
        )

    def test_what_may_be_left_out(self, write: Write) -> None:
        (read,) = read_trajectories(write({"id": "r1", "calls": [{"tool": "look", "arguments": {}, "turn": 2}]}))
        assert (read.user_messages, read.tools, read.policy) == ((), {}, None)
        assert read.calls == (RecordedCall("look", {}, None, None, 2, None),)
        assert not read.calls[0].failed

    def test_null_is_as_good_as_left_out(self, write: Write) -> None:
        (read,) = read_trajectories(write(run(tools={"look": {"parameters": None, "annotations": None}}, policy=None)))
        assert read.tools == {"look": RecordedTool(None, None)}

    def test_blank_lines_carriage_returns_and_a_byte_order_mark(self, write: Write) -> None:
        first, second = json.dumps(run("a")).encode(), json.dumps(run("b")).encode()
        path = write(b"\xef\xbb\xbf" + first + b"\r\n", b"\n", b"  \n", second)
        assert [(read.id, read.place) for read in read_trajectories(path)] == [("a", f"{path}:1"), ("b", f"{path}:4")]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        piped = io.TextIOWrapper(io.BytesIO(json.dumps(run()).encode() + b"\n{"))
        monkeypatch.setattr("sys.stdin", piped)
        runs = read_trajectories("-")
        assert next(runs).place == "<stdin>:1"
        with pytest.raises(TraceFileError, match=r"^<stdin>:2: not JSON"):
            next(runs)

    def test_an_integer_of_any_length_stays_the_number_that_it_is(self, write: Write) -> None:
        """Read as a float, 2**64 + 1 would equal 2**64, and each would cite the other."""
        (read,) = read_trajectories(write(run(calls=[call(arguments={"n": 2**64 + 1}, result=[2**64])])))
        assert read.calls[0].arguments == {"n": 2**64 + 1}
        assert type(read.calls[0].arguments["n"]) is int

    def test_an_escaped_nul_is_a_character_like_any_other(self, write: Write) -> None:
        (read,) = read_trajectories(write(run(calls=[call(result="a\0b")])))
        assert read.calls[0].result == "a\0b"

    def test_each_run_is_handed_on_before_the_next_line_is_read(self) -> None:
        """So a file of any size takes the memory of one run; here the second half is not even written yet."""
        end, start = os.pipe()
        runs = read_trajectories(f"/dev/fd/{end}")
        try:
            with os.fdopen(start, "wb", buffering=0) as writer:
                for name in ("a", "b"):
                    writer.write(json.dumps(run(name)).encode() + b"\n")
                    assert next(runs).id == name
            assert list(runs) == []
        finally:
            os.close(end)

    def test_progress_adds_up_to_the_file(self, write: Write) -> None:
        path = write(run("a"), b"{broken\n", b"\n", run("b"))
        sizes: list[int] = []
        assert len(list(read_trajectories(path, progress=sizes.append, bad=lambda error: None))) == 2
        assert sum(sizes) == path.stat().st_size


BAD_LINES: dict[str, tuple[Any, str]] = {
    "two values": (b"{} {}\n", r"not JSON: .* at column 4"),
    "not JSON": (b"call book\n", r"not JSON: .* at column 1"),
    "NUL bytes": (b'{"id": \0\0\0\0\n', r"not JSON: it has NUL bytes \(at column 8\)"),
    "a lone surrogate": (b'{"id": "\\ud83d"}\n', r"not JSON: .*surrogate.*"),
    "no UTF-8": (b'{"id": "\xff"}\n', r"not JSON: .*UTF-8.*"),
    "not a number": (b'{"id": NaN}\n', r"not JSON: .* at column 8"),
    "nested 100,000 deep": (b"[" * 100_000 + b"\n", r"not JSON: .*depth.*"),
    "nested deep, with a long number": (
        b"[" * 1020 + b"1" * 19 + b"]" * 1020 + b"\n",
        "not readable: nested too deep|a trajectory is an object, this line is an array",
    ),
    "a list": ([run()], "a trajectory is an object, this line is an array"),
    "no id": (without(run(), "id"), "id: is missing: a string"),
    "an empty id": (run(" "), "id: must not be empty"),
    "an id that is no text": (run() | {"id": 7}, "id: must be a string, not a whole number"),
    "no calls": (without(run(), "calls"), "calls: is missing: an array"),
    "calls by name": (run(calls={"book": {}}), "calls: must be an array, not an object"),
    "a call that is text": (run(calls=[call(), "book"]), r"calls\.1: a call is an object, not a string"),
    "a call without a tool": (run(calls=[call(), without(call(), "tool")]), r"calls\.1\.tool: is missing: a string"),
    "a tool without a name": (run(calls=[call(tool="")]), r"calls\.0\.tool: must not be empty"),
    "a tool that is an object": (run(calls=[call(tool={})]), r"calls\.0\.tool: must be a string, not an object"),
    "no arguments": (run(calls=[without(call(), "arguments")]), r"calls\.0\.arguments: is missing: an object"),
    "arguments as text": (run(calls=[call(arguments="{}")]), r"calls\.0\.arguments: must be an object, not a string"),
    "no turn": (run(calls=[without(call(), "turn")]), r"calls\.0\.turn: is missing: a whole number"),
    "a turn that is a half": (run(calls=[call(turn=0.5)]), r"calls\.0\.turn: must be a whole number, not a number"),
    "a turn that is true": (run(calls=[call(turn=True)]), r"calls\.0\.turn: .*, not true or false"),
    "a turn below 0": (run(calls=[call(turn=-1)]), r"calls\.0\.turn: must be 0 or more, not -1"),
    "a turn out of order": (
        run(calls=[call(turn=0), call(turn=2), call(turn=1)]),
        r"calls\.2\.turn: 1 comes after 2: calls are in order",
    ),
    "a step that is a list": (run(calls=[call(step=[1])]), r"calls\.0\.step: .*, not an array"),
    "a step that is true": (run(calls=[call(step=True)]), r"calls\.0\.step: .*, not true or false"),
    "messages as text": (run(user_messages="hi"), "user_messages: must be an array, not a string"),
    "a message that is an object": (
        run(user_messages=["hi", {}]),
        r"user_messages\.1: must be a string, not an object",
    ),
    "tools as a list": (run(tools=[]), "tools: must be an object, not an array"),
    "a tool that is a list": (run(tools={"a\x1b": []}), r"tools\.a\?: a tool is an object, not an array"),
    "a schema as text": (
        run(tools={"a": {"parameters": "{}"}}),
        r"tools\.a\.parameters: must be an object, not a string",
    ),
    "a hint as text": (
        run(tools={"a": {"annotations": {"readOnlyHint": "yes"}}}),
        r"tools\.a\.annotations\.readOnlyHint: must be true or false, not a string",
    ),
    "a policy as an object": (run(policy={}), "policy: must be a string, not an object"),
}


class TestWhatIsNot:
    @pytest.mark.parametrize("line, why", BAD_LINES.values(), ids=BAD_LINES.keys())
    def test_a_bad_line_is_named_with_its_reason(self, line: Any, why: str, write: Write) -> None:
        said = reason(write(run("good"), line))
        assert re.fullmatch(f"2: (?:{why})", said), said

    @pytest.mark.parametrize("line", [line for line, _ in BAD_LINES.values()], ids=BAD_LINES.keys())
    def test_the_rest_can_be_read_all_the_same(self, line: Any, write: Write) -> None:
        ids, said = all_of(write(run("a"), line, run("b")))
        assert ids == ["a", "b"]
        assert len(said) == 1

    def test_a_file_that_was_cut_off_says_so(self, write: Write) -> None:
        said = reason(write(run("a"), json.dumps(run("b")).encode()[:-9]))
        assert re.fullmatch(r"2: not JSON: .* at column \d+ \(the file ends inside this line\)", said), said

    def test_an_id_is_used_once_in_a_file(self, write: Write) -> None:
        path = write(run("a"), run("b"), run("a", calls=[]), run("c"))
        assert all_of(path) == (["a", "b", "c"], [f"{path}:3: id: the trajectory on line 1 has the same id"])

    def test_a_bad_line_takes_no_id(self, write: Write) -> None:
        ids, said = all_of(write(run("a", calls=[{}]), run("a")))
        assert ids == ["a"]
        assert len(said) == 1

    def test_two_files_may_use_the_same_ids(self, write: Write) -> None:
        path = write(run("a"))
        assert [read.id for source in (path, path) for read in read_trajectories(source)] == ["a", "a"]

    def test_a_line_over_the_bound_is_refused_unread(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        long, exact = run("long", note="x" * 5_000_000), run("exact")
        monkeypatch.setattr(reader, "MAX_LINE", len(json.dumps(exact)))
        path = write(long, exact, b"\n", long)
        most = reader.MAX_LINE
        expected = [f"{path}:{line}: a line of more than {most} bytes" for line in (1, 4)]
        assert all_of(path) == (["exact"], expected)
        sizes: list[int] = []
        list(read_trajectories(path, progress=sizes.append, bad=lambda error: None))
        assert sum(sizes) == path.stat().st_size

    def test_a_long_line_within_the_bound_is_read(self, write: Write) -> None:
        (read,) = read_trajectories(write(run(calls=[call(result="x" * 5_000_000)])))
        assert len(read.calls[0].result) == 5_000_000
        assert reader.MAX_LINE >= 200_000_000

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        missing = tmp_path / "none.jsonl"
        assert all_of(missing) == ([], [f"{missing}: cannot be read: No such file or directory"])
        with pytest.raises(TraceFileError, match="cannot be read: Is a directory"):
            list(read_trajectories(tmp_path))


class TestCalls:
    @pytest.mark.parametrize(
        "tool, server, name",
        [
            ("get_issue", None, "get_issue"),
            ("github/get_issue", "github", "get_issue"),
            ("./rock", None, "./rock"),
            ("a/b/c", None, "a/b/c"),
            ("/usr", None, "/usr"),
        ],
    )
    def test_a_tool_may_be_recorded_with_its_server(self, tool: str, server: str | None, name: str) -> None:
        recorded = RecordedCall(tool, {}, None, None, 0, None)
        assert (recorded.server, recorded.name) == (server, name)

    @pytest.mark.parametrize(
        "error, refused",
        [
            (None, False),
            ("refused: path is uncited", True),
            ("  Refused by the guard", True),
            ("get_issue was not run.\nget_issue.id: in no result ...", True),
            ("Error: get_issue was not run.", True),
            ("refusedness", False),
            ("connection refused", False),
            ("the hook was not run.", False),
            ("failed\nget_issue was not run.", False),
            ({"refused": True}, False),
            ("", False),
        ],
    )
    def test_a_refusal_is_known_by_its_text(self, error: Any, refused: bool) -> None:
        assert RecordedCall("github/get_issue", {}, None, error, 0, None).refused is refused

    def test_anything_but_null_is_a_failure(self) -> None:
        assert [RecordedCall("t", {}, 1, error, 0, None).failed for error in (None, "", False, 0, {})] == [
            False,
            True,
            True,
            True,
            True,
        ]


class TestSize:
    """What a line becomes is bounded, not only the line."""

    def test_too_many_values_are_refused_before_they_are_made(self, tmp_path: Path) -> None:
        """Empty arrays take thirty times their bytes."""
        file = tmp_path / "runs.jsonl"
        file.write_bytes(b'{"id":"a","calls":[],"more":[' + b"[]," * (9 * 1024 * 1024) + b"[]]}\n")
        with pytest.raises(TraceFileError, match=r"runs\.jsonl:1: not readable: too many values for one line$"):
            list(read_trajectories(file))

    def test_a_text_may_hold_any_number_of_signs(self, tmp_path: Path) -> None:
        """They are no values: a result that is a large program is one string."""
        text = '[]{},\\"' * (2 * 1024 * 1024)
        file = tmp_path / "runs.jsonl"
        file.write_text(json.dumps(run(calls=[call(result=text)])) + "\n", encoding="utf-8")
        (trajectory,) = read_trajectories(file)
        assert trajectory.calls[0].result == text

    def test_blank_lines_are_passed_over_in_great_numbers(self, tmp_path: Path) -> None:
        """What a small file of gzip can hold of them is not read line by line; line numbers stay right."""
        breaks = 32 * 1024 * 1024
        file = tmp_path / "runs.jsonl.gz"
        lines = [json.dumps(run(identity)).encode() for identity in "ab"]
        file.write_bytes(gzip.compress(lines[0] + b"\n" * breaks + b"  \r\n " + lines[1]))
        places = [trajectory.place.rpartition(":")[2] for trajectory in read_trajectories(file)]
        assert places == ["1", str(breaks + 2)]
