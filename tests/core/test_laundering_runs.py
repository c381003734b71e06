"""Laundering by circumstance: failures, steps, streams, nested agents, hints, schemas and floods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.core.helpers import Agent, attached, parameters, tagging

from citespan.core.policy import Bounds, Policy, ToolRule
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.reported import observe
from citespan.guard.run import Run
from citespan.guard.wrap import guarded

PEEK = Tool("peek", schema=parameters("x", "comment"), read_only=True)
KEEP = Tool("keep", schema=parameters("x", "comment"))
SHOW = Tool("show", schema=parameters(), read_only=True)


# failures


def test_a_tool_that_stores_and_then_fails_has_stored() -> None:
    agent = Agent()
    agent.start(KEEP, {"x": "gate-5"}).fail(RuntimeError("disk full"))
    agent.call(SHOW, {}, {"y": ["gate-5", "quay-7"]})
    assert agent.kind("gate-5") == "assumed"


def test_a_tool_that_stores_and_then_reports_its_frameworks_error_has_stored() -> None:
    agent = Agent()
    agent.start(KEEP, {"x": "gate-5"}).failed("isError")
    agent.call(SHOW, {}, {"y": ["gate-5", "quay-7"]})
    assert agent.kind("gate-5") == "assumed"


def test_honest_a_failing_read_leaves_no_trace() -> None:
    agent = Agent()
    agent.start(PEEK, {"x": "gate-5"}).fail(RuntimeError("no such gate"))
    agent.call(SHOW, {}, {"y": ["gate-5", "quay-7"]})
    assert agent.kind("gate-5") == "observed"


# steps


def test_a_guess_cannot_be_cited_by_its_sibling_in_the_same_step() -> None:
    agent = Agent()
    with agent.step():
        agent.call(SHOW, {}, {"y": "gate-5"})
        assert agent.call(KEEP, {"x": "gate-5"}, {"ok": True}).status == "flagged"
    agent.call(SHOW, {}, {"y": ["gate-5", "quay-7"]})
    assert [source.call for source in agent.sources("gate-5")] == [0]


def test_honest_the_next_step_cites_what_both_siblings_returned() -> None:
    agent = Agent()
    with agent.step():
        agent.call(SHOW, {}, {"y": "gate-5"})
        agent.call(SHOW, {}, {"y": "quay-7"})
    assert {agent.kind(value) for value in ("gate-5", "quay-7")} == {"observed"}


# two hops


def test_wrapping_in_one_tool_and_unwrapping_in_another_launders_nothing() -> None:
    agent = Agent()
    agent.reads("wrap", {"x": "gate-5"}, {"y": "[the gate is gate-5, open]"})
    agent.reads("unwrap", {"x": "[the gate is gate-5, open]"}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "assumed"


def test_honest_wrapping_and_unwrapping_a_listed_value_keeps_it() -> None:
    agent = Agent()
    agent.call(SHOW, {}, {"y": "gate-5"})
    agent.reads("wrap", {"x": "gate-5"}, {"y": "[the gate is gate-5, open]"})
    agent.reads("unwrap", {"x": "[the gate is gate-5, open]"}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "observed"


# streams


def streamed(agent: Agent, items: list[Any], *, take: int | None = None, error: Exception | None = None) -> None:
    """Consume a guarded generator: all of it, a part of it, or up to its error."""

    def body() -> Iterator[Any]:
        yield from items
        if error is not None:
            raise error

    with attached(agent.context):
        stream = guarded(body, Tool("stream", schema=parameters(), read_only=True))()
        try:
            for _ in range(len(items) + 1 if take is None else take):
                next(stream)
        except (StopIteration, ValueError):
            pass
        stream.close()


def test_a_stream_that_was_left_early_teaches_nothing() -> None:
    agent = Agent()
    streamed(agent, ["gate-5", "quay-7"], take=1)
    assert agent.kind("gate-5") == "assumed"


def test_a_stream_that_breaks_teaches_nothing() -> None:
    agent = Agent()
    streamed(agent, ["gate-5", "quay-7"], error=ValueError("broken"))
    assert agent.kind("gate-5") == "assumed"


def test_honest_a_stream_that_ended_teaches_all_of_its_items() -> None:
    agent = Agent()
    streamed(agent, [{"y": "gate-5"}, {"y": "quay-7"}])
    assert agent.cites("quay-7") == ("1.y", "exact")


def test_an_item_that_its_consumer_changes_is_kept_as_it_was_yielded() -> None:
    agent = Agent()
    item = {"y": "quay-7"}

    def body() -> Iterator[Any]:
        yield item

    with attached(agent.context):
        for got in guarded(body, Tool("stream", schema=parameters(), read_only=True))():
            got["y"] = "gate-5"
    assert [agent.kind(value) for value in ("quay-7", "gate-5")] == ["observed", "assumed"]


# nested agents and other runs


def test_a_nested_agent_cannot_vouch_for_what_it_was_told() -> None:
    agent = Agent()

    def body() -> dict[str, str]:
        with Run("helper", inputs={"task": "go to gate-5"}) as nested:
            nested.user("go to gate-5")
            begin(PEEK, {"x": "gate-5"}).finish({"y": "gate-5"})
            return {"went_to": "gate-5"}

    agent.call(Tool("delegate", schema=parameters("task")), {"task": "go to gate-5"}, body=body)
    assert agent.kind("gate-5") == "assumed"


def test_honest_a_nested_agents_own_look_up_is_a_source_for_the_outer_one() -> None:
    agent = Agent()

    def body() -> dict[str, str]:
        with Run("helper", inputs={"task": "find a gate"}):
            begin(SHOW, {}).finish({"y": "gate-5"})
            return {"went_to": "gate-5"}

    agent.call(Tool("delegate", schema=parameters("task")), {"task": "find a gate"}, body=body)
    assert [source.tool for source in agent.sources("gate-5")] == ["show"]


def test_what_another_run_observed_is_no_source_here() -> None:
    one, other = Agent(), Agent()
    one.call(SHOW, {}, {"y": "gate-5"})
    with attached(one.context), attached(other.context):
        assert other.kind("gate-5") == "assumed"
    assert one.kind("gate-5") == "observed"


# hints, schemas, servers


def test_a_hint_that_nobody_trusts_does_not_make_a_tool_read_only() -> None:
    agent = Agent(Policy(mode="tag", servers={"other": True}))
    agent.call(KEEP._replace(server="docks", hint=True), {"x": "gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.why("gate-5") == "state"


def test_a_hint_that_flips_to_read_only_does_not_hide_what_is_stored() -> None:
    agent = Agent(Policy(mode="tag", servers={"docks": True}))
    tool = KEEP._replace(server="docks", hint=False)
    agent.call(tool, {"x": "quay-7"}, {"ok": True})
    agent.call(tool._replace(hint=True), {"x": "gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.why("gate-5") == "state"


def test_honest_a_trusted_hint_from_the_start_makes_a_tool_read_only() -> None:
    agent = Agent(Policy(mode="tag", servers={"docks": True}))
    agent.call(KEEP._replace(server="docks", hint=True), {"x": "gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "observed"


def test_a_schema_that_learns_the_guess_later_does_not_supply_it() -> None:
    agent = Agent()
    tool = Tool("go", schema=parameters(x={"enum": ["quay-7"]}))
    agent.call(tool, {"x": "quay-7"}, {"ok": True})
    for later in ({"enum": ["gate-5"]}, {"const": "gate-5"}, {"default": "gate-5"}):
        changed = tool._replace(schema=parameters(x=later))
        assert agent.judge({"x": "gate-5"}, changed).tags[0].provenance.kind == "assumed"


def test_a_policys_word_on_a_tool_wins_over_the_tools_own() -> None:
    agent = Agent(tagging(keep=ToolRule(read_only=False)))
    agent.call(KEEP._replace(read_only=True), {"x": "gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.why("gate-5") == "state"


# floods


def test_a_flood_that_pushes_results_out_leaves_the_marks() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(bytes=2000, leaves=200)))
    agent.call(KEEP, {"x": "gate-5"}, {"ok": True})
    for number in range(60):
        agent.call(SHOW, {}, {"fill": [f"{number}-{item}" for item in range(20)]})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.run.state.ledger.evicted
    assert agent.kind("gate-5") == "assumed"


def test_a_flood_of_uncited_values_wears_the_state_rule_out_for_nobody() -> None:
    agent = Agent()
    agent.call(SHOW, {}, {"y": "quay-7"})
    for number in range(3):
        agent.call(KEEP, {"x": [f"{number}-{item}" for item in range(9000)]}, {"ok": True})
    agent.call(KEEP, {"x": "gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"y": "gate-5", "z": "pier-3"})
    assert [agent.kind(value) for value in ("gate-5", "pier-3", "quay-7")] == ["assumed", "assumed", "observed"]


def test_a_flood_of_echoes_neither_hides_nor_becomes_a_source() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(sources=4)))
    for _ in range(50):
        agent.reads("probe", {"x": "gate-5"}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "assumed"


def test_honest_a_source_that_came_before_a_flood_of_echoes_stays() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(sources=4)))
    agent.call(SHOW, {}, {"y": "gate-5"})
    for _ in range(50):
        agent.call(PEEK._replace(read_only=False), {"comment": "elsewhere", "x": "gate-6"}, {"y": "gate-5"})
    assert agent.sources("gate-5")[0].call == 0


# results that somebody else's instrumentation reports


def test_a_reported_result_that_gives_back_its_arguments_is_no_source() -> None:
    agent = Agent()
    observe(PEEK, {"x": "gate-5"}, {"y": "gate-5"}, context=agent.context, span=None)
    assert agent.why("gate-5") == "echo"


def test_a_reported_write_marks_what_it_was_given() -> None:
    agent = Agent()
    observe(KEEP, {"x": "gate-5"}, {"ok": True}, context=agent.context, span=None)
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.why("gate-5") == "state"


def test_honest_a_reported_result_is_a_source_like_any_other() -> None:
    agent = Agent()
    observe(SHOW, {}, {"y": "gate-5"}, context=agent.context, span=None)
    assert agent.cites("gate-5") == ("y", "exact")
