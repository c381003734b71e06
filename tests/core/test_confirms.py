"""Fields that the policy lists in `confirms` make an uncited value citable: the tool vouches that it looked it up."""

from __future__ import annotations

from tests.core.helpers import Agent, parameters, tagging

from citespan.core.policy import ToolRule
from citespan.guard.ports import Tool

CONFIRMED = tagging(look=ToolRule(confirms=("hits.*.id",)))


def test_a_confirmed_field_makes_the_guessed_value_citable() -> None:
    agent = Agent(CONFIRMED)
    agent.reads("look", {"id": "K-40211"}, {"hits": [{"id": "K-40211", "name": "kestrel"}]})
    assert agent.kind("K-40211") == "observed"


def test_a_field_beside_the_confirmed_one_does_not() -> None:
    agent = Agent(CONFIRMED)
    agent.reads("look", {"id": "K-40211"}, {"asked": "K-40211", "hits": [{"id": "K-40212", "near": "K-40211"}]})
    assert agent.kind("K-40211") == "assumed"


def test_a_star_stands_for_exactly_one_step() -> None:
    agent = Agent(tagging(look=ToolRule(confirms=("hits.*",))))
    agent.reads("look", {"id": "K-40211"}, {"hits": [{"id": "K-40211"}]})
    assert agent.kind("K-40211") == "assumed"


def test_a_confirmed_field_lifts_the_state_rule_too() -> None:
    agent = Agent(CONFIRMED)
    agent.writes("create", {"id": "K-40211"}, {"ok": True})
    agent.reads("look", {}, {"hits": [{"id": "K-40211"}]})
    assert agent.kind("K-40211") == "observed"


def test_another_tool_with_a_field_of_that_name_confirms_nothing() -> None:
    agent = Agent(CONFIRMED)
    agent.reads("peek", {"id": "K-40211"}, {"hits": [{"id": "K-40211"}]})
    assert agent.kind("K-40211") == "assumed"


def test_a_failed_call_confirms_nothing() -> None:
    agent = Agent(CONFIRMED)
    agent.fails("look", {"id": "K-40211"}, LookupError("K-40211"))
    assert agent.kind("K-40211") == "assumed"


def test_the_code_of_a_tool_may_declare_what_it_confirms_where_the_policy_is_silent() -> None:
    agent = Agent()
    tool = Tool("look", schema=parameters("id"), read_only=True, confirms=("id",))
    agent.call(tool, {"id": "K-40211"}, {"id": "K-40211"})
    assert agent.kind("K-40211") == "observed"


def test_the_policy_wins_over_what_the_code_declares() -> None:
    agent = Agent(CONFIRMED)
    tool = Tool("look", schema=parameters("id"), read_only=True, confirms=("id",))
    agent.call(tool, {"id": "K-40211"}, {"id": "K-40211"})
    assert agent.kind("K-40211") == "assumed"


def test_a_confirmed_value_must_still_look_like_its_field() -> None:
    agent = Agent(tagging(look=ToolRule(confirms=("notes.*",))))
    agent.reads("look", {"id": "K-40211"}, {"notes": ["K-40211", "calm", "windy", "wet"]})
    assert agent.why("K-40211") == "field"


def test_a_confirmed_common_value_is_still_weak() -> None:
    agent = Agent(CONFIRMED)
    agent.reads("look", {"id": 7}, {"hits": [{"id": 7}]})
    assert agent.provenance(7).weak
