"""Evidence lines to calls: what the schema has is read, what is of another type is not there."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citespan.calls import Argument, Call, Cited, Leaf
from citespan.calls.from_evidence import Malformed, call_of_line

BASE = {"schema": "citespan.evidence/1", "tool": "assign"}
KEYS = ("time_unix_nano", "trace_id", "span_id", "server", "run", "status", "mode", "policy", "violations", "leaves")


def read(**keys: Any) -> Call:
    return call_of_line(orjson.dumps({**BASE, **keys}) + b"\n", "e.jsonl:1")


def argument(*leaves: dict[str, Any]) -> Argument:
    (found,) = read(leaves=list(leaves)).arguments
    return found


def test_a_whole_line() -> None:
    """Every key of the schema has its place in the call."""
    found = read(
        time_unix_nano=7,
        trace_id="A" * 32,
        span_id="B" * 16,
        server="hub",
        run="r1",
        status="blocked",
        mode="enforce",
        policy="d1",
        violations=["assumed_fields=[who]"],
        leaves=[{"path": "who", "kind": "assumed", "why": "nowhere", "counted": True}],
        leaves_cut=3,
    )
    assert found == Call(
        tool="assign",
        server="hub",
        status="blocked",
        mode="enforce",
        policy="d1",
        violations=("assumed_fields=[who]",),
        assumed_fields=("who",),
        arguments=(Argument("who", "assumed", counted=("who",)),),
        trace_id="a" * 32,
        span_id="b" * 16,
        start=7,
        run="r1",
        truncated=("leaves=3",),
        place="e.jsonl:1",
    )


def test_leaves_are_grouped_by_argument() -> None:
    """Its kind is its worst leaf's, its source that of the first that is cited."""
    found = argument(
        {"path": "files.0", "kind": "schema"},
        {
            "path": "files.1",
            "kind": "observed",
            "source": "list.files.1",
            "projection": "basename",
            "source_span": "AB",
        },
        {"path": "files.2", "kind": "assumed", "counted": True},
    )
    assert (found.name, found.kind, found.counted) == ("files", "assumed", ("files.2",))
    assert (found.cited, found.projection) == (Cited("list", "files.1", "ab"), "basename")
    assert found.leaves[0] == Leaf("files.0", "schema")
    assert len(found.leaves) == 3


def test_a_single_leaf_is_its_argument() -> None:
    """As on a span, which lists leaves only where there are several."""
    assert argument({"path": "files.0", "kind": "user", "weak": True}) == Argument("files", "user", weak=True)


def test_weak_is_what_the_first_citation_is() -> None:
    """Or what stands before it: the words of a span."""
    strong, weak = {"path": "a.0", "kind": "user"}, {"path": "a.1", "kind": "observed", "source": "t.x", "weak": True}
    assert not argument(strong, weak).weak
    assert argument(weak, strong).weak
    assert argument({"path": "a.0", "kind": "schema", "weak": True}, strong).weak


def test_what_could_have_vouched_is_read() -> None:
    """Of all leaves of the argument, each name once."""
    found = argument(
        {"path": "a.0", "kind": "assumed", "accepts": ["list.files.*"], "nearest": ["list.files.*", "look.names"]},
        {"path": "a.1", "kind": "assumed", "accepts": ["list.files.*"], "nearest": 7},
    )
    assert (found.accepts, found.nearest) == (("list.files.*",), ("list.files.*", "look.names"))


def test_a_dot_inside_a_name_is_no_step() -> None:
    """The argument is called as on its span."""
    assert argument({"path": r"a\.b.0", "kind": "user"}).name == r"a\.b"


@pytest.mark.parametrize(
    "line, said",
    [
        (b"", "no JSON"),
        (b"[]", "its `schema` must be"),
        (b"{}", "its `schema` must be"),
        (b'{"schema":"citespan.evidence/2","tool":"t"}', "its `schema` must be"),
        (b'{"schema":"citespan.evidence/1"}', "`tool` is missing"),
        (b'{"schema":"citespan.evidence/1","tool":7}', "`tool` is missing"),
    ],
)
def test_what_is_no_line_of_the_schema_is_refused(line: bytes, said: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(Malformed, match=said):
        call_of_line(line, "e.jsonl:1")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*KEYS, "path", "kind"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_wrong_types_read_as_absent(keys: dict[str, Any]) -> None:
    """Whatever a line holds beside its schema and tool, it is a call with fields of their own types."""
    found = read(**keys)
    assert found.tool == "assign"
    assert isinstance(found.start, int)
    assert all(isinstance(text, str) for text in (found.run, found.server, found.mode, found.policy, *found.violations))
    assert found.status in {"none", "ok", "flagged", "blocked", "unguarded", "error"}
