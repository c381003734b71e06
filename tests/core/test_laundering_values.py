"""Laundering by what a value is: without a JSON form, too deep, too large, forged, or changed after it was judged."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.core.helpers import Agent, parameters

from citespan.core.decision import ProvenanceDenied
from citespan.core.leaves import MAX_LEAVES
from citespan.core.policy import Policy
from citespan.guard.ports import Tool

PEEK = Tool("peek", schema=parameters("x", "comment"), read_only=True)
KEEP = Tool("keep", schema=parameters("x", "comment"))
SHOW = Tool("show", schema=parameters(), read_only=True)


def deep(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


class Forged(str):
    """A text that equals whatever was observed, and hides among it."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return hash("quay-7")


@dataclasses.dataclass
class Order:
    gate: str


# what cannot be judged leaf by leaf


@pytest.mark.parametrize(
    "value",
    [
        deep("gate-5", 70),
        deep("gate-5", 300),
        ("gate-5",),
        {"gate-5"},
        b"gate-5",
        Forged("gate-5"),
        Order("gate-5"),
        {5: "gate-5"},
        {"\ud800": "gate-5"},
        deep(["fill"] * 1500 + ["gate-5"], 70),
        [float("nan"), "gate-5"],
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("argument", ["x", "comment"])
@pytest.mark.parametrize("tool", [PEEK, KEEP], ids=["echo", "state"])
def test_a_value_hidden_in_what_has_no_json_form_is_no_source_when_it_comes_back(
    value: Any, argument: str, tool: Tool
) -> None:
    agent = Agent()
    agent.call(tool, {argument: value}, {"y": "gate-5"} if tool is PEEK else {"ok": "stored"})
    if tool is KEEP:
        agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "assumed"


def test_honest_what_was_listed_before_such_a_call_stays_citable() -> None:
    agent = Agent()
    agent.call(SHOW, {}, {"y": "gate-5"})
    agent.call(KEEP, {"x": deep("gate-5", 70)}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "observed"


def test_more_leaves_than_can_be_judged_hide_nothing() -> None:
    agent = Agent()
    agent.call(KEEP, {"x": ["fill"] * MAX_LEAVES + ["gate-5"]}, {"y": "gate-5"})
    agent.call(SHOW, {}, {"y": "gate-5"})
    assert agent.kind("gate-5") == "assumed"
    with pytest.raises(ProvenanceDenied):
        Agent(Policy(max_assumed=10**6)).start(KEEP, {"comment": ["fill"] * MAX_LEAVES + ["gate-5"]})


def test_a_forged_text_cites_nothing_and_equals_nothing() -> None:
    agent = Agent()
    agent.call(SHOW, {}, {"y": "quay-7"})
    assert agent.why(Forged("gate-5")) == "opaque"


def test_honest_a_plain_text_in_the_place_of_a_forged_one_is_cited() -> None:
    agent = Agent()
    agent.call(SHOW, {}, {"y": "quay-7"})
    assert agent.kind("quay-7") == "observed"


def test_an_argument_name_that_a_model_wrote_is_no_source_when_it_comes_back() -> None:
    for schema in (parameters("x"), None):
        agent = Agent()
        agent.call(Tool("tally", schema=schema, read_only=True), {"gate-5": 1}, {"names": ["gate-5"]})
        assert agent.kind("gate-5") == "assumed"


def test_honest_an_argument_name_that_the_schema_declares_may_come_back() -> None:
    agent = Agent()
    agent.call(Tool("tally", schema=parameters("gate-5"), read_only=True), {"gate-5": 1}, {"names": ["gate-5"]})
    assert agent.kind("gate-5") == "observed"


# time of check, time of use


def test_a_body_gets_what_was_judged_however_the_arguments_change_afterwards() -> None:
    agent = Agent()
    agent.call(SHOW, {}, ["quay-7"])
    arguments: dict[str, Any] = {"x": [{"at": ["quay-7"]}]}
    ticket = agent.start(PEEK, arguments)
    arguments["x"][0]["at"][0] = "gate-5"
    arguments["comment"] = "gate-5"
    assert ticket.arguments == {"x": [{"at": ["quay-7"]}]}


def test_arguments_that_change_after_judging_do_not_change_what_counts_as_an_echo() -> None:
    agent = Agent()
    arguments: dict[str, Any] = {"x": ["gate-5"]}
    ticket = agent.start(PEEK, arguments)
    arguments["x"].clear()
    ticket.arguments["x"].clear()
    ticket.finish({"y": "gate-5"})
    assert agent.kind("gate-5") == "assumed"


def test_a_result_that_changes_after_the_call_teaches_nothing_new() -> None:
    agent = Agent()
    result: dict[str, Any] = {"y": ["quay-7"]}
    agent.call(SHOW, {}, result)
    result["y"].append("gate-5")
    result["y"][0] = "gate-5"
    assert agent.kind("gate-5") == "assumed"
    assert agent.kind("quay-7") == "observed"


# what the body returns about itself


def test_a_comment_that_is_stored_and_read_back_is_no_source() -> None:
    agent = Agent(Policy())
    agent.call(Tool("log", schema=parameters("comment")), {"comment": "send it through gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"gates": ["gate-5", "gate-6"]})
    assert [agent.kind(value) for value in ("gate-5", "gate-6")] == ["assumed", "observed"]


def test_a_whole_comment_that_is_read_back_is_no_source_either() -> None:
    agent = Agent(Policy())
    agent.call(Tool("log", schema=parameters("comment")), {"comment": "send it through gate-5"}, {"ok": True})
    agent.call(SHOW, {}, {"log": "send it through gate-5"})
    assert agent.kind("send it through gate-5") == "assumed"


def test_honest_a_gate_that_no_comment_names_is_citable_after_any_number_of_comments() -> None:
    agent = Agent(Policy())
    for number in range(30):
        agent.call(Tool("log", schema=parameters("comment")), {"comment": f"remark {number}"}, {"ok": True})
    agent.call(SHOW, {}, {"gates": ["gate-5"]})
    assert agent.kind("gate-5") == "observed"
