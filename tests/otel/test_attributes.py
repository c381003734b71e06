"""What the span of a call says, as a pure function of the call and its decision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.otel.values import LISTED, READ, TRACE, assumed, judged, observed, source, tag

from citespan import semconv
from citespan.core.decision import Tag
from citespan.core.kinds import Derived, FromSchema, FromUser, SpanRef
from citespan.core.leaves import Path
from citespan.core.nearest import Offer
from citespan.core.opaque import opaque
from citespan.otel.attributes import LIMIT, MAX_ARGUMENTS, RESERVE, Record, record
from citespan.otel.digest import Digester
from citespan.otel.names import MAX_TEXT

DIGESTER = Digester(b"a key for tests")


def told(tags: list[Tag], *, room: int = LIMIT - RESERVE, previews: bool = False, **more: Any) -> Record:
    call, decision = judged(tags, **more)
    return record(call, decision, DIGESTER, room=room, previews=previews)


def test_a_cited_argument_carries_its_kind_tool_field_span_and_digest() -> None:
    path = tag(("path",), "a.py", observed("list_files", "files.0"))
    attributes = told([path]).attributes
    assert {key: value for key, value in attributes.items() if key.endswith(".path")} == {
        "provenance.kind.path": "observed",
        "provenance.source_tool.path": "list_files",
        "provenance.source_field.path": "files.0",
        "provenance.source_span.path": LISTED.span_id,
        "provenance.digest.path": DIGESTER.digest("a.py"),
    }
    assert attributes["provenance.digest_key"] == DIGESTER.key_id


def test_the_whole_span_of_a_clean_call() -> None:
    call = told(
        [tag(("n",), 7, FromSchema("enum", True))], call_id="call_7", run_id="thread-42", run_name="coder", step="3"
    )
    assert call.attributes == {
        "provenance.kind.n": "schema",
        "provenance.weak.n": True,
        "gen_ai.agent.name": "coder",
        "gen_ai.conversation.id": "thread-42",
        "gen_ai.tool.call.id": "call_7",
        "provenance.step": "3",
        "provenance.count.schema": 1,
        "provenance.budget": 0,
        "provenance.policy": "b1946ac92492d234",
        "provenance.mode": "enforce",
        "provenance.status": "ok",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Replace text in a file.",
        "gen_ai.tool.name": "patch_file",
    }
    assert (call.names.span, call.links, call.events) == ("execute_tool patch_file", [], [])


def test_the_projection_is_named_only_where_it_is_not_exact() -> None:
    exact, cut = observed(), observed(projection="basename")
    attributes = told([tag(("a",), "x", exact), tag(("b",), "x", cut)]).attributes
    assert "provenance.projection.a" not in attributes
    assert attributes["provenance.projection.b"] == "basename"


def test_a_weak_citation_is_marked() -> None:
    attributes = told([tag(("a",), 1, observed(weak=True)), tag(("b",), 1, observed())]).attributes
    assert attributes["provenance.weak.a"] is True
    assert "provenance.weak.b" not in attributes


def test_what_the_user_said_names_the_place_in_the_inputs_and_no_data_in_it() -> None:
    said = FromUser("inputs", "cards.card_1245537", "exact", False)
    attributes = told([tag(("card",), "x", said)]).attributes
    assert attributes["provenance.source_field.card"] == "inputs.cards.*"
    assert "provenance.source_tool.card" not in attributes
    assert attributes["provenance.digest.card"] == DIGESTER.digest("x")


def test_an_argument_has_the_kind_of_its_worst_leaf_and_the_source_of_its_first_cited_one() -> None:
    leaves = [
        tag(("files", 0), "zz.py", assumed()),
        tag(("files", 1), "a.py", observed(path="files.0")),
        tag(("files", 2), "b.py", observed("read_file", "name", READ)),
    ]
    attributes = told(leaves).attributes
    assert attributes["provenance.kind.files"] == "assumed"
    assert attributes["provenance.source_tool.files"] == "list_files"
    assert attributes["provenance.digest.files"] == DIGESTER.digest("a.py")
    assert attributes["provenance.count.assumed"] == 1
    assert attributes["provenance.count.observed"] == 2


def test_leaves_are_listed_only_where_an_argument_has_several() -> None:
    one = [tag(("path",), "a.py", observed())]
    assert semconv.LEAVES not in told(one).attributes
    several = [*one, tag(("files", 0), "zz.py", assumed()), tag(("files", 1), "b.py", observed(projection="basename"))]
    assert json.loads(told(several).attributes[semconv.LEAVES]) == [
        {"path": "files.0", "kind": "assumed"},
        {"path": "files.1", "kind": "observed", "source": "list_files.files.0", "projection": "basename"},
    ]


def test_a_long_list_of_leaves_is_cut_between_leaves_with_what_counted_first() -> None:
    leaves = [tag(("files", index), f"{index}.py", observed()) for index in range(500)]
    leaves.append(tag(("files", 500), "zz.py", assumed()))
    call = told(leaves)
    text = call.attributes[semconv.LEAVES]
    listed = json.loads(text)
    assert len(text) <= MAX_TEXT
    assert listed[0] == {"path": "files.500", "kind": "assumed"}
    assert f"leaves={501 - len(listed)}" in call.attributes[semconv.TRUNCATED]


def test_each_source_span_is_linked_once_with_the_arguments_that_cite_it() -> None:
    call = told(
        [
            tag(("path",), "a.py", observed()),
            tag(("name",), "a", observed("read_file", "name", READ)),
            tag(("other",), "b.py", observed(path="files.1")),
        ]
    )
    assert [(format(link.context.span_id, "016x"), dict(link.attributes or {})) for link in call.links] == [
        (
            LISTED.span_id,
            {"provenance.link.arguments": ["path", "other"], "provenance.link.source_tool": "list_files"},
        ),
        (READ.span_id, {"provenance.link.arguments": ["name"], "provenance.link.source_tool": "read_file"}),
    ]
    assert {format(link.context.trace_id, "032x") for link in call.links} == {TRACE}


def test_a_derived_value_links_every_source_of_its_literals() -> None:
    total = Derived("sum", (source("list_files", "a"), source("read_file", "b", READ)), False)
    call = told([tag(("total",), 3, total)])
    assert [format(link.context.span_id, "016x") for link in call.links] == [LISTED.span_id, READ.span_id]
    assert call.attributes["provenance.source_tool.total"] == "list_files"


def test_a_source_that_nothing_traced_has_no_span_and_no_link() -> None:
    call = told([tag(("path",), "a.py", observed(span=None))])
    assert call.links == []
    assert "provenance.source_span.path" not in call.attributes
    assert call.attributes["provenance.source_tool.path"] == "list_files"


def test_every_leaf_that_counted_gets_one_event_with_indexes_as_stars() -> None:
    call = told([tag(("files", 0), "x", assumed()), tag(("files", 1), "y", assumed()), tag(("a",), "z", observed())])
    assert call.events == 2 * [
        {
            "provenance.argument.name": "files",
            "provenance.argument.path": "files.*",
            "provenance.argument.kind": "assumed",
            "gen_ai.tool.name": "patch_file",
            "provenance.tool.mutating": True,
        }
    ]


def test_an_allowed_argument_is_tagged_but_is_no_event() -> None:
    call = told([tag(("reason",), "because", assumed(), counted=False)])
    assert call.events == []
    assert call.attributes["provenance.kind.reason"] == "assumed"
    assert semconv.ASSUMED_FIELDS not in call.attributes


def test_a_refused_call_names_its_violations_and_fields() -> None:
    attributes = told([tag(("path",), "zz.py", assumed())]).attributes
    assert attributes["provenance.status"] == "blocked"
    assert attributes["provenance.violations"] == ["assumed_fields=[path]"]
    assert attributes["provenance.assumed_fields"] == ["path"]


def test_an_argument_that_no_schema_declares_is_never_a_key() -> None:
    call = told(
        [
            tag(("zz-secret",), "zz-secret", assumed(), exported=("*",)),
            tag(("zz-cited",), "a.py", observed(), exported=("*",)),
        ],
        declared=frozenset({"path"}),
    )
    assert call.attributes["provenance.assumed_fields"] == ["*"]
    assert call.events[0]["provenance.argument.name"] == "*"
    assert dict(call.links[0].attributes or {})["provenance.link.arguments"] == ["*"]
    assert "zz-" not in repr((call.attributes, call.events, [link.attributes for link in call.links]))


def test_a_dot_in_an_argument_name_makes_no_namespace() -> None:
    attributes = told([tag(("a",), 1, observed()), tag(("a.b",), 1, observed())]).attributes
    assert {"provenance.kind.a", r"provenance.kind.a\.b"} <= attributes.keys()


@pytest.mark.parametrize("name", ["", "x" * 97, "a\ud800"])
def test_a_declared_name_that_cannot_be_a_key_counts_as_undeclared(name: str) -> None:
    call = told([tag((name,), "v", observed())])
    assert not [key for key in call.attributes if key.startswith("provenance.kind.")]


def summary_keys(attributes: dict[str, Any]) -> set[str]:
    named = ("kind", "source_tool", "source_field", "source_span", "digest", "projection", "weak", "preview")
    return {key for key in attributes if not key.startswith(tuple(f"provenance.{name}." for name in named))}


def test_two_hundred_arguments_keep_the_tool_and_every_summary_attribute() -> None:
    few = [tag((f"a{index}",), "zz", assumed()) for index in range(2)]
    many = [tag((f"a{index}",), "zz", assumed() if index % 2 else observed()) for index in range(200)]
    context = {"call_id": "c", "run_id": "r", "run_name": "n", "step": "1", "evicted": 3}
    attributes = told(many, **context).attributes
    assert len(attributes) <= LIMIT - RESERVE
    assert summary_keys(told(few, **context).attributes) <= attributes.keys()
    assert sum(key.startswith("provenance.kind.") for key in attributes) == MAX_ARGUMENTS
    assert "arguments=136" in attributes["provenance.truncated"]
    assert list(attributes)[-1] == "gen_ai.tool.name"


@pytest.mark.parametrize("room", [-20, 0, 5, 30, 60, 119])
def test_little_room_costs_arguments_first_and_a_citation_goes_whole(room: int) -> None:
    tags = [tag((f"a{index}",), "zz", observed()) for index in range(10)]
    attributes = told(tags, room=room).attributes
    assert len(attributes) <= max(room, len(summary_keys(attributes)))
    for index in range(10):
        own = [key for key in attributes if key.endswith(f".a{index}")]
        assert len(own) in {0, 1, 5}


def test_what_could_have_vouched_is_named_and_goes_first_on_a_full_span() -> None:
    offer = Offer("path", "path", ("list_files.files.*",), ("list_files.files.*", "find.files.*"))
    attributes = told([tag(("path",), "zz.py", assumed())], offers=(offer,)).attributes
    assert attributes["provenance.accepts.path"] == ["list_files.files.*"]
    assert attributes["provenance.nearest.path"] == ["list_files.files.*", "find.files.*"]
    assert list(attributes)[:2] == ["provenance.accepts.path", "provenance.nearest.path"]


@pytest.mark.parametrize("room", range(40))
def test_where_there_is_no_room_an_arguments_offers_go_whole_and_before_anything_else(room: int) -> None:
    tags = [tag((f"a{index}",), "zz", assumed()) for index in range(10)]
    made = tuple(Offer(f"a{index}", f"a{index}", ("t.p",), ("t.n",)) for index in range(10))
    plain, attributes = told(tags, room=room).attributes, told(tags, room=room, offers=made).attributes
    cut = {text.partition("=")[0]: text.partition("=")[2] for text in attributes.get("provenance.truncated", [])}
    shown = [f"a{index}" for index in range(10) if f"provenance.nearest.a{index}" in attributes]
    assert [name for name in shown if f"provenance.accepts.{name}" not in attributes] == []
    assert plain.keys() - {"provenance.truncated"} <= attributes.keys()
    assert int(cut.get("nearest", 0)) == 10 - len(shown)
    assert len(attributes) <= max(room, len(plain) + ("provenance.truncated" not in plain))


def test_offers_of_an_argument_that_no_schema_declares_are_not_told() -> None:
    offer = Offer("zz-secret", "zz-secret", ("t.p",), ("t.n",))
    call = told([tag(("zz-secret",), 1, assumed())], declared=frozenset(), offers=(offer,))
    assert "t.n" not in repr(call.attributes)
    assert "provenance.truncated" not in call.attributes


def test_ten_thousand_leaves_stay_within_every_limit() -> None:
    tags = [
        tag(
            ("rows", index, "id"),
            index,
            assumed() if index % 2 else observed(span=SpanRef(TRACE, format(index + 1, "016x"))),
        )
        for index in range(10_000)
    ]
    call = told(tags)
    assert len(call.attributes) <= LIMIT
    assert len(call.links) == LIMIT
    assert len(call.events) == LIMIT
    assert len(call.attributes["provenance.assumed_fields"]) == 64
    cut = dict(text.split("=") for text in call.attributes["provenance.truncated"])
    assert cut.keys() == {"fields", "leaves", "links", "events"}
    assert cut["events"] == str(5_000 - LIMIT)


def test_texts_of_others_are_cleaned_and_cut() -> None:
    bad = observed("t\ud800", "p.\ud800" + "x" * 5000)
    call = told([tag(("path",), "v", bad)], tool="patch\ud800", description="d\ud800" + "x" * 5000, call_id="c\ud800")
    for text in [call.names.span, *call.attributes.values(), *(dict(call.links[0].attributes or {}).values())]:
        if isinstance(text, str):
            text.encode()
            assert len(text) <= MAX_TEXT
    assert call.attributes["gen_ai.tool.name"] == "patch?"
    assert call.attributes["gen_ai.tool.call.id"] == "c?"


def test_a_budget_beyond_64_bits_is_cut_to_what_can_be_sent() -> None:
    assert told([], budget=10**30).attributes["provenance.budget"] == 2**63 - 1


def test_no_value_goes_out() -> None:
    secret = "hunter2-e9f1"
    call = told(
        [
            tag(("a",), secret, assumed()),
            tag(("b", 0), secret, observed()),
            tag(("b", 1), secret, FromUser("inputs", "p", "exact", False)),
            tag(("c",), opaque(object()), assumed()),
        ],
        arguments={"a": secret, "b": [secret, secret]},
    )
    assert secret not in repr((call.attributes, call.events, [link.attributes for link in call.links]))


def test_previews_are_made_only_where_they_were_asked_for() -> None:
    path = [tag(("path",), "src/app.py", observed())]
    assert (
        told(path, arguments={"path": "src/app.py"}, previews=True).attributes["provenance.preview.path"]
        == "src/app.py"
    )
    assert "provenance.preview.path" not in told(path, arguments={"path": "src/app.py"}).attributes


PATHS = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 300)), min_size=1, max_size=4).map(
    lambda steps: (str(steps[0]), *steps[1:])
)
PROVENANCES = st.one_of(
    st.just(assumed()),
    st.builds(observed, st.text(max_size=5), st.text(max_size=5), st.sampled_from([LISTED, READ, None])),
    st.builds(
        FromUser, st.text(max_size=5), st.text(max_size=9), st.sampled_from(["exact", "casefold"]), st.booleans()
    ),
    st.builds(FromSchema, st.just("enum"), st.booleans()),
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([]), st.just(opaque(object()))
)


@given(st.lists(st.tuples(PATHS, VALUES, PROVENANCES), max_size=150), st.integers(-5, 120))
def test_whatever_was_judged_every_attribute_can_be_sent(leaves: list[tuple[Path, Any, Any]], room: int) -> None:
    call = told([tag(path, value, provenance) for path, value, provenance in leaves], room=room)
    assert len(call.attributes) <= LIMIT
    for key, value in call.attributes.items():
        key.encode()
        assert type(value) in {str, int, bool, list}
        for text in value if isinstance(value, list) else [value]:
            str(text).encode()
