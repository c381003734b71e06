"""Recorded calls are judged as live ones are, save that the recording goes on whatever is decided."""

from __future__ import annotations

from typing import Any

import pytest
from tests.replay.recordings import REFUSED, call, judged, kinds, run, statuses

from citespan.core.leaves import MAX_LEAVES
from citespan.core.policy import Policy, ToolRule
from citespan.errors import TraceFileError
from citespan.policy_file import loads
from citespan.replay import Policies

TAG = Policy(mode="tag")


class TestOrder:
    def test_a_result_is_citable_by_the_calls_after_it(self) -> None:
        listing, cut = call("ls", result=["a1.md"]), call("cut", path="a1.md")
        assert statuses(run(listing, cut)) == ["ok", "ok"]
        assert statuses(run(cut, listing)) == ["blocked", "ok"]

    def test_a_message_counts_from_its_turn_on(self) -> None:
        said = ("hello", "ticket 50417, please", "thanks")
        calls = (call("close", ticket=50417), call("close", turn=1, ticket=50417), call("close", turn=9, ticket=50417))
        assert statuses(run(*calls, said=said)) == ["blocked", "ok", "ok"]

    def test_calls_of_one_step_cannot_cite_each_other(self) -> None:
        first, second = call("ls", step="s1", result=["a1.md"]), call("cut", step="s1", path="a1.md")
        assert statuses(run(first, second)) == ["ok", "blocked"]
        assert statuses(run(first, second | {"step": "s2"})) == ["ok", "ok"]

    def test_a_step_is_what_one_response_wrote_so_it_ends_with_its_turn(self) -> None:
        """Recorders number steps over the run or within each turn."""
        assert statuses(run(call("ls", step=0, result=["a1.md"]), call("cut", step=0, turn=1, path="a1.md"))) == [
            "ok",
            "ok",
        ]

    def test_runs_share_nothing(self) -> None:
        judged(run(call("ls", result=["a1.md"]), said=("a1.md",)))
        assert statuses(run(call("cut", path="a1.md"))) == ["blocked"]


class TestWhatLands:
    def test_the_result_of_a_blocked_call_lands(self) -> None:
        """The recorded run went on from it."""
        assert statuses(run(call("find", q="x-77", result={"id": 60233}), call("cut", id=60233))) == ["blocked", "ok"]

    @pytest.mark.parametrize("error", ["no such file", "", False, {"hint": "b2.md"}], ids=repr)
    def test_a_failed_call_teaches_nothing(self, error: Any) -> None:
        calls = (call("ls", error=error, result=["b2.md"]), call("cut", path="b2.md"))
        assert statuses(run(*calls))[-1] == "blocked"

    def test_what_a_call_may_have_stored_cannot_be_read_back(self) -> None:
        """A call that is blocked here ran in the recording."""
        stored = (call("touch", path="b2.md", result="ok"), call("ls", result=["b2.md", "c3.md"]))
        assert kinds(run(*stored, call("cut", path="b2.md"))) == ["assumed"]
        assert kinds(run(*stored, call("cut", path="c3.md"))) == ["observed"]

    def test_neither_can_what_a_failed_call_may_have_stored(self) -> None:
        calls = (
            call("touch", path="b2.md", error="timed out"),
            call("ls", result=["b2.md"]),
            call("cut", path="b2.md"),
        )
        assert kinds(run(*calls)) == ["assumed"]

    @pytest.mark.parametrize("error", [REFUSED, "Refused.", "touch was not run.\ntouch.path: in no result."])
    def test_a_refused_call_stored_nothing(self, error: str) -> None:
        calls = (call("touch", path="b2.md", error=error), call("ls", result=["b2.md"]), call("cut", path="b2.md"))
        assert kinds(run(*calls)) == ["observed"]

    def test_a_call_gives_back_what_it_was_told_and_that_is_no_source(self) -> None:
        calls = (
            call("stat", path="b2.md", result={"path": "b2.md", "inode": 88123}),
            call("cut", path="b2.md", n=88123),
        )
        assert kinds(run(*calls, hints={"stat": True})) == ["assumed", "observed"]

    def test_a_call_that_cannot_be_judged_is_no_source_either(self) -> None:
        """It is blocked; live its body would not run, and an echo in its recorded result cannot be told."""
        many = [f"b{number}.md" for number in range(MAX_LEAVES + 1)]
        calls = (call("stat", paths=many, result=["b7.md"]), call("ls", result=["b8.md"]), call("cut", path="b7.md"))
        decisions = [one.decision for one in judged(run(*calls))]
        assert [decision.status for decision in decisions] == ["blocked", "ok", "blocked"]
        assert decisions[0].violations[0].rule == "guard"
        assert kinds(run(*calls[:2], call("cut", path="b8.md"))) == ["assumed"], "it may have stored anything"


