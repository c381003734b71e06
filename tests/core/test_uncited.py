"""Echo and state: the rules that keep an uncited value from citing itself."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.core.helpers import Agent, parameters

from citespan.core.uncited import MAX_MARKS, Marks, echo
from citespan.guard.ports import Tool

# echo: the call's own result


@pytest.mark.parametrize(
    "folded, given",
    [
        ("kestrel-7", ("kestrel-7",)),
        ("kestrel-7", ("look for kestrel-7 now",)),
        ("kestrel-7.log", ("/var/log/kestrel-7.log",)),
        ('"kestrel-7"', ("kestrel-7",)),
        ("kestrel-7, heron-9", ("kestrel-7", "heron-9")),
        ("kestrel-7.heron-9", ("heron-9", "kestrel-7")),
        ("kestrel-7_heron-9", ("heron-9", "kestrel-7")),
        ("https://shop.example/pay", ("shop.example",)),
        ("pat@shop.example", ("shop.example",)),
        ("cc pat@shop.example", ("pat@shop.example",)),
    ],
)
def test_a_value_that_only_gives_back_what_was_given_is_an_echo(folded: str, given: tuple[str, ...]) -> None:
    assert echo(folded, given) == "echo"


@pytest.mark.parametrize("decoy", ["k", "kes", "7", "-", "rel"])
def test_a_decoy_does_not_hide_that_a_value_is_made_of_uncited_ones_alone(decoy: str) -> None:
    assert echo("kestrel-7heron-9", (decoy, "kestrel-7", "heron-9")) == "echo"


@pytest.mark.parametrize(
    "folded, given",
    [
        ("kestrel-7.log", ("kestrel-7",)),
        ("case kestrel-7", ("kestrel-7",)),
        ("kestrels", ("kestrel",)),
        ("notshop.example", ("shop.example",)),
        ("/srv/kestrel-7/a.log", ("/srv/kestrel-7",)),
    ],
)
def test_a_value_that_adds_something_of_its_own_wraps_what_was_given(folded: str, given: tuple[str, ...]) -> None:
    assert echo(folded, given) == "wraps"


@pytest.mark.parametrize(
    "folded, given",
    [
        ("heron-9", ("kestrel-7",)),
        ("heron-9", ()),
        ("src/app.py", ("src",)),
        ("strel", ("kestrel",)),
        ("10", ("1", "2")),
    ],
)
def test_a_value_of_its_own_is_neither(folded: str, given: tuple[str, ...]) -> None:
    assert echo(folded, given) is None


@pytest.mark.parametrize(
    "given",
    [
        tuple(f"{number:05x}" for number in range(10_000)),
        tuple("ab" * length for length in range(1, 1000)),
        tuple("a" * length for length in range(1, 1000)),
    ],
)
def test_twice_the_uncited_values_take_no_more_than_a_few_times_as_long(given: tuple[str, ...]) -> None:
    def seconds(some: tuple[str, ...]) -> float:
        taken = []
        for _ in range(3):
            started = time.process_time()
            for value in ("ab" * 1000 + "!x", "a" * 2000 + "z"):
                echo(value, some)
            taken.append(time.process_time() - started)
        return sorted(taken)[1]

    assert seconds(given) < 8 * max(seconds(given[: len(given) // 2]), 0.005)


def test_a_value_that_wraps_an_uncited_one_is_cited_weakly() -> None:
    agent = Agent()
    agent.reads("find", {"name": "kestrel"}, {"hits": ["kestrel-report", "heron-report"]})
    assert [agent.provenance(value).weak for value in ("kestrel-report", "heron-report")] == [True, False]


def test_what_a_refused_or_another_call_was_given_is_no_echo_here() -> None:
    agent = Agent()
    agent.reads("probe", {"name": "kestrel-7"}, {"known": False})
    agent.reads("list", {}, {"birds": ["kestrel-7"]})
    assert agent.kind("kestrel-7") == "observed"


def test_an_argument_that_is_cited_may_be_given_back() -> None:
    agent = Agent()
    agent.reads("list", {}, {"birds": ["kestrel-7"]})
    agent.reads("look", {"bird": "kestrel-7"}, {"bird": "kestrel-7"})
    assert [source.tool for source in agent.sources("kestrel-7")] == ["list", "look"]


def test_an_allowed_argument_is_an_uncited_value_like_any_other() -> None:
    agent = Agent()
    decision = agent.reads("look", {"comment": "kestrel-7"}, {"noted": "kestrel-7"})
    assert decision.status == "ok"
    assert agent.why("kestrel-7") == "echo"


# state: the run


@pytest.mark.parametrize("value", ["kestrel-7", 70217])
def test_a_value_that_a_call_may_have_stored_is_not_citable_from_any_later_result(value: Any) -> None:
    agent = Agent()
    agent.writes("note", {"text": value}, {"ok": True})
    agent.reads("list", {}, {"notes": [value]})
    assert agent.why(value) == "state"


def test_a_piece_of_a_stored_text_is_not_citable_either() -> None:
    agent = Agent()
    agent.writes("note", {"text": "look for kestrel-7 at the quay"}, {"ok": True})
    agent.reads("list", {}, {"birds": ["kestrel-7", "heron-9"]})
    assert agent.kind("kestrel-7") == "assumed"
    assert agent.kind("heron-9") == "observed"


def test_a_key_that_a_model_wrote_may_have_been_stored_too() -> None:
    agent = Agent()
    agent.call(Tool("label", schema=parameters("labels")), {"labels": {"kestrel-7": 1}}, {"ok": True})
    agent.reads("list", {}, {"labels": ["kestrel-7"]})
    assert agent.kind("kestrel-7") == "assumed"


def test_a_call_that_raised_may_have_stored_its_arguments() -> None:
    agent = Agent()
    agent.fails("note", {"text": "kestrel-7"}, TimeoutError())
    agent.reads("list", {}, {"notes": ["kestrel-7"]})
    assert agent.why("kestrel-7") == "state"


def test_a_call_that_never_ended_may_have_stored_its_arguments() -> None:
    agent = Agent()
    agent.start(Tool("note", schema=parameters("text")), {"text": "kestrel-7"})
    agent.reads("list", {}, {"notes": ["kestrel-7"]})
    assert agent.why("kestrel-7") == "state"


def test_what_was_observed_before_the_value_was_stored_stays_citable() -> None:
    agent = Agent()
    ticket = agent.start(Tool("note", schema=parameters("text")), {"text": "kestrel-7"})
    ticket.finish({"ok": True})
    other = Agent()
    other.reads("list", {}, {"notes": ["kestrel-7"]})
    other.writes("note", {"text": "kestrel-7"}, {"ok": True})
    assert agent.kind("kestrel-7") == "assumed"
    assert other.kind("kestrel-7") == "observed"


def test_a_result_that_arrives_while_a_write_is_running_is_already_under_suspicion() -> None:
    agent = Agent()
    reading = agent.start(Tool("list", schema=parameters(), read_only=True), {})
    agent.start(Tool("note", schema=parameters("text")), {"text": "kestrel-7"})
    reading.finish({"notes": ["kestrel-7"]})
    assert agent.why("kestrel-7") == "state"


def test_a_read_only_tool_stores_nothing() -> None:
    agent = Agent()
    agent.reads("probe", {"name": "kestrel-7"}, {"known": False})
    agent.reads("list", {}, {"birds": ["kestrel-7"]})
    assert agent.kind("kestrel-7") == "observed"


def test_a_stored_value_is_citable_once_the_user_says_it() -> None:
    agent = Agent()
    agent.writes("note", {"text": "kestrel-7"}, {"ok": True})
    agent.reads("list", {}, {"notes": ["kestrel-7"]})
    agent.run.user("yes, kestrel-7 it is")
    assert agent.kind("kestrel-7") == "observed"


def test_a_cited_value_may_be_stored_and_read_back() -> None:
    agent = Agent()
    agent.reads("list", {}, {"birds": ["kestrel-7"]})
    agent.writes("note", {"text": "kestrel-7"}, {"ok": True})
    agent.reads("notes", {}, {"all": ["kestrel-7"]})
    assert {source.tool for source in agent.sources("kestrel-7")} == {"list", "notes"}


def test_marks_bar_from_the_moment_of_the_first_marking_on() -> None:
    marks = Marks()
    marks.add(["kestrel-7 at the quay"], since=3)
    marks.add(["kestrel-7 at the quay"], since=9)
    assert not marks.bars("kestrel-7", 2)
    assert marks.bars("kestrel-7", 3)
    assert not marks.bars("kestrel-8", 3)


def test_marks_that_are_full_bar_everything_observed_from_then_on() -> None:
    marks = Marks()
    marks.add((f"n{number}" for number in range(MAX_MARKS)), since=1)
    assert not marks.bars("heron-9", 5)
    marks.add(["one more"], since=4)
    assert marks.bars("heron-9", 5)
    assert not marks.bars("heron-9", 3)


def test_a_text_too_large_to_mark_bars_everything_observed_from_then_on() -> None:
    marks = Marks()
    marks.add(["x" * (5 * 1024 * 1024)], since=2)
    assert marks.bars("heron-9", 2)
    assert not marks.bars("heron-9", 1)
