"""A reviewer approves with `True` and with nothing else, for refusals (`on_violation = "ask"`) and for proposals."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from tests.guard.harness import LISTED, SECRET, Toolbox, Watch, refused

import citespan
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.guard.registry import registry

ASK = Policy(on_violation="ask")
NEW = ArgumentRule(accept=frozenset({"invented"}), propose_against="names.*")
PROPOSE = Policy(tools={"patch_file": ToolRule(arguments={"path": NEW})})


async def later_no(asked: Any) -> bool:
    return False


async def later_yes(asked: Any) -> bool:
    return True


class LaterYes:
    """A reviewer that is an object whose call is a coroutine function."""

    async def __call__(self, asked: Any) -> bool:
        return True


class Yes:
    """Something that is true."""

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


#: nobody said True
NOT_TRUE: dict[str, Callable[[Any], Any]] = {
    "a coroutine function that says no": later_no,
    "a coroutine function that says yes": later_yes,
    "an object with an asynchronous call": LaterYes(),
    "the text no": lambda asked: "no",
    "the text yes": lambda asked: "yes",
    "the text True": lambda asked: "True",
    "one": lambda asked: 1,
    "a list": lambda asked: [True],
    "something that equals everything": lambda asked: Yes(),
    "the class of booleans": lambda asked: bool,
    "what it was asked": lambda asked: asked,
    "nothing": lambda asked: None,
    "no": lambda asked: False,
}
REVIEWERS = pytest.mark.parametrize("reviewer", NOT_TRUE.values(), ids=NOT_TRUE)


@pytest.fixture
def box(watch: Watch) -> Toolbox:
    return Toolbox()


@pytest.fixture(autouse=True)
def _nobody_awaits() -> Any:
    """A coroutine that is never awaited is the host's mistake, and Python says so; whether it does is not ours."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*never awaited", category=RuntimeWarning)
        yield


# a refusal that somebody is asked about


@REVIEWERS
def test_a_refusal_stands_unless_the_reviewer_says_true(reviewer: Callable[[Any], Any], box: Toolbox) -> None:
    registry.reviewer = reviewer
    with citespan.run(policy=ASK):
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_a_refusal_is_lifted_by_true(box: Toolbox, watch: Watch) -> None:
    registry.reviewer = lambda decision: True
    with citespan.run(policy=ASK):
        box.patch_file(path=SECRET)
    assert box.ran == [SECRET]
    assert watch.last.status == "flagged"


def test_a_reviewer_that_raises_has_not_approved(box: Toolbox) -> None:
    def reviewer(decision: Any) -> bool:
        raise OSError("the reviewer's screen is off")

    registry.reviewer = reviewer
    with citespan.run(policy=ASK):
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_nobody_is_asked_where_the_policy_does_not_say_so(box: Toolbox) -> None:
    asked: list[Any] = []
    registry.reviewer = lambda decision: asked.append(decision) is None
    with citespan.run(policy=Policy()):
        refused(box.patch_file, path=SECRET)
    assert (asked, box.ran) == ([], [])


def test_nobody_is_asked_about_a_cited_call(box: Toolbox) -> None:
    asked: list[Any] = []
    registry.reviewer = asked.append
    with citespan.run(policy=ASK):
        box.names()
        box.patch_file(path=LISTED[0])
    assert (asked, box.ran) == ([], LISTED[:1])


def test_a_coroutine_function_does_not_approve_the_call_of_an_asynchronous_tool(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    async def send(path: str) -> None:
        ran.append(path)

    registry.reviewer = later_yes  # type: ignore[assignment]

    async def main() -> None:
        with citespan.run(policy=ASK), pytest.raises(PermissionError):
            await send(path=SECRET)

    asyncio.run(main())
    assert ran == []


# a proposal


@REVIEWERS
def test_a_proposal_is_not_approved_unless_the_reviewer_says_true(reviewer: Callable[[Any], Any], box: Toolbox) -> None:
    with citespan.run(policy=PROPOSE) as run:
        box.names()
        assert run.propose("patch_file", "path", SECRET, reviewer=reviewer) is False
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_a_proposal_is_approved_by_true(box: Toolbox) -> None:
    with citespan.run(policy=PROPOSE) as run:
        box.names()
        assert run.propose("patch_file", "path", SECRET, reviewer=lambda proposal: True) is True
        box.patch_file(path=SECRET)
    assert box.ran == [SECRET]


def test_a_proposal_that_was_not_approved_can_be_made_again(box: Toolbox) -> None:
    with citespan.run(policy=PROPOSE) as run:
        box.names()
        assert not run.propose("patch_file", "path", SECRET, reviewer=lambda proposal: "yes")  # type: ignore[arg-type, return-value]
        assert run.propose("patch_file", "path", SECRET, reviewer=lambda proposal: True)
        box.patch_file(path=SECRET)
    assert box.ran == [SECRET]


@pytest.mark.parametrize("answer", ["no", 1], ids=repr)
def test_a_proposal_that_was_not_approved_lifts_no_mark(answer: Any, watch: Watch) -> None:
    """What an earlier call may have stored stays barred, whoever returns it, until somebody approves."""
    box = Toolbox()

    @citespan.tool
    def store(comment: str) -> str:
        return "done"

    @citespan.tool(read_only=True)
    def load() -> str:
        return SECRET

    with citespan.run(policy=PROPOSE) as run:
        box.names()
        store(comment=SECRET)
        run.propose("patch_file", "path", SECRET, reviewer=lambda proposal: answer)
        load()
        refused(box.patch_file, path=SECRET)
    assert box.ran == []
