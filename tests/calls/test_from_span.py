"""A span as the call that it tells of: what citespan wrote comes back, what others wrote does no harm."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citespan
from citespan import semconv
from citespan.calls import Argument, Call, Cited, Leaf, Link, call_of, is_run
from citespan.traces.model import EventRecord, LinkRecord, SpanRecord
from citespan.traces.reader import read_spans

TOOL = {semconv.OPERATION: "execute_tool", semconv.TOOL_NAME: "patch_file"}


def record(attributes: dict[str, Any], **fields: Any) -> SpanRecord:
    blank = SpanRecord(
        "a" * 32, "b" * 16, "", "a name", 1, 3, 7, {}, (), (), "UNSET", "", {}, "s", "1", (0, 0, 0), "f:1"
    )
    return blank._replace(attributes=attributes, **fields)


def read(attributes: dict[str, Any], **fields: Any) -> Call:
    call = call_of(record({**TOOL, **attributes}, **fields))
    assert call is not None
    return call


def written(
    file: Path, tools: dict[str, Any], *calls: tuple[str, dict[str, Any]], inputs: dict[str, Any]
) -> list[Call]:
    """The calls of a run as the library writes them; refusals are let go."""
    traced = citespan.TracedTools(tools, inputs=inputs)
    for tool, arguments in calls:
        with contextlib.suppress(PermissionError):
            traced.call(tool, **arguments)
    traced.dump(str(file))
    return [call for span in read_spans(file) if (call := call_of(span)) is not None]


# -- what citespan writes


def test_a_run_of_the_library_comes_back(tmp_path: Path) -> None:
    """Kinds, sources, the span that is cited, what was missing, and the verdict."""
    listing = {"files": ["app.py"]}
    tools = {"list_files": lambda root: listing, "patch_file": lambda path, comment: None}
    first, ran, refused = written(
        tmp_path / "t.jsonl",
        tools,
        ("list_files", {"root": "."}),
        ("patch_file", {"path": "app.py", "comment": "typo"}),
        ("patch_file", {"path": "prod.env", "comment": "typo"}),
        inputs={"root": "."},
    )
    (root,) = first.arguments
    assert (first.status, root.name, root.kind, root.cited) == ("ok", "root", "user", Cited("", "inputs.root"))
    path, comment = ran.arguments
    assert (path.kind, path.cited) == ("observed", Cited("list_files", "files.0", first.span_id))
    assert path.digest
    assert ran.links == (Link(first.trace_id, first.span_id, "list_files", ("path",)),)
    assert (comment.kind, comment.counted) == ("assumed", ())
    assert (refused.status, refused.violations) == ("blocked", ("assumed_fields=[path]",))
    assert refused.arguments[0].counted == ("path",)
    assert refused.arguments[0].nearest == ("list_files.files.*",)
    assert refused.mutating is True
    assert refused.error == semconv.ERROR_DENIED


def test_the_leaves_of_an_argument_come_back(tmp_path: Path) -> None:
    """Each with its path, and whether it took from the budget."""
    (call,) = written(
        tmp_path / "t.jsonl",
        {"send": lambda to: None},
        ("send", {"to": ["boss@x.org", "evil@x.org"]}),
        inputs={"boss": "boss@x.org"},
    )
    (to,) = call.arguments
    assert [(leaf.path, leaf.kind, leaf.counted) for leaf in to.leaves] == [
        ("to.0", "user", False),
        ("to.1", "assumed", True),
    ]
    assert to.counted == ("to.1",)


def test_a_dot_in_the_name_of_an_argument_is_one_name() -> None:
    r"""It is written `a\.b` in keys and paths, so that no key is a namespace of another."""
    leaves = [{"path": r"a\.b.0", "kind": "assumed"}, {"path": r"a\.b.1", "kind": "user", "source": "inputs"}]
    call = read(
        {
            semconv.KIND + r"a\.b": "assumed",
            semconv.SOURCE_FIELD + r"a\.b": "inputs.x",
            semconv.NEAREST + r"a\.b": ["list.f"],
            semconv.LEAVES: json.dumps(leaves),
            semconv.ASSUMED_FIELDS: [r"a\.b.0"],
        }
    )
    assert call.arguments == (
        Argument(
            r"a\.b",
            "assumed",
            Cited("", "inputs.x"),
            leaves=(Leaf(r"a\.b.0", "assumed", counted=True), Leaf(r"a\.b.1", "user", Cited("", "inputs"))),
            counted=(r"a\.b.0",),
            nearest=("list.f",),
        ),
    )


def test_what_no_schema_declares_is_one_argument() -> None:
    """The leaves that counted, and belong to no argument that the span names."""
    call = read({semconv.KIND + "path": "user", semconv.ASSUMED_FIELDS: ["x", "y.0"]})
    assert [(each.name, each.kind, each.counted) for each in call.arguments] == [
        ("path", "user", ()),
        ("*", "assumed", ("x", "y.0")),
    ]


@pytest.mark.parametrize(
    "attributes, status",
    [
        ({semconv.STATUS: "flagged"}, "flagged"),
        ({semconv.STATUS: "unheard of"}, "none"),
        ({semconv.STATUS: ["ok"]}, "none"),
        ({semconv.WITHIN: True}, "within"),
        ({semconv.WITHIN: "true"}, "none"),
        ({semconv.STATUS: "ok", semconv.WITHIN: True}, "ok"),
        ({semconv.STATUS: ["ok"], semconv.WITHIN: True}, "none"),
        ({}, "none"),
    ],
)
def test_the_verdict(attributes: dict[str, Any], status: str) -> None:
    """Only one of the five words is one; a span inside a judged call says so; else nobody judged it."""
    assert read(attributes).status == status


@pytest.mark.parametrize(
    "told, mutating",
    [([], None), ([True], True), ([False], False), ([False, True], True), ([[True]], None), (["x", 1, None], None)],
)
def test_whether_the_tool_only_reads_is_what_the_events_say(told: list[Any], mutating: bool | None) -> None:
    """And nothing, where they say something else."""
    events = tuple(EventRecord(semconv.EVENT_UNCITED, 1, {semconv.TOOL_MUTATING: each}) for each in told)
    assert read({}, events=events).mutating is mutating


# -- what others write


@pytest.mark.parametrize(
    "attributes, name, tool",
    [
        ({semconv.MCP_METHOD: "tools/call"}, "MCP send tools/call git_add", "git_add"),
        ({semconv.OPENINFERENCE_KIND: "TOOL", semconv.OPENINFERENCE_TOOL_NAME: "git_add"}, "x", "git_add"),
        ({semconv.TRACELOOP_KIND: "tool"}, "git_add.tool", "git_add"),
        ({}, "execute_tool git_add", "git_add"),
        ({}, "chat", None),
        ({semconv.OPERATION: "invoke_agent"}, "execute_tool git_add", None),
    ],
)
def test_whoever_opened_it(attributes: dict[str, Any], name: str, tool: str | None) -> None:
    """The conventions of several instrumentations."""
    call = call_of(record(attributes, name=name))
    assert (None if call is None else call.tool) == tool


def test_a_run_is_told_from_a_call() -> None:
    """Its end is what closed means."""
    assert is_run(record({semconv.OPERATION: "invoke_agent"}))
    assert not is_run(record(TOOL))


def test_a_link_that_is_no_citation_is_left_out() -> None:
    """Others link spans too."""
    links = (LinkRecord("c" * 32, "d" * 16, {}), LinkRecord("c" * 32, "e" * 16, {semconv.LINK_ARGUMENTS: [1, "path"]}))
    assert read({}, links=links).links == (Link("c" * 32, "e" * 16, "", ("path",)),)


KEYS = [
    *(attribute.key.replace("<argument>", "path") for attribute in semconv.ATTRIBUTES),
    semconv.KIND,
    semconv.KIND + "\\",
    semconv.OPENINFERENCE_KIND,
]
LEAVES = st.lists(
    st.dictionaries(
        st.sampled_from(["path", "kind", "source", "projection"]), st.sampled_from([[], {}, 1, "user", "."])
    )
).map(json.dumps)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3) | LEAVES
    | st.sampled_from(["observed", "assumed", "ok", "blocked", "execute_tool", "[" * 2000, '[{"kind":[]}]', "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_any_types_anywhere_read_as_absent(attributes: dict[str, Any]) -> None:
    """Never an error, and every field of the call has the type that it promises."""
    call = read({key: each for key, each in attributes.items() if key not in TOOL})
    assert call.tool == "patch_file"
    texts = [call.mode, call.policy, call.step, call.run, call.agent, call.error, call.unrecorded, call.digest_key]
    assert all(type(text) is str for text in texts)
    lists = [call.violations, call.assumed_fields, call.uncited_tokens, call.truncated]
    assert all(type(text) is str for found in lists for text in found)
    assert type(call.budget) is type(call.evicted) is int
    for argument in call.arguments:
        assert argument.kind in {member.value for member in semconv.KIND_MEMBERS}
        assert all(type(leaf.path) is str for leaf in argument.leaves)
    call_of(record(attributes))


@pytest.mark.parametrize(
    "said, name",
    [
        ({semconv.OPERATION: "Execute_Tool", semconv.TOOL_NAME: "cut"}, "cut"),
        ({semconv.OPERATION: " execute_tool "}, "a name"),
        ({semconv.OPERATION: "chat", semconv.STATUS: "blocked", semconv.TOOL_NAME: "cut"}, "cut"),
        ({semconv.OPERATION: "chat", semconv.STATUS: 7}, "a name"),
        ({semconv.STATUS: "blocked"}, "a name"),
        ({semconv.OPERATION: ["execute_tool"], semconv.OPENINFERENCE_KIND: "TOOL"}, "a name"),
        ({semconv.OPERATION: "chat", semconv.TOOL_NAME: "cut"}, None),
        ({semconv.OPERATION: ["chat"], semconv.TOOL_NAME: "cut"}, None),
    ],
    ids=str,
)
def test_a_tool_call_by_whatever_shows_it(said: dict[str, Any], name: str | None) -> None:
    """An operation in another case, of another type, or rewritten: what has a verdict was judged as a call."""
    call = call_of(record(said))
    assert (call.tool if call is not None else None) == name
