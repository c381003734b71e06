"""Whoever writes call ids, makes a body raise, or opens many threads gets one verdict for one call, and no more."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.core.resolve import Rulebook
from citespan.guard.conversations import MAX_CONVERSATIONS, Conversation, Conversations
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

PATCH = Tool("patch_file", schema={"properties": {"path": {"type": "string"}}})
ONE_FREE = Policy(max_assumed=1, run_max_assumed=1)
MISSED = OSError("disk")


def test_a_run_that_was_stopped_tries_nothing_again() -> None:
    """After too many refusals nothing runs in enforce mode, not even a call that was let through before."""
    with Run(policy=ONE_FREE.evolve(run_max_refused=1)):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(MISSED)
        for number in range(2):
            with pytest.raises(ProvenanceDenied):
                begin(PATCH, {"path": f"guess-{number}.py"}, call_id=f"g{number}")
        with pytest.raises(ProvenanceDenied) as refusal:
            begin(PATCH, {"path": "x.py"}, call_id="c1")
    assert "refusals" in {violation.rule for violation in refusal.value.decision.violations}


def test_a_verdict_of_another_policy_is_none() -> None:
    """A nested run shares what failed with the one around it, and has a policy of its own."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(MISSED)
        with Run(policy=Policy()), pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id="c1")
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(MISSED)
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id="c1", rulebook=Rulebook(Policy()))


def test_a_hint_that_turned_stricter_is_believed_at_the_next_try() -> None:
    """The first try was tagged only, since the server said that the tool reads."""
    tool = Tool("fetch", "web", {"properties": {"path": {}}}, hint=True)
    with Run(policy=Policy(servers={"web": True})):
        begin(tool, {"path": "x.py"}, call_id="c1").fail(MISSED)
        begin(tool, {"path": "x.py"}, call_id="c1").fail(MISSED)
        with pytest.raises(ProvenanceDenied):
            begin(tool._replace(hint=False), {"path": "x.py"}, call_id="c1")


def test_the_next_model_response_makes_another_call_whatever_its_id() -> None:
    """A framework tries again within one response; a model that writes the same id anew asks for more."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1", step="s1").fail(MISSED)
        begin(PATCH, {"path": "x.py"}, call_id="c1", step="s1").fail(MISSED)
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id="c1", step="s2")


MANY = tuple(range(10_001))


def _items(*held: str) -> Iterator[str]:
    return iter(held)


@pytest.mark.parametrize(
    "first, second, leaves",
    [
        ((*MANY, "x.py"), (*MANY, "prod.env"), 1),
        (_items("x.py"), _items("prod.env"), 1),
        ({1: "x.py", 2: "y"}, {1: "prod.env", 2: "y"}, 2),
    ],
    ids=["cut", "foreign", "keys that are no text"],
)
def test_a_value_that_cannot_be_compared_is_judged_anew(first: Any, second: Any, leaves: int) -> None:
    """Two objects of which the same can be read may hold anything."""
    tool = Tool("patch_files", schema={"properties": {"paths": {}}})
    with Run(policy=Policy(max_assumed=9, run_max_assumed=leaves)):
        begin(tool, {"paths": first}, call_id="c1").fail(MISSED)
        with pytest.raises(ProvenanceDenied):
            begin(tool, {"paths": second}, call_id="c1")


def test_an_id_that_is_no_key_denies_nothing_and_breaks_nothing() -> None:
    """An adapter hands on what a framework gave it; the call is judged all the same."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id=["c1"]).fail(MISSED)  # type: ignore[arg-type]
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id=["c1"])  # type: ignore[arg-type]


class Broken(Mapping[str, Any]):
    """Arguments that cannot be copied."""

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("gone")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("gone")

    def __len__(self) -> int:
        return 1


def test_arguments_that_cannot_be_compared_are_denied_as_a_first_try_is() -> None:
    """Not by an error that passes the guard by, without evidence."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(MISSED)
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, Broken(), call_id="c1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_no_try_of_its_parents() -> None:
    """Parent and child would both run what was charged once."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(MISSED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a process with threads: the child only judges
            child = os.fork()
        if not child:
            try:
                begin(PATCH, {"path": "x.py"}, call_id="c1")
            except ProvenanceDenied:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_conversation_that_is_forgotten_while_it_is_open_keeps_its_budget() -> None:
    """Whoever can open threads would otherwise give each helper of this one a budget of its own."""
    kept = Conversations()
    run = Run(policy=ONE_FREE, run_id="T1")
    kept.join("langchain", "T1", run)
    with run:
        begin(PATCH, {"path": "x.py"}).finish("patched")
        for number in range(MAX_CONVERSATIONS):
            kept.join("langchain", f"other-{number}", Run())
        with Run("helper", policy=ONE_FREE), pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "y.py"})


def test_what_was_heard_is_kept_as_digests() -> None:
    """The bound of a ledger is none for what stands beside it: thousands of long messages in a thousand threads."""
    conversation = Conversation(Run().state)
    assert conversation.unheard(["move it " * 100_000, "\ud800"]) == ["move it " * 100_000, "\ud800"]
    assert conversation.unheard(["move it " * 100_000, "\ud800", "now"]) == ["now"]
    assert sum(map(len, conversation._heard)) < 100
