"""Values that are meant to be new: proposed, shown absent from a listing, approved by a reviewer, used once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.helpers import Agent, for_argument, parameters

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule
from citespan.core.proposals import MAX_APPROVALS, Approvals, Proposal
from citespan.guard.ports import Tool

NEW = ArgumentRule(accept=frozenset({"invented"}), propose_against="list.files.*")
CREATE = Tool("create", schema=parameters("path", "body"))
LIST = Tool("list", schema=parameters("root"))
GRANTS = for_argument("create", "path", NEW)


def yes(proposal: Proposal) -> bool:
    return True


def listing(*files: str, policy: Policy = GRANTS) -> Agent:
    agent = Agent(policy)
    agent.call(LIST, {}, {"files": list(files)})
    return agent


def propose(
    agent: Agent, value: Any = "notes.md", argument: str = "path", tool: str = "create", reviewer: Any = yes
) -> bool:
    return agent.run.propose(tool, argument, value, reason="a new file", reviewer=reviewer)


def test_an_approved_value_that_is_in_no_listing_is_invented() -> None:
    agent = listing("app.py")
    assert propose(agent)
    decision = agent.start(CREATE, {"path": "notes.md"}).decision
    assert [tag.provenance.kind for tag in decision.tags] == ["invented"]


def test_an_approval_is_good_for_one_call() -> None:
    agent = listing("app.py")
    propose(agent)
    agent.start(CREATE, {"path": "notes.md"})
    with pytest.raises(ProvenanceDenied):
        agent.start(CREATE, {"path": "notes.md"})


def test_asking_what_would_be_decided_for_a_refused_call_uses_nothing_up() -> None:
    agent = listing("app.py")
    propose(agent)
    with pytest.raises(ProvenanceDenied):
        agent.start(CREATE, {"path": "notes.md", "body": "uncited"})
    assert agent.start(CREATE, {"path": "notes.md"}).decision.status == "ok"


@pytest.mark.parametrize(
    "tool, arguments",
    [
        (CREATE, {"path": "other.md"}),
        (CREATE, {"path": "Notes.md"}),
        (CREATE, {"body": "notes.md"}),
        (CREATE, {"path": ["notes.md"]}),
        (Tool("delete", schema=parameters("path")), {"path": "notes.md"}),
    ],
)
def test_an_approval_covers_one_tool_argument_and_value(tool: Tool, arguments: dict[str, Any]) -> None:
    agent = listing("app.py")
    propose(agent)
    with pytest.raises(ProvenanceDenied):
        agent.start(tool, arguments)


@pytest.mark.parametrize("near", ["notes.md", "NOTES.md", "./notes.md", "notes.md ", "\uff4eotes.md", "notes\u200b.md"])
def test_a_value_that_is_listed_under_any_fold_is_not_new(near: str) -> None:
    assert not propose(listing("app.py", near))


def test_without_a_listing_nothing_is_shown_absent() -> None:
    assert not propose(Agent(GRANTS))


def test_a_listing_of_an_empty_place_shows_that_anything_is_new() -> None:
    assert propose(listing())


def test_another_field_or_tool_is_not_the_listing() -> None:
    agent = Agent(GRANTS)
    agent.call(LIST, {}, {"names": ["app.py"]})
    agent.call(Tool("find", schema=parameters()), {}, {"files": ["app.py"]})
    assert not propose(agent)


def test_a_listing_by_an_uncited_argument_shows_nothing() -> None:
    agent = Agent(for_argument("create", "path", NEW).evolve(max_assumed=1))
    agent.call(LIST, {"root": "elsewhere"}, {"files": ["app.py"]})
    assert not propose(agent)


def test_every_observed_listing_counts_not_the_last_one_only() -> None:
    agent = listing("notes.md")
    agent.call(LIST, {}, {"files": ["app.py"]})
    assert not propose(agent)


def test_a_listing_that_the_ledger_dropped_shows_nothing() -> None:
    agent = listing("notes.md", policy=GRANTS.evolve(bounds=Bounds(bytes=300)))
    for number in range(20):
        agent.call(LIST, {}, {"files": [f"file-{number}.md"]})
    assert agent.run.state.ledger.evicted
    assert not propose(agent)


def test_a_policy_that_names_no_listing_grants_nothing() -> None:
    assert not propose(listing("app.py", policy=Policy()))
    assert not propose(listing("app.py"), argument="body")
    assert not propose(listing("app.py"), tool="delete")


def test_without_a_reviewer_nothing_is_approved() -> None:
    agent = listing("app.py")
    assert not propose(agent, reviewer=None)
    with pytest.raises(ProvenanceDenied):
        agent.start(CREATE, {"path": "notes.md"})


def test_a_reviewer_who_says_no_is_obeyed_and_sees_the_proposal() -> None:
    seen: list[Proposal] = []
    agent = listing("app.py")
    assert not propose(agent, reviewer=lambda proposal: bool(seen.append(proposal)))
    assert seen == [Proposal("create", "path", "notes.md", "a new file")]


def test_a_reviewer_is_not_asked_about_what_is_not_new() -> None:
    def never(proposal: Proposal) -> bool:
        raise AssertionError

    assert not propose(listing("notes.md"), reviewer=never)


def test_a_kind_that_is_not_accepted_is_refused_though_it_was_approved() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), propose_against="list.files.*")
    agent = listing("app.py", policy=for_argument("create", "path", rule))
    assert propose(agent)
    with pytest.raises(ProvenanceDenied, match="its kind, invented, is not accepted here"):
        agent.start(CREATE, {"path": "notes.md"})


def test_a_value_that_was_made_this_way_is_citable_when_a_listing_returns_it() -> None:
    agent = listing("app.py")
    propose(agent)
    agent.call(CREATE, {"path": "notes.md"}, {"ok": True})
    agent.call(LIST, {}, {"files": ["app.py", "notes.md"]})
    assert agent.kind("notes.md") == "observed"


def test_an_approval_after_the_fact_makes_a_stored_value_citable() -> None:
    policy = Policy(mode="tag", tools={"create": ToolRule(arguments={"path": NEW})})
    agent = listing("app.py", policy=policy)
    agent.call(Tool("note", schema=parameters("text")), {"text": "notes.md"}, {"ok": True})
    assert propose(agent)
    agent.call(CREATE, {"path": "notes.md"}, {"ok": True})
    agent.call(LIST, {}, {"files": ["app.py", "notes.md"]})
    assert agent.kind("notes.md") == "observed"


def test_a_digest_names_tool_argument_and_value_with_its_type() -> None:
    digests = {
        Proposal(*parts).digest
        for parts in [("t", "a", 1), ("t", "a", "1"), ("t", "a", True), ("t", "b", 1), ("u", "a", 1), ("t", "a", None)]
    }
    assert len(digests) == 6
    assert Proposal("t", "a", 1, "one reason").digest == Proposal("t", "a", 1, "another").digest


def test_an_approval_is_used_by_the_first_who_takes_it() -> None:
    approvals = Approvals()
    proposal = Proposal("create", "path", "notes.md")
    approvals.add(proposal)
    assert approvals.approves("create", ("path",), "notes.md") == proposal.digest
    assert [approvals.use(proposal.digest), approvals.use(proposal.digest)] == [True, False]
    assert approvals.approves("create", ("path",), "notes.md") is None


def test_approvals_that_nobody_uses_are_bounded_and_then_refused() -> None:
    approvals = Approvals()
    added = [approvals.add(Proposal("create", "path", f"n{number}")) for number in range(MAX_APPROVALS + 1)]
    assert added.count(False) == 1
    assert not added[-1]
