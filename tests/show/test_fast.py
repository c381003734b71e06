"""The screen from the bytes of a file is the screen from its calls, whoever wrote the file and however."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.show.traces import RUNS, attributes, cited, document, line, span, tool_span, uncited, write

from citespan.calls.read import read_calls
from citespan.errors import TraceFileError
from citespan.show.brief import briefs
from citespan.show.fast import fast_screen
from citespan.show.gather import gather
from citespan.show.model import Screen, Wanted

WANTED = (
    Wanted(),
    Wanted(limit=2),
    Wanted(limit=100),
    Wanted(statuses=("flagged", "blocked")),
    Wanted(trace="0000"),
    Wanted(trace=RUNS[2], limit=1),
)


def ordinary(file: str, wanted: Wanted) -> Screen:
    return gather(read_calls(file), wanted)


def answer(file: str, wanted: Wanted = WANTED[0]) -> Screen:
    """As the command gets it."""
    return fast_screen([file], wanted) or ordinary(file, wanted)


# -- random files


def call(draw: Any, number: int) -> dict[str, Any]:
    run = draw(st.sampled_from(RUNS))
    tool = draw(st.sampled_from(["patch_file", "list_files", "über", "a/b c"]))
    at = draw(st.integers(0, 4))
    said: dict[str, Any] = {"gen_ai.agent.name": 'a\\b "blocked" é'}
    status = draw(st.sampled_from(["ok", "ok", "blocked", "error", "unguarded", "flagged", ""]))
    if status == "blocked":
        said |= uncited("path")
    elif draw(st.booleans()):
        said |= cited("path", "list_files", "files.*", draw(st.integers(1, 12)))
    if not status and draw(st.booleans()):
        said["provenance.within"] = True
    links = [
        {"traceId": run, "spanId": f"{each:016x}", "attributes": attributes({"provenance.link.arguments": ["path"]})}
        for each in draw(st.lists(st.integers(1, 12), max_size=2))
    ]
    return tool_span(number, tool, said, status=status, at=at, run=run, links=links)


def other(draw: Any, number: int) -> dict[str, Any]:
    """A span that is no tool call, or one of somebody else's."""
    said: dict[str, Any] = draw(
        st.sampled_from(
            [
                {},
                {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder"},
                {"gen_ai.operation.name": "chat"},
                {"http.request.method": "GET"},
                {"mcp.method.name": "tools/call", "gen_ai.tool.name": "list_files"},
                {"openinference.span.kind": "TOOL", "tool.name": "blocked"},
                {"traceloop.span.kind": "tool", "provenance.status": "blocked"},
                {"provenance.status": "blocked"},
                {"gen_ai.operation.name": "execute_tool", "provenance.status": "unheard of"},
            ]
        )
    )
    name = draw(st.sampled_from(["chat", "GET /{id}", "execute_tool patch_file", 'say "execute_tool"']))
    return span(number, draw(st.integers(0, 4)), draw(st.sampled_from(RUNS)), name=name, attributes=attributes(said))


def reshaped(draw: Any, made: dict[str, Any], order: str) -> dict[str, Any]:
    """The same span as another writer has it, who has one order of keys for a line."""
    shape = draw(st.sampled_from(["", "", "", "number", "no start", "upper", "bare"]))
    if shape == "number":
        made = made | {"startTimeUnixNano": int(made["startTimeUnixNano"])}
    elif shape == "no start":
        made = {key: each for key, each in made.items() if key not in {"startTimeUnixNano", "endTimeUnixNano"}}
    elif shape == "upper":
        made = made | {"traceId": made["traceId"].upper(), "spanId": made["spanId"].upper()}
    elif shape == "bare":
        made = {key: each for key, each in made.items() if key in {"traceId", "spanId", "attributes"}}
    if order == "sorted":
        return dict(sorted(made.items()))
    if order == "links first":
        return {key: made[key] for key in ("traceId", "spanId", "links") if key in made} | made
    return made


def hidden(text: str, seed: int) -> str:
    """The line with one letter of a name or a verdict written as an escape."""
    places = [at for word in ("status", "blocked", "execute_tool", "traceId") if (at := text.find(word)) >= 0]
    if not places:
        return text
    at = random.Random(seed).choice(places) + 1
    return f"{text[:at]}\\u{ord(text[at]):04x}{text[at + 1 :]}"


@st.composite
def files(draw: Any) -> list[str]:
    lines = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        spans = []
        order = draw(st.sampled_from(["", "", "", "sorted", "links first"]))
        for _ in range(draw(st.integers(0, 4))):
            number = draw(st.integers(1, 12))
            make = draw(st.sampled_from([call, call, call, other]))
            spans.append(reshaped(draw, make(draw, number), order))
        found = document(*spans)
        if draw(st.integers(0, 4)) == 0:
            found["resourceSpans"] += document(reshaped(draw, call(draw, 13), order))["resourceSpans"]
        compact = json.dumps(found, separators=(",", ":"), ensure_ascii=draw(st.booleans()))
        style = draw(st.sampled_from(["", "", "", "", "spaced", "hidden", "crlf", "blank", "two"]))
        if style == "spaced":
            lines.append(json.dumps(found) + "\n")
        elif style == "hidden":
            lines.append(hidden(compact, draw(st.integers(0, 9))) + "\n")
        elif style == "two":
            lines.append(compact + compact + "\n")
        else:
            lines.append(compact + {"crlf": "\r\n", "blank": "\n\n"}.get(style, "\n"))
    return lines


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=files(), ended=st.booleans())
@example(lines=[line(tool_span(1, "a", uncited("path"), status="blocked"))], ended=False)
def test_both_ways_agree(tmp_path: Path, lines: list[str], ended: bool) -> None:
    """On files of any writers: the calls, their order, the counts, the sources, and what other calls cited."""
    text = "".join(lines)
    file = write(tmp_path / "t.jsonl", text if ended else text.rstrip("\n"))
    for wanted in WANTED:
        found = fast_screen([file], wanted)
        assert found is None or found == ordinary(file, wanted)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(["ok", "blocked", "flagged", "error", "unguarded"]), max_size=5), min_size=1))
