"""From tags to a decision: the table, the budgets of a call and of a run, and what a refusal says."""

from __future__ import annotations

import pickle
import threading
from typing import Any, get_args

import pytest
from tests.core.helpers import Agent, attached, for_argument, parameters

from citespan.core import decision as decisions
from citespan.core.budget import RunBudget
from citespan.core.decision import VERDICTS, Finding, Mode, ProvenanceDenied, by_argument, count_kinds, verdict, worst
from citespan.core.kinds import KINDS
from citespan.core.policy import ArgumentRule, OnViolation, Policy, ToolRule
from citespan.errors import PolicyError, Problem
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

SEND = Tool("send", schema=parameters("to", "cc", "body"))


def refused(agent: Agent, arguments: dict[str, Any], tool: Tool = SEND) -> ProvenanceDenied:
    with pytest.raises(ProvenanceDenied) as caught:
        agent.start(tool, arguments)
    return caught.value


# the table


def test_every_mode_has_a_verdict_for_every_finding() -> None:
    assert set(VERDICTS) == {(mode, finding) for mode in get_args(Mode) for finding in get_args(Finding)}


@pytest.mark.parametrize(
    "mode, finding, wanted",
    [
        ("enforce", "clean", (False, "ok")),
        ("enforce", "over", (True, "blocked")),
        ("enforce", "hard", (True, "blocked")),
        ("tag", "clean", (False, "ok")),
        ("tag", "over", (False, "flagged")),
        ("tag", "hard", (False, "flagged")),
        ("off", "over", (False, "ok")),
    ],
)
def test_only_enforcement_denies(mode: Mode, finding: Finding, wanted: tuple[bool, str]) -> None:
    assert verdict(mode, finding) == wanted


@pytest.mark.parametrize("pair", list(VERDICTS))
def test_a_pair_that_is_missing_from_the_table_denies(
    pair: tuple[Mode, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "VERDICTS", {key: value for key, value in VERDICTS.items() if key != pair})
    assert verdict(*pair) == (True, "blocked")


def test_a_mode_that_nobody_knows_denies() -> None:
    assert verdict("relaxed", "clean") == (True, "blocked")  # type: ignore[arg-type]


# a call's budget


def test_the_default_is_the_rule_itself_no_uncited_argument() -> None:
    assert refused(Agent(Policy()), {"to": "kestrel"}).decision.status == "blocked"


def test_a_call_with_cited_arguments_only_runs() -> None:
    agent = Agent(Policy())
    agent.call(Tool("list", schema=parameters()), {}, ["kestrel"])
    assert agent.start(SEND, {"to": "kestrel"}).decision.status == "ok"


def test_a_call_without_arguments_runs() -> None:
    assert Agent(Policy()).start(Tool("list"), None).decision.status == "ok"


def test_a_call_may_have_as_many_uncited_leaves_as_its_budget_says_and_no_more() -> None:
    agent = Agent(Policy(max_assumed=2))
    assert agent.start(SEND, {"to": "x-1", "cc": "x-2"}).decision.status == "ok"
    assert refused(agent, {"to": "x-3", "cc": "x-4", "body": "x-5"}).decision.budget == 2


def test_leaves_count_not_arguments() -> None:
    refused(Agent(Policy(max_assumed=2)), {"to": ["x-1", "x-2", "x-3"]})


def test_a_decision_names_the_paths_that_counted_and_the_rule() -> None:
    decision = refused(Agent(Policy()), {"to": ["x-1", "x-2"], "cc": None}).decision
    assert decision.assumed_fields == ("to.0", "to.1", "cc")
    assert [violation.text for violation in decision.violations] == ["assumed_fields=[to.0, to.1, cc]"]


def test_in_tag_mode_the_same_call_runs_and_is_flagged_with_the_same_violations() -> None:
    tagged = Agent(Policy(mode="tag")).start(SEND, {"to": "x-1"}).decision
    denied = refused(Agent(Policy()), {"to": "x-1"}).decision
    assert (tagged.deny, tagged.status) == (False, "flagged")
    assert tagged.violations == denied.violations


def test_switched_off_nothing_is_refused_and_everything_is_still_judged() -> None:
    decision = Agent(Policy(mode="off")).start(SEND, {"to": "x-1"}).decision
    assert (decision.deny, decision.status) == (False, "ok")
    assert [tag.provenance.kind for tag in decision.tags] == ["assumed"]


# from: whatever the budget


def test_an_argument_not_from_its_declared_field_is_denied_whatever_the_budget() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), sources=("list.result.*",))
    agent = Agent(for_argument("send", "to", rule, max_assumed=100))
    decision = refused(agent, {"to": "kestrel", "cc": "x-1"}).decision
    assert [violation.text for violation in decision.violations] == [
        "required_source=[to]",
        "assumed_fields=[to, cc]",
    ]


