"""Recorded runs to calls: what the span of the call would have said."""

from __future__ import annotations

from tests.replay.recordings import REFUSED, call, judged, run

from citespan.calls import Argument, Call, Cited
from citespan.calls.from_replay import call_of_judged
from citespan.policy_file import loads

LISTED = call("look", result={"files": ["src/a1.md", "b2.md"], "ids": {"u-4711": 1}})


def last(*calls: object, said: tuple[str, ...] = (), policy: str = "version = 1\n", **keys: object) -> Call:
    return call_of_judged(judged(run(*calls, said=said, **keys), loads(policy))[-1])  # type: ignore[arg-type]


def only(found: Call) -> Argument:
    (argument,) = found.arguments
    return argument


def test_the_call_is_known_by_its_run_and_position() -> None:
    """A recording has no ids and no times."""
    found = last(LISTED, call("hub/cut", path="b2.md"), id="r7")
    assert (found.tool, found.server, found.run, found.start, found.place) == ("cut", "hub", "r7", 1, "runs.jsonl:1")
    assert (found.trace_id, found.span_id, found.end, found.digest_key) == ("", "", 0, "")


def test_an_observed_argument_says_tool_and_field() -> None:
    """Keys that are data as `*`, as wherever a field leaves the process."""
    assert only(last(LISTED, call("cut", path="b2.md"))) == Argument("path", "observed", Cited("look", "files.1"))
    assert only(last(LISTED, call("cut", name="u-4711"))) == Argument(
        "name", "observed", Cited("look", "ids.*"), projection="key"
    )


def test_a_users_word_is_in_a_message() -> None:
    """As a span says it."""
    assert only(last(call("cut", path="a1.md"), said=("cut a1.md",))) == Argument(
        "path", "user", Cited("", "message.*")
    )


def test_an_argument_of_several_leaves_has_them() -> None:
    """Its kind is its worst leaf's, its source that of the first that is cited."""
    found = last(LISTED, call("cut", paths=["c3.md", "b2.md"]))
    argument = only(found)
    assert (argument.kind, argument.cited, argument.counted) == ("assumed", Cited("look", "files.1"), ("paths.0",))
    assert [(leaf.path, leaf.kind, leaf.counted) for leaf in argument.leaves] == [
        ("paths.0", "assumed", True),
        ("paths.1", "observed", False),
    ]
    assert (found.status, found.assumed_fields, found.violations) == (
        "blocked",
        ("paths.0",),
        ("assumed_fields=[paths.0]",),
    )


def test_a_projection_is_named() -> None:
    """`exact` otherwise."""
    assert only(last(LISTED, call("cut", path="a1.md"))).projection == "basename"


def test_what_no_schema_declares_is_a_star() -> None:
    """A name that a model made up leaves no trace."""
    trajectory = run(LISTED, call("cut", path="b2.md"))
    bare = trajectory._replace(tools={"cut": trajectory.tools["look"]})
    assert [argument.name for argument in call_of_judged(judged(bare)[-1]).arguments] == ["*"]


def test_errors_are_those_of_spans() -> None:
    """A refusal here, a failure there; a refusal of the recorded guard is no failure of the tool's."""
    assert last(call("cut", path="x.md")).error == "provenance_budget_exceeded"
    assert last(call("look", error="no such folder")).error == "tool_error"
    assert last(call("look")).error == ""
    tagged = last(call("cut", path="x.md"), policy='version = 1\n[defaults]\nmode = "tag"\n')
    assert (tagged.status, tagged.error, tagged.mutating) == ("flagged", "", True)
    assert last(call("look", error=REFUSED)).error == ""