def test_what_citespan_writes_is_read_the_fast_way(tmp_path: Path, statuses: list[list[str]]) -> None:
    """No line of such a file is parsed to be chosen from, and the answer is the same."""
    number = 0
    lines = []
    for group in statuses:
        spans = []
        for status in group:
            number += 1
            said = uncited("path") if status == "blocked" else cited("path", "list_files", "files.*", number - 1)
            spans.append(tool_span(number, "patch_file", said, status=status, at=number, run=RUNS[number % 3]))
        lines.append(line(*spans))
    assert all(briefs(each.encode()) is not None for each in lines)
    file = write(tmp_path / "t.jsonl", *lines)
    for wanted in WANTED:
        assert fast_screen([file], wanted) == ordinary(file, wanted)


# -- single cases


def both(file: str, wanted: Wanted = WANTED[0]) -> Screen:
    found = fast_screen([file], wanted)
    assert found is not None
    assert found == ordinary(file, wanted)
    return found


def test_the_newest_by_start_wins_over_the_last_line(tmp_path: Path) -> None:
    """Files are in the order in which spans ended, or in none."""
    blocked = [tool_span(n, "a", uncited("path"), status="blocked", at=at) for n, at in enumerate((1, 3, 2), 1)]
    screen = both(write(tmp_path / "t.jsonl", *map(line, blocked)))
    assert screen.shown[0].call.span_id == f"{2:016x}"
    assert screen.matching == {"blocked": 3, "error": 0, "unguarded": 0, "flagged": 0}


def test_of_calls_that_started_together_the_last_line_wins(tmp_path: Path) -> None:
    """The same whether they are on one line or on several."""
    blocked = [tool_span(n, "a", uncited("path"), status="blocked") for n in (1, 2, 3, 4)]
    screen = both(write(tmp_path / "t.jsonl", line(*blocked[:2]), line(*blocked[2:])))
    assert screen.shown[0].call.span_id == f"{4:016x}"


def test_the_word_blocked_in_a_text_is_no_verdict(tmp_path: Path) -> None:
    """Neither as an attribute's value nor inside one."""
    said = {"note": "blocked", "text": '{"key":"provenance.status","value":{"stringValue":"blocked"}}'}
    assert both(write(tmp_path / "t.jsonl", line(tool_span(1, "a", said)))).shown == ()