def test_the_other_arguments_of_such_a_tool_still_have_their_budget() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), sources=("list.birds.*",))
    agent = Agent(for_argument("send", "to", rule, max_assumed=1))
    agent.call(Tool("list", schema=parameters()), {}, {"birds": ["kestrel"]})
    assert agent.start(SEND, {"to": "kestrel", "cc": "x-1"}).decision.status == "ok"


def test_in_tag_mode_a_missing_required_source_is_flagged() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), sources=("list.birds.*",))
    agent = Agent(for_argument("send", "to", rule, mode="tag", max_assumed=5))
    assert agent.start(SEND, {"to": "kestrel"}).decision.status == "flagged"


# a run's budget


def test_a_run_lets_through_so_many_uncited_leaves_in_all() -> None:
    agent = Agent(Policy(max_assumed=2, run_max_assumed=3))
    agent.start(SEND, {"to": "x-1", "cc": "x-2"})
    decision = refused(agent, {"to": "x-3", "cc": "x-4"}).decision
    assert [violation.rule for violation in decision.violations] == ["assumed_fields", "run_budget"]
    agent.start(SEND, {"to": "x-5"})
    refused(agent, {"to": "x-6"})


def test_tagged_and_refused_calls_charge_the_run_nothing() -> None:
    policy = Policy(max_assumed=1, run_max_assumed=1, tools={"peek": ToolRule(mode="tag")})
    agent = Agent(policy)
    agent.start(Tool("peek", schema=parameters("at")), {"at": "x-0"})
    refused(agent, {"to": "x-1", "cc": "x-2"})
    agent.start(SEND, {"to": "x-3"})


def test_cited_calls_run_on_after_the_runs_budget_is_spent() -> None:
    agent = Agent(Policy(max_assumed=1, run_max_assumed=0))
    agent.call(Tool("list", schema=parameters()), {}, ["kestrel"])
    refused(agent, {"to": "x-1"})
    assert agent.start(SEND, {"to": "kestrel"}).decision.status == "ok"


def test_a_nested_run_draws_on_the_same_budget() -> None:
    agent = Agent(Policy(max_assumed=1, run_max_assumed=1))
    with attached(agent.context), Run("inner"):
        begin(SEND, {"to": "x-1"})
        with pytest.raises(ProvenanceDenied):
            begin(SEND, {"to": "x-2"})


def test_a_budget_is_taken_whole_or_not_at_all() -> None:
    budget = RunBudget(max_assumed=3, max_refused=0)
    assert [budget.take(2), budget.take(2), budget.take(1), budget.take(1)] == [True, False, True, False]


def test_fifty_threads_cannot_share_one_free_slot() -> None:
    agent = Agent(Policy(max_assumed=1, run_max_assumed=7, run_max_refused=100))
    ready = threading.Barrier(50)
    ran: list[int] = []

    def work(number: int) -> None:
        ready.wait()
        try:
            agent.start(SEND, {"to": f"guess-{number}"})
        except ProvenanceDenied:
            return
        ran.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == 7
    assert agent.run.state.budget.refused == 43