class TestHints:
    def test_a_tool_that_is_read_only_by_its_hint_is_flagged_not_blocked(self) -> None:
        guess = call("stat", path="b2.md")
        assert statuses(run(guess, hints={"stat": True})) == ["flagged"]
        assert statuses(run(guess, hints={"stat": False})) == ["blocked"]
        assert statuses(run(guess)) == ["blocked"]

    def test_its_calls_change_nothing(self) -> None:
        calls = (call("stat", path="b2.md", result=None), call("ls", result=["b2.md"]), call("cut", path="b2.md"))
        assert [one.decision.mutating for one in judged(run(*calls, hints={"stat": True}))] == [False, True, True]
        assert kinds(run(*calls, hints={"stat": True})) == ["observed"]

    def test_the_policy_knows_better(self) -> None:
        policy = Policy(tools={"stat": ToolRule(read_only=False)})
        assert statuses(run(call("stat", path="b2.md"), hints={"stat": True}), policy) == ["blocked"]

    def test_a_policy_that_is_off_stays_off(self) -> None:
        assert statuses(run(call("stat", path="b2.md"), hints={"stat": True}), Policy(mode="off")) == ["ok"]


class TestPolicy:
    OWN = 'version = 1\n[tools.cut]\nmode = "tag"\n'

    def test_the_named_one_then_the_runs_own_then_the_environments(self) -> None:
        guess = call("cut", path="b2.md")
        off = Policy(mode="off")
        assert statuses(run(guess)) == ["blocked"]
        assert statuses(run(guess, policy=self.OWN)) == ["flagged"]
        assert statuses(run(guess, policy=self.OWN), off) == ["ok"]
        assert Policies(None, off).of(run(guess)).policy == off
        assert Policies(None, off).of(run(guess, policy=self.OWN)).policy == loads(self.OWN)

    def test_a_runs_own_policy_is_read_once(self) -> None:
        policies = Policies(None, Policy())
        assert policies.of(run(policy=self.OWN)) is policies.of(run(policy=self.OWN))

    def test_its_mistakes_are_the_lines_own(self) -> None:
        with pytest.raises(TraceFileError) as caught:
            judged(run(policy="version = 1\n[run]\nmax_refused = -1\n[default]\n"))
        first, second = str(caught.value).splitlines()
        assert first == "runs.jsonl:1: policy:3: run.max_refused: must be 0 or more"
        assert second.startswith("runs.jsonl:1: policy:4: default: ")

    def test_rules_that_tie_for_a_called_tool_are_no_rules(self) -> None:
        policy = Policy(tools={"cut_*": ToolRule(mode="tag"), "*_all": ToolRule(mode="off")})
        assert statuses(run(call("cut_one", path="b2.md")), policy) == ["flagged"]
        with pytest.raises(TraceFileError, match=r"^runs\.jsonl:1: policy: tools\.'cut_\*': ties with .* for cut_all"):
            judged(run(call("cut_one"), call("cut_all")), policy)

    def test_a_tool_with_its_server_is_found_by_globs_of_both(self) -> None:
        policy = loads('version = 1\n[tools."files/*"]\nmode = "tag"\n')
        calls = (call("files/cut", path="b2.md"), call("mail/cut", path="b2.md"), call("cut", path="b2.md"))
        assert statuses(run(*calls), policy) == ["flagged", "blocked", "blocked"]

    def test_fields_may_name_the_server(self) -> None:
        policy = loads('version = 1\n[tools.cut.arguments.path]\nfrom = ["files/ls.result.*"]\n')
        listed = {"result": ["b2.md"]}
        assert statuses(run(call("files/ls", result=listed), call("cut", path="b2.md")), policy) == ["ok", "ok"]
        assert statuses(run(call("mail/ls", result=listed), call("cut", path="b2.md")), policy) == ["ok", "blocked"]

    def test_too_many_refusals_are_counted_and_stop_nothing(self) -> None:
        guesses = [call("cut", path=f"b{number}.md") for number in range(4)]
        decisions = [one.decision for one in judged(run(*guesses, call("ls")), Policy(run_max_refused=2))]
        assert [decision.status for decision in decisions] == ["blocked"] * 4 + ["ok"]
        assert [decision.abort for decision in decisions] == [False, False, True, True, False]

    def test_the_budget_of_a_run_is_spent_as_it_would_be_live(self) -> None:
        guesses = [call("cut", path=f"b{number}.md") for number in range(3)]
        assert statuses(run(*guesses), Policy(max_assumed=1, run_max_assumed=2)) == ["ok", "ok", "blocked"]
        assert statuses(run(*guesses), TAG) == ["flagged"] * 3