def test_a_source_is_told_by_its_time_however_far_back(tmp_path: Path) -> None:
    """The second sweep goes from the end of the file to its beginning, over block after block."""
    first = tool_span(1, "list_files", at=0)
    filler = [line(tool_span(n, "noop", {"text": "x" * 1000}, at=n, run=RUNS[n % 2])) for n in range(2, 1500)]
    said = uncited("path") | cited("root", "list_files", "files.0", 1)
    last = tool_span(5000, "patch_file", said, status="blocked", at=2000)
    screen = both(write(tmp_path / "t.jsonl", line(first), *filler, line(last)))
    assert screen.shown[0].context.sources[f"{1:016x}"].tool == "list_files"


def test_several_files_are_one(tmp_path: Path) -> None:
    """The newest of all files is shown, and its run is looked for in all of them."""
    one = write(
        tmp_path / "1.jsonl", line(tool_span(1, "list_files"), tool_span(9, "a", uncited("p"), status="blocked"))
    )
    said = uncited("path") | cited("root", "list_files", "files.0", 1)
    two = write(tmp_path / "2.jsonl", line(tool_span(2, "patch_file", said, status="blocked", at=7)))
    wanted = Wanted()
    found = fast_screen([one, two], wanted)
    assert found == gather((each for file in (one, two) for each in read_calls(file)), wanted)
    assert found is not None
    assert found.shown[0].context.sources[f"{1:016x}"].tool == "list_files"
    assert found.shown[0].context.statuses == {"ok": 1, "blocked": 2}


@pytest.mark.parametrize(
    "wanted", [Wanted(run="coder"), Wanted(tool="a*"), Wanted(statuses=("ok",)), Wanted(statuses=("blocked", "none"))]
)
def test_what_needs_every_call_decoded_goes_the_ordinary_way(tmp_path: Path, wanted: Wanted) -> None:
    """Names are not looked for in bytes."""
    assert fast_screen([write(tmp_path / "t.jsonl", line(tool_span(1, "a")))], wanted) is None


@pytest.mark.parametrize("start", ["", "\n", " ", "\ufeff", '{"schema":"citespan.evidence/1"}\n', "\x1f\x8b"])
def test_what_does_not_begin_as_a_trace_file_goes_the_ordinary_way(tmp_path: Path, start: str) -> None:
    """Evidence, gzip, a byte-order mark, an empty file."""
    assert fast_screen([write(tmp_path / "t.jsonl", start)], Wanted()) is None
    assert fast_screen([str(tmp_path)], Wanted()) is None
    assert fast_screen([str(tmp_path / "not there")], Wanted()) is None


@pytest.mark.parametrize("cut", [10, 200, 500, -2, -3, -5, -30])
def test_a_last_line_that_is_cut_is_bad_input(tmp_path: Path, cut: int) -> None:
    """Wherever it is cut, whatever it held."""
    good, last = line(tool_span(1, "a")), line(tool_span(2, "patch_file", uncited("path"), status="blocked"))
    file = write(tmp_path / "t.jsonl", good, last[:cut])
    with pytest.raises(TraceFileError, match=r"t\.jsonl:2: "):
        gather(read_calls(file), Wanted())
    with pytest.raises(TraceFileError, match=r"t\.jsonl:2: "):
        answer(file)


def test_a_chosen_line_that_does_not_parse_is_left_to_the_reader_that_says_where(tmp_path: Path) -> None:
    """The bytes looked right; the value of a number did not."""
    text = line(tool_span(1, "a", uncited("path"), status="blocked")).replace('"intValue":"0"', '"intValue":"zero"')
    file = write(tmp_path / "t.jsonl", line(), text)
    assert fast_screen([file], Wanted()) is None
    with pytest.raises(TraceFileError, match=r"t\.jsonl:2: "):
        gather(read_calls(file), Wanted())


def test_progress_is_told_once_for_each_byte(tmp_path: Path) -> None:
    """Though the file may be looked through twice."""
    said = uncited("path") | cited("root", "list_files", "files.0", 1)
    file = write(tmp_path / "t.jsonl", *(line(tool_span(n, "a", said, status="blocked")) for n in range(1, 600)))
    told: list[int] = []
    assert fast_screen([file], Wanted(), told.append) is not None
    assert sum(told) == Path(file).stat().st_size
