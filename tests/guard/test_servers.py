"""A tool of a server is not the local tool of its name: neither for "the same call" nor for what was approved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.guard.harness import Watch

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.guard.context import current_call
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.wrap import guarded

GUESS = "dock-9.cfg"


@pytest.fixture(autouse=True)
def _watched(watch: Watch) -> None:
    """Spans that nobody sees."""


class Relay:
    """A guarded local function that hands its arguments on to the tool of that name on a server, as an adapter does."""

    def __init__(self, server: str | None) -> None:
        self.ran: list[str] = []

        def sink(path: str) -> str:
            arguments = {"path": path}
            call = current_call()
            if call is None or not call.covers("sink", arguments, server):
                begin(Tool("sink", server), arguments).finish(None)
            self.ran.append(path)
            return "done"

        self.call = guarded(sink, Tool("sink"))


def relayed(policy: Policy, server: str | None) -> tuple[list[str], bool]:
    """What ran behind the relay, and whether a refusal came out."""
    relay, denied = Relay(server), False
    with citespan.run(policy=policy):
        try:
            relay.call(path=GUESS)
        except ProvenanceDenied:
            denied = True
    return relay.ran, denied


LAX = ToolRule(mode="tag")
STRICT = ToolRule(mode="enforce")
ONLY_LISTED = ToolRule(mode="tag", arguments={"path": ArgumentRule(sources=("list.files.*",))})


# the same call, seen further in


@pytest.mark.parametrize(
    "tools",
    [
        {"sink": LAX, "harbour/sink": STRICT},
        {"sink": LAX, "harbour/*": STRICT},
        {"sink": LAX, "harbour/sink": ToolRule(mode="enforce", on_violation="abort")},
    ],
    ids=["by name", "by glob", "with abort"],
)
def test_a_servers_tool_with_stricter_rules_is_judged_by_them(tools: dict[str, ToolRule]) -> None:
    assert relayed(Policy(tools=tools), "harbour") == ([], True)


def test_a_servers_tool_whose_sources_the_policy_names_is_another_call() -> None:
    policy = Policy(tools={"sink": LAX, "harbour/sink": ONLY_LISTED})
    with citespan.run(policy=policy):
        ticket = begin(Tool("sink"), arguments := {"path": GUESS})
        assert not ticket.covers("sink", arguments, "harbour")


def test_a_servers_tool_with_looser_rules_is_another_call_too() -> None:
    """The outer call has been let through already; what is said of the inner one is the inner one's own."""
    with citespan.run(inputs={"path": GUESS}, policy=Policy(tools={"harbour/sink": LAX})):
        ticket = begin(Tool("sink"), arguments := {"path": GUESS})
        assert not ticket.covers("sink", arguments, "harbour")


@pytest.mark.parametrize("server", ["harbour", None])
def test_with_the_same_rules_it_is_the_same_call(server: str | None) -> None:
    for policy in (Policy(mode="tag"), Policy(mode="tag", servers={"harbour": True})):
        with citespan.run(policy=policy):
            ticket = begin(Tool("sink"), arguments := {"path": GUESS})
            assert ticket.covers("sink", arguments, server)
            assert not ticket.covers("sink", arguments, server)


def test_a_relay_to_a_server_with_the_same_rules_is_judged_once(watch: Watch) -> None:
    assert relayed(Policy(tools={"sink": LAX}), "harbour") == ([GUESS], False)
    assert len(watch.decisions) == 1


def test_a_question_about_another_server_does_not_use_the_cover_up() -> None:
    policy = Policy(mode="tag", tools={"harbour/sink": STRICT})
    with citespan.run(policy=policy):
        ticket = begin(Tool("sink"), arguments := {"path": GUESS})
        assert not ticket.covers("sink", arguments, "harbour")
        assert ticket.covers("sink", arguments)


def test_two_servers_with_different_rules_are_two_calls() -> None:
    policy = Policy(mode="tag", tools={"harbour/sink": STRICT})
    with citespan.run(policy=policy):
        ticket = begin(Tool("sink", "canal"), arguments := {"path": GUESS})
        assert not ticket.covers("sink", arguments, "harbour")
        assert ticket.covers("sink", arguments, "canal")


# what was approved

NEW = ArgumentRule(accept=frozenset({"invented"}), propose_against="list.files.*")


def invents(*names: str) -> Policy:
    return Policy(tools={name: ToolRule(arguments={"path": NEW}) for name in names})


@contextmanager
def approved(tool: str, *others: str) -> Iterator[Callable[[str | None], bool]]:
    """A run in which one new path was approved for `tool`; asks whether a server's `make` may use it."""
    with citespan.run(policy=invents(tool, *others)) as run:
        begin(Tool("list", schema={"properties": {}}), {}).finish({"files": ["mole.cfg"]})
        assert run.propose(tool, "path", GUESS, reviewer=lambda proposal: True)

        def may(server: str | None) -> bool:
            try:
                ticket = begin(Tool("make", server, {"properties": {"path": {}}}), {"path": GUESS})
            except ProvenanceDenied:
                return False
            ticket.finish(None)
            return True

        yield may


def test_a_value_approved_for_a_servers_tool_is_used_there_once() -> None:
    with approved("harbour/make") as may:
        assert [may("harbour"), may("harbour")] == [True, False]


def test_a_value_approved_for_a_servers_tool_is_no_local_tools() -> None:
    with approved("harbour/make", "make") as may:
        assert [may(None), may("canal"), may("harbour")] == [False, False, True]


def test_a_value_approved_for_the_local_tool_is_no_servers() -> None:
    with approved("make", "harbour/make") as may:
        assert [may("harbour"), may(None)] == [False, True]


def test_a_proposal_for_a_servers_tool_needs_a_rule_that_holds_there() -> None:
    asked: list[Any] = []
    with citespan.run(policy=invents("harbour/make")) as run:
        begin(Tool("list", schema={"properties": {}}), {}).finish({"files": ["mole.cfg"]})
        assert not run.propose("canal/make", "path", GUESS, reviewer=asked.append)  # type: ignore[arg-type]
        assert not run.propose("make", "path", GUESS, reviewer=asked.append)  # type: ignore[arg-type]
    assert asked == []


def test_what_the_reviewer_is_shown_names_the_server() -> None:
    shown: list[str] = []
    with citespan.run(policy=invents("harbour/make")) as run:
        begin(Tool("list", schema={"properties": {}}), {}).finish({"files": ["mole.cfg"]})
        run.propose("harbour/make", "path", GUESS, reviewer=lambda proposal: bool(shown.append(proposal.tool)))
    assert shown == ["harbour/make"]