# refusals


def test_an_agent_that_keeps_guessing_is_stopped() -> None:
    agent = Agent(Policy(run_max_refused=2))
    assert [refused(agent, {"to": f"x-{number}"}).decision.abort for number in range(4)] == [False, False, True, True]


def test_the_refusal_that_stops_the_run_says_so() -> None:
    error = refused(Agent(Policy(run_max_refused=0)), {"to": "x-1"})
    assert error.decision.violations[-1].rule == "refusals"
    assert "The run stops here." in str(error)


def test_refusals_in_tag_mode_count_nothing() -> None:
    agent = Agent(Policy(mode="tag", run_max_refused=0))
    for number in range(3):
        assert not agent.start(SEND, {"to": f"x-{number}"}).decision.abort


@pytest.mark.parametrize("on_violation, abort", [("tell", False), ("ask", False), ("abort", True)])
def test_a_policy_says_whether_a_refusal_stops_the_run(on_violation: OnViolation, abort: bool) -> None:
    assert refused(Agent(Policy(on_violation=on_violation)), {"to": "x-1"}).decision.abort is abort


# tags by argument


def test_an_arguments_kind_is_its_worst_leafs() -> None:
    agent = Agent()
    agent.reads("list", {}, ["kestrel"])
    agent.run.user("and heron")
    decision = agent.judge({"to": ["kestrel", "heron", "osprey"], "cc": ["heron", "kestrel"]}, SEND)
    groups = by_argument(decision.tags)
    assert {name: worst(tags).provenance.kind for name, tags in groups.items()} == {"to": "assumed", "cc": "user"}
    assert count_kinds(decision.tags) == {"observed": 2, "user": 2, "assumed": 1}


def test_the_worst_kind_is_assumed_and_the_best_observed() -> None:
    assert (KINDS[0], KINDS[-1]) == ("observed", "assumed")


# what a refusal says


SECRETS = ["kestrel-secret", "osprey-secret", "heron-secret"]


def test_a_refusal_carries_no_argument_value_and_no_key_that_a_model_wrote() -> None:
    agent = Agent(Policy())
    arguments = {"to": SECRETS[0], "body": {SECRETS[1]: [{"deep-secret": SECRETS[2]}]}, "unnamed-secret": 1}
    error = refused(agent, arguments)
    assert "secret" not in str(error)
    assert "secret" not in repr(error.decision.violations)


def test_a_refusal_says_where_why_and_what_next() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), sources=("list.birds.*",))
    text = str(refused(Agent(for_argument("send", "to", rule)), {"to": "kestrel"}))
    assert "send was not run" in text
    assert "send.to: in no result, message, input or schema of this run." in text
    assert "call list first" in text


def test_a_refusal_outside_any_run_says_how_to_open_one() -> None:
    with pytest.raises(ProvenanceDenied, match="No run is open here"):
        begin(SEND, {"to": "kestrel"})


def test_a_refusal_is_a_permission_error() -> None:
    assert isinstance(refused(Agent(Policy()), {"to": "kestrel"}), PermissionError)


@pytest.mark.parametrize("value", ["kestrel", ["x", {"y": 1}], object(), ("a",), float("nan"), "\ud800"])
def test_a_refusal_survives_pickling_with_its_decision(value: Any) -> None:
    error = refused(Agent(Policy()), {"to": value})
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ProvenanceDenied
    assert str(again) == str(error)
    assert again.decision.violations == error.decision.violations
    assert again.decision.assumed_fields == error.decision.assumed_fields


def test_a_policy_error_survives_pickling_with_all_of_its_problems() -> None:
    error = PolicyError("p.toml", (Problem("tools", "is no table", 3), Problem("", "is empty")))
    again = pickle.loads(pickle.dumps(error))
    assert (again.source, again.problems, str(again)) == (error.source, error.problems, str(error))
    assert str(again) == "p.toml:3: tools: is no table\np.toml: is empty"
