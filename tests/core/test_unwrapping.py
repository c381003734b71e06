"""Unwrapping: what a tool built around an uncited text, another one may take apart, and nothing of it gets citable.

A tool that only reads is given a guess and returns it inside a longer text. That text may be cited, weakly. Whoever is
given it and cuts something out of it has cut out the guess, whichever part it is. And none of that may cost time that
grows faster than what is compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.helpers import Agent, parameters
from tests.pace import pace

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.kinds import Observed
from citespan.core.leaves import MAX_LEAVES
from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Tool

GUESS = "moray"


def wrapping(wrapped: str, guess: str = GUESS) -> Agent:
    """An agent that guessed, and got its guess back inside a longer text."""
    agent = Agent()
    agent.reads("wrap", {"x": guess}, {"made": wrapped})
    return agent


def listing(text: str) -> Agent:
    """An agent to which the same text was listed, with no guess in sight."""
    agent = Agent()
    agent.reads("list", {}, {"made": text})
    return agent


# a guess is wrapped, and cut out again

#: how it is wrapped, and what is cut out of that
CUTS = [
    ("moray_pier_9", "moray"),
    ("moray_pier_9", "pier"),
    ("moray_pier_9", "moray_pier"),
    ("moray_pier_9", "oray"),
    ("moray_pier_9", "y_pi"),
    ("moray_pier_9", "MORAY"),
    ("xxmorayxx", "moray"),
    ("xxmorayxx", "xmora"),
    ("moray-pier-9", "moray"),
    ("take moray to the pier", "moray"),
    ("take moray to the pier", "pier"),
    ("https://pier.example/?to=moray", "moray"),
    ("https://pier.example/?to=moray", "pier.example"),
    ("moraypier", "moray"),
    ("Wmoray4711", "moray4711"),
]


@pytest.mark.parametrize("wrapped, cut", CUTS)
def test_a_part_that_is_cut_out_of_a_wrapped_guess_is_no_source(wrapped: str, cut: str) -> None:
    agent = wrapping(wrapped)
    agent.reads("cut", {"x": wrapped}, {"part": cut})
    assert agent.kind(cut) == "assumed"


@pytest.mark.parametrize("wrapped, cut", CUTS)
def test_honest_the_same_part_of_the_same_text_that_was_listed_is_cited(wrapped: str, cut: str) -> None:
    agent = listing(wrapped)
    agent.reads("cut", {"x": wrapped}, {"part": cut})
    assert agent.kind(cut) == "observed"


@pytest.mark.parametrize("wrapped, cut", CUTS)
def test_nor_is_it_if_the_tool_that_cuts_may_have_changed_something(wrapped: str, cut: str) -> None:
    agent = wrapping(wrapped)
    agent.writes("cut", {"x": wrapped}, {"part": cut})
    assert agent.kind(cut) == "assumed"


@pytest.mark.parametrize(
    "shape",
    [
        lambda text: [text],
        lambda text: {"inner": {"deep": text}},
        lambda text: ["quay-3", text, "quay-4"],
    ],
    ids=["in a list", "in an object", "among others"],
)
def test_however_the_wrapped_text_is_handed_on(shape: Callable[[str], Any]) -> None:
    agent = wrapping("moray_pier_9")
    agent.reads("cut", {"x": shape("moray_pier_9")}, {"part": GUESS})
    assert agent.kind(GUESS) == "assumed"


def test_wrapping_it_twice_does_not_help() -> None:
    agent = wrapping("moray_pier")
    agent.reads("wrap", {"x": "moray_pier"}, {"made": "old_moray_pier_9"})
    agent.reads("cut", {"x": "old_moray_pier_9"}, {"part": GUESS})
    assert agent.kind(GUESS) == "assumed"


def test_nor_does_unwrapping_it_in_two_steps() -> None:
    agent = wrapping("old_moray-pier_9")
    agent.reads("cut", {"x": "old_moray-pier_9"}, {"part": "moray-pier"})
    agent.reads("cut", {"x": "moray-pier"}, {"part": GUESS})
    assert [agent.kind(value) for value in ("moray-pier", GUESS)] == ["assumed", "assumed"]


def test_nor_does_wrapping_a_part_of_the_wrapped_text_anew() -> None:
    agent = wrapping("moray_pier_9")
    agent.reads("wrap", {"x": "moray_pier_9"}, {"made": "the moray berth"})
    agent.reads("cut", {"x": "the moray berth"}, {"part": GUESS})
    assert agent.kind(GUESS) == "assumed"


def test_nor_does_storing_the_wrapped_text_and_loading_a_part_of_it() -> None:
    agent = wrapping("moray_pier_9")
    agent.writes("store", {"x": "moray_pier_9"}, {"ok": True})
    agent.reads("load", {}, {"part": GUESS})
    assert agent.kind(GUESS) == "assumed"


def test_the_wrapped_text_itself_is_cited_weakly() -> None:
    found = wrapping("moray_pier_9").provenance("moray_pier_9")
    assert type(found) is Observed
    assert found.weak


def test_honest_what_else_the_cutting_tool_returns_stays_cited() -> None:
    agent = wrapping("moray_pier_9")
    agent.reads("cut", {"x": "moray_pier_9"}, {"part": GUESS, "berth": "crane-20931"})
    assert [agent.kind(value) for value in (GUESS, "crane-20931")] == ["assumed", "observed"]


def test_honest_a_part_that_was_listed_before_stays_cited() -> None:
    agent = wrapping("moray_pier_9")
    agent.reads("list", {}, {"pier": "pier-20931"})
    agent.reads("cut", {"x": "moray_pier_9"}, {"part": "pier-20931"})
    assert agent.kind("pier-20931") == "observed"


def test_honest_the_user_may_say_it() -> None:
    agent = wrapping("moray_pier_9")
    agent.reads("cut", {"x": "moray_pier_9"}, {"part": GUESS})
    agent.run.user(f"send it to {GUESS}")
    assert agent.kind(GUESS) == "user"


def test_a_body_is_not_run_with_what_was_unwrapped() -> None:
    ran: list[str] = []

    @citespan.tool(read_only=True)
    def wrap(comment: str) -> dict[str, str]:
        return {"made": f"{comment}_pier_9"}

    @citespan.tool(read_only=True)
    def cut(text: str) -> dict[str, str]:
        return {"part": text.partition("_")[0]}

    @citespan.tool
    def send(to: str) -> None:
        ran.append(to)

    with citespan.run(policy=Policy(), inputs={"listed": "quay_pier_9"}):
        send(to=cut(text="quay_pier_9")["part"])
        part = cut(text=wrap(comment=GUESS)["made"])["part"]
        with pytest.raises(ProvenanceDenied):
            send(to=part)
    assert (part, ran) == (GUESS, ["quay"])


# what it may cost

#: four times as much of something that is compared in linear time takes about four times as long
GENEROUS = 12
SAY = Tool("say", schema=parameters("comment"), read_only=True)
TAKE = Tool("take", schema=parameters("ids"))


def seconds(comment: Any, cited: list[str]) -> float:
    """CPU time of judging a call that cites values of a result whose call was given an uncited comment."""
    best = float("inf")
    for _ in range(3):
        agent = Agent()
        agent.call(SAY, {"comment": comment}, {"ids": cited})
        started = time.process_time()
        decision = agent.judge({"ids": cited}, TAKE)
        best = min(best, time.process_time() - started)
        assert {tag.provenance.kind for tag in decision.tags} == {"observed"}
    return best


TEXTS: dict[str, str] = {
    "words": "lorem ipsum dolor sit amet, ",
    "one word": "x",
    "pieces of what is cited": "crane crane- crane-20 ",
    "lines": "berth=20931\n",
    "punctuation": "-_- ",
}


@pytest.mark.parametrize("piece", TEXTS.values(), ids=TEXTS)
def test_four_times_the_uncited_text_costs_about_four_times_as_much(piece: str) -> None:
    cited = [f"crane-{number:05d}" for number in range(200)]
    short, long = ((piece * (size // len(piece) + 1))[:size] for size in (250_000, 1_000_000))
    assert seconds(long, cited) < GENEROUS * max(seconds(short, cited), 0.005)


def test_a_long_uncited_text_is_read_once_and_not_for_each_cited_leaf() -> None:
    """40 times the leaves beside the same text, in which every letter and digit of them stands."""
    text = "the crane 0123456789 was moved, " * 32_000
    few, many = ([f"crane-{number:05d}" for number in range(most)] for most in (5, 200))
    assert seconds(text, many) < GENEROUS * max(seconds(text, few), 0.005)


def many_arguments(number: int) -> dict[str, int]:
    return {f"a{index}": 1 for index in range(number)}


@pytest.mark.parametrize("known", ["declared", "undeclared", "unknown"])
def test_more_arguments_than_can_be_judged_are_refused(known: str) -> None:
    arguments = many_arguments(MAX_LEAVES + 1)
    schema = {"declared": parameters(*arguments), "undeclared": parameters("x"), "unknown": None}[known]
    with citespan.run(policy=Policy(max_assumed=10**6, run_max_assumed=10**6)), pytest.raises(ProvenanceDenied):
        begin(Tool("tally", schema=schema), arguments)


def test_and_so_no_body_runs_with_them() -> None:
    ran: list[int] = []

    @citespan.tool
    def tally(**counts: int) -> None:
        ran.append(len(counts))

    with citespan.run(policy=Policy(max_assumed=10**6, run_max_assumed=10**6)):
        tally(**many_arguments(20))
        with pytest.raises(ProvenanceDenied):
            tally(**many_arguments(MAX_LEAVES + 1))
    assert ran == [20]


def test_a_million_arguments_are_refused_without_looking_at_them_all() -> None:
    arguments = many_arguments(1_000_000)
    started = time.process_time()
    with citespan.run(policy=Policy()), pytest.raises(ProvenanceDenied):
        begin(Tool("tally"), arguments)
    assert time.process_time() - started < 50 * pace()
