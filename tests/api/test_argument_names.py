"""Names that a model wrote: nothing is lost, nothing crashes, and none of them becomes an attribute key or a word."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from tests.api.recorded import calls, dumped
from tests.guard.harness import SECRET

import citespan
from citespan.core.policy import Policy

TAG = Policy(mode="tag")
NAMES = {
    "a plain undeclared name": SECRET,
    "an empty name": "",
    "a blank": " ",
    "a line break": "pa\nth",
    "a carriage return and a tab": "\r\t",
    "a NUL": "pa\0th",
    "a very long name": "x" * 100_000,
    "a lone surrogate": "pa\ud800th",
    "an emoji": "\N{PILE OF POO}",
    "a dot": "path.deep",
    "a backslash": "path\\.deep",
    "a star": "*",
    "the tool's name key": "gen_ai.tool.name",
    "the status key": "provenance.status",
    "a dunder": "__class__",
    "a keyword": "class",
    "right to left": "\u202egnp.exe",
    "percent": "%s%n{0}",
}
EVERY_NAME = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())


class Save:
    def __init__(self, policy: Policy | None = None, **options: Any) -> None:
        self.ran: list[dict[str, Any]] = []

        def save(path: str = "", **fields: Any) -> str:
            self.ran.append(fields)
            return "done"

        self.tools = citespan.TracedTools({"save": save, "names": lambda value: value}, policy=policy, **options)


@EVERY_NAME
def test_a_name_that_nobody_declared_is_judged_itself_and_refused(name: str) -> None:
    save = Save(inputs={"value": "a known value"})
    with pytest.raises(PermissionError) as refused:
        save.tools.call("save", **{name: "a known value"})
    assert save.ran == []
    assert str(refused.value).encode()
    (told,) = calls(save.tools, "save")
    assert told["provenance.status"] == "blocked"
    assert told["provenance.assumed_fields"] == ["*"]


@EVERY_NAME
def test_in_tag_mode_the_body_gets_it_whole(name: str) -> None:
    save = Save(TAG)
    assert save.tools.call("save", **{name: {name: [name]}}) == "done"
    assert save.ran == [{name: {name: [name]}}]
    (told,) = calls(save.tools, "save")
    assert told["provenance.status"] == "flagged"
    assert told["gen_ai.tool.name"] == "save"


@EVERY_NAME
def test_it_is_never_a_key_nor_a_word_of_what_is_told(name: str) -> None:
    ordinary, save = Save(TAG), Save(TAG)
    ordinary.tools.call("save", **{"other": "guess"})
    save.tools.call("save", **{name: "guess"})
    (expected,), (told,) = calls(ordinary.tools, "save"), calls(save.tools, "save")
    # a name that is no text has no path of its own: it and its value are one leaf
    assert told | {"provenance.count.assumed": 2} == expected


@EVERY_NAME
def test_a_name_that_was_observed_is_cited_like_any_value(name: str) -> None:
    save = Save(inputs={"names": [name, "a known value"]} if _is_text(name) else None)
    if not _is_text(name):
        with pytest.raises(PermissionError):
            save.tools.call("save", **{name: "x"})
        return
    save.tools.call("save", **{name: "a known value"})
    assert save.ran == [{name: "a known value"}]


def _is_text(name: str) -> bool:
    return "\ud800" not in name


def test_a_hundred_undeclared_names_are_all_judged_and_all_passed_on() -> None:
    many = {f"field-{number}": number for number in range(100)}
    save = Save(TAG)
    save.tools.call("save", **many)
    assert save.ran == [many]
    (told,) = calls(save.tools, "save")
    assert told["provenance.count.assumed"] == 200


def test_one_known_name_among_many_does_not_vouch_for_the_others() -> None:
    save = Save(inputs={"names": ["one", "two"], "value": "known"})
    save.tools.call("save", one="known", two="known")
    with pytest.raises(PermissionError):
        save.tools.call("save", one="known", two="known", three="known")
    assert save.ran == [{"one": "known", "two": "known"}]


def test_seventy_declared_arguments_keep_the_tools_name_on_the_span() -> None:
    names = [f"field_{number}" for number in range(70)]
    scope: dict[str, Any] = {}
    exec(f"def wide({', '.join(names)}):\n    return 'done'", scope)
    tools = citespan.TracedTools({"wide": scope["wide"]}, policy=TAG)
    assert tools.call("wide", **dict.fromkeys(names, "guess")) == "done"
    (told,) = calls(tools, "wide")
    assert told["gen_ai.tool.name"] == "wide"
    assert told["provenance.status"] == "flagged"
    assert told["provenance.truncated"]
    assert len(told) <= 128


@pytest.mark.parametrize("tool", ["", "list\nfiles", "x" * 5000, "\ud800", "a.b", "*", "größe", "{0}%s"])
def test_a_tools_own_name_may_be_strange(tool: str) -> None:
    ran: list[str] = []
    if not tool:
        with pytest.raises(citespan.CitespanError):
            citespan.TracedTools({tool: ran.append})
        return

    def body(path: str) -> None:
        ran.append(path)

    tools = citespan.TracedTools({tool: body}, inputs={"path": "known"})
    tools.call(tool, path="known")
    with pytest.raises(PermissionError) as refused:
        tools.call(tool, path=SECRET)
    assert ran == ["known"]
    assert len(str(refused.value)) < 20_000
    assert len([span for span in dumped(tools) if span.name.startswith("execute_tool ")]) == 2


@pytest.mark.parametrize("body", [dict, max, print], ids=lambda body: body.__name__)
def test_the_names_given_to_a_tool_without_a_signature_leave_no_trace(body: Any) -> None:
    """Nobody declared them, so a model wrote them."""
    tools = citespan.TracedTools({"make": body}, policy=TAG)
    with contextlib.suppress(TypeError):
        tools.call("make", **{SECRET: ["x"]})
    with pytest.raises(PermissionError) as refused:
        citespan.TracedTools({"make": body}).call("make", **{SECRET: ["x"]})
    assert SECRET not in str(refused.value)
    assert SECRET not in json.dumps(calls(tools, "make"), default=str)
