"""Lines that somebody made to hide a blocked call from a reader of bytes, or to have another one shown instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.show.traces import RUNS, START, attributes, cited, line, span, tool_span, uncited, write

from citespan.calls import Argument, Call
from citespan.calls.read import read_calls
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.errors import TraceFileError
from citespan.files.documents import MAX_DOCUMENT
from citespan.show.fast import fast_screen
from citespan.show.gather import gather
from citespan.show.model import Screen, Wanted
from citespan.show.policy import accepted_by

BLOCKED = '{"key":"provenance.status","value":{"stringValue":"blocked"}}'
FINE = '{"key":"provenance.status","value":{"stringValue":"ok"}}'
CALLED = '{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}}'
TURNED = '{"value":{"stringValue":"execute_tool"},"key":"gen_ai.operation.name"}'
LINK = {"traceId": RUNS[0], "spanId": "2" * 16}


def blocked(**fields: Any) -> dict[str, Any]:
    return tool_span(1, "patch_file", uncited("path"), status="blocked", **fields)


def event(**said: str) -> list[dict[str, Any]]:
    named = {key.replace("_", ".", 1): each for key, each in said.items()}
    return [{"name": "e", "timeUnixNano": "5", "attributes": attributes(named)}]


def link(**said: Any) -> list[dict[str, Any]]:
    named = {key.replace("_", ".", 1): each for key, each in said.items()}
    return [LINK | {"attributes": attributes({"provenance.link.arguments": ["path"], **named})}]


def other_order(made: dict[str, Any]) -> dict[str, Any]:
    """A span whose bytes do not begin as a span does, and that has no start as text."""
    return {"spanId": made["spanId"]} | made | {"startTimeUnixNano": int(made["startTimeUnixNano"])}


OPERATION = {"gen_ai.operation.name": "chat"}
CHAT = span(3, attributes=attributes(OPERATION))
CHATTY_EVENT = [{"name": "e", "timeUnixNano": "5", "attributes": attributes(OPERATION)}]

#: each has one call that is blocked, and nothing else in trouble
HIDING: dict[str, str] = {
    "an event says ok": line(blocked(events=event(provenance_status="ok"))),
    "a link says ok": line(blocked(links=link(provenance_status="ok"))),
    "a value inside a value says ok": line(blocked()).replace(
        BLOCKED, f'{BLOCKED},{{"key":"x","value":{{"kvlistValue":{{"values":[{FINE}]}}}}}}'
    ),
    "the scope says ok, and stands behind": json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [blocked()], "scope": {"attributes": json.loads(f"[{FINE}]")}}]}]},
        separators=(",", ":"),
    ).replace("]}}]}]}", ']}}],"x":[{}]}]}\n'),
    "the resource says ok": line(blocked()).replace(
        '"resource":{"attributes":[', f'"resource":{{"attributes":[{FINE},'
    ),
    "a value that is there twice": line(blocked()).replace(
        BLOCKED, f'{FINE[:-1]},"value":{{"stringValue":"blocked"}}}}'
    ),
    "a text that is there twice": line(blocked()).replace(BLOCKED, f'{FINE[:-2]},"stringValue":"blocked"}}}}'),
    "a key that is there twice": line(blocked()).replace(BLOCKED, f'{FINE[:-1]},"key":"x"}},{BLOCKED}'),
    "attributes that are there twice": line(blocked()).replace(
        '"attributes":[{"key":"provenance.kind', f'"attributes":[{FINE}],"attributes":[{{"key":"provenance.kind'
    ),
    "an event says that it was a chat": line(blocked(events=CHATTY_EVENT)).replace(CALLED, TURNED),
    "an MCP call, and an event says that it was a chat": line(blocked(events=CHATTY_EVENT)).replace(
        CALLED, '{"key":"mcp.method.name","value":{"stringValue":"tools/call"}}'
    ),
    "before the first span that looks like one": line(other_order(blocked()), tool_span(2, "list_files")),
    "behind a call": line(tool_span(2, "list_files"), other_order(blocked())),
    "behind a chat": line(CHAT, other_order(blocked())),
    "between calls": line(tool_span(2, "list_files"), other_order(blocked()), tool_span(3, "list_files")),
    "behind a link": line(tool_span(2, "list_files", links=link()), CHAT, other_order(blocked())),
    "behind the link of one of two": line(
        tool_span(4, "list_files"), tool_span(2, "list_files", links=link()), other_order(blocked())
    ).replace(f"{CALLED},", f"{TURNED},"),
    "spaced": line(CHAT) + json.dumps(json.loads(line(blocked()))) + "\n",
    "behind another document": line(CHAT).rstrip("\n") + line(blocked()),
    "its own id twice": line(blocked(), tool_span(1, "patch_file", uncited("path"))),
    "an export of Jaeger's behind a document": line(CHAT).rstrip("\n")
    + json.dumps(
        {
            "x": [],
            "data": [
                {
                    "traceID": "1",
                    "spans": [
                        {
                            "traceID": RUNS[0],
                            "spanID": "1",
                            "operationName": "execute_tool patch_file",
                            "tags": [{"key": "provenance.status", "type": "string", "value": "blocked"}],
                        }
                    ],
                }
            ],
        },
        separators=(",", ":"),
    )
    + "\n",
}


ANY = Wanted()


def both(file: str, wanted: Wanted = ANY) -> Screen:
    """The screen of the ordinary way; that from bytes is the same, or there is none."""
    found, ordinary = fast_screen([file], wanted), gather(read_calls(file), wanted)
    assert found is None or found == ordinary
    return ordinary


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING.keys())
def test_no_line_hides_a_blocked_call(text: str, tmp_path: Path) -> None:
    """Nor counts it twice, nor another one in its place."""
    for lines in ([text], [line(tool_span(8, "list_files")), text, line(tool_span(9, "list_files"))]):
        screen = both(write(tmp_path / "t.jsonl", *lines))
        assert [shown.call.status for shown in screen.shown] == ["blocked"]
        assert screen.matching["blocked"] == 1


def test_a_second_start_or_id_is_the_one_that_counts(tmp_path: Path) -> None:
    """In JSON the last of two keys does: for what is newest, and for whose run it is."""
    later = line(blocked()).replace('"endTime', f'"startTimeUnixNano":"{START + 99}","endTime')
    moved = later.replace('"endTime', f'"traceId":"{RUNS[1]}","endTime')
    other = line(tool_span(7, "other", uncited("x"), status="blocked", at=1e-8))
    for text, run in ((later, RUNS[0]), (moved, RUNS[1])):
        file = write(tmp_path / "t.jsonl", text, other)
        assert both(file).shown[0].call.tool == "patch_file"
        assert both(file, Wanted(trace=run)).shown[0].call.trace_id == run


@pytest.mark.parametrize(
    "text",
    [
        line(blocked()).replace('"endTime', '"attributes":[],"endTime').replace("}]}]}]}", '}],"attributes":[]}]}]}'),
        line(span(3, attributes=attributes(OPERATION | {"a": "b"}), events=event(provenance_status="blocked"))),
        line(
            span(3, events=[{"attributes": json.loads(f"[{BLOCKED},{CALLED}]")}]),
            tool_span(4, "list_files", at=1),
        ),
        line(blocked()).replace('"spans":[', '"spans":[],"more":['),
    ],
    ids=["attributes taken back", "an event of a chat", "an event of any span", "under a key of no meaning"],
)
def test_no_call_is_shown_that_is_none(text: str, tmp_path: Path) -> None:
    """What the bytes seem to say is parsed before it is shown."""
    assert both(write(tmp_path / "t.jsonl", text)).shown == ()


@pytest.mark.parametrize("start", ["9" * 5000, "9" * 20, "-1", "1e9", ""])
def test_a_start_that_is_no_time(start: str, tmp_path: Path) -> None:
    """As the parser reads it, or refuses it; no number is too long to say so."""
    file = write(tmp_path / "t.jsonl", line(blocked(startTimeUnixNano=start)), line(blocked(at=1)))
    try:
        expected = gather(read_calls(file), Wanted())
    except TraceFileError:
        with pytest.raises(TraceFileError, match=r"t\.jsonl:1: .*startTimeUnixNano: no integer"):
            fast_screen([file], Wanted())
    else:
        assert fast_screen([file], Wanted()) == expected


@pytest.mark.parametrize(
    "bad",
    [
        line(tool_span(9, "list_files")).encode().replace(b'"0000000000000009"', b'"\xff\xff00000000000009"'),
        line(tool_span(9, "list_files")).encode().replace(b"provenance.status", b"provenance.sta\0us"),
        line(tool_span(9, "list_files")).encode()[:50] + line(tool_span(8, "list_files")).encode(),
        line(tool_span(9, "list_files")).encode()[:500] + line(tool_span(8, "list_files")).encode(),
        line(tool_span(9, "list_files"), CHAT).encode()[:-90] + line(tool_span(8, "list_files")).encode(),
    ],
    ids=["an id that is no text", "NUL", "cut before its span", "cut inside its span", "the last of several cut"],
)
def test_a_broken_line_is_not_passed_over(bad: bytes, tmp_path: Path) -> None:
    """As one is that was cut when its writer was killed, and the next one began behind it."""
    said = uncited("path") | cited("root", "list_files", "files.0", 9)
    file = tmp_path / "t.jsonl"
    file.write_bytes(line(CHAT).encode() + bad + line(tool_span(1, "patch_file", said, status="blocked")).encode())
    with pytest.raises(TraceFileError, match=r"t\.jsonl:2: no JSON"):
        fast_screen([file], Wanted())


def test_a_line_over_the_limit_is_refused_by_its_number(tmp_path: Path) -> None:
    """Though its first 20 MiB end as a whole line does."""
    whole = line(blocked()).rstrip("\n")
    text = whole.replace(
        '"resourceSpans":[{', f'"resourceSpans":[{{"x":"{"x" * (MAX_DOCUMENT + 1 - len(whole) - 7)}",', 1
    )
    assert len(text) == MAX_DOCUMENT + 1
    file = write(tmp_path / "t.jsonl", text + line(blocked()))
    assert fast_screen([file], Wanted()) is None
    with pytest.raises(TraceFileError, match=r"t\.jsonl:1: a document or line of more than"):
        gather(read_calls(file), Wanted())


# -- advice

RULES = {
    "to": ArgumentRule(sources=("search.hits.*",)),
    "to.*": ArgumentRule(sources=("contacts.mails.*",)),
    "to.*.note": ArgumentRule(),
    "name": ArgumentRule(propose_against="list_files.files.*"),
}


@pytest.mark.parametrize(
    "argument, counted, fields",
    [
        ("to", ("to.0", "to.1"), ("contacts.mails.*",)),
        ("to", ("to",), ("search.hits.*",)),
        ("to", ("to.0.note",), ()),
        ("to", ("to.0", "to.x"), ("contacts.mails.*", "search.hits.*")),
        ("name", ("name",), ("list_files.files.*",)),
        ("other", ("other",), ()),
    ],
)
def test_a_policy_is_read_as_the_guard_reads_it(
    argument: str, counted: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    """The rule of a leaf, where it has one, and that of its argument only where it has none."""
    accepts = accepted_by(Policy(tools={"send": ToolRule(arguments=RULES)}))
    assert tuple(accepts(Call("send"), Argument(argument, "assumed", counted=counted))) == fields
