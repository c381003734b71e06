"""Totals and dates under attack: a value that nothing vouches for, an order that decides, and time that runs away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.helpers import Agent, kinds, parameters
from tests.core.test_totals import BOOK, FARES, FLIGHTS, TIMES, agent, book, paid
from tests.learn.test_totals import AMOUNT
from tests.pace import pace
from tests.replay.recordings import call
from tests.replay.recordings import run as recorded

from citespan.core.computation import Computation, computation
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.user import UserText
from citespan.guard.ports import Tool
from citespan.learn import Learner, render
from citespan.policy_file import loads

FARE = {**FARES, "of": ["search.*.fare"]}


# what multiplies a total


@pytest.mark.parametrize("people", [["x-1", "x-2", "x-3"], ["Kim", "x-2", "x-3"], [None, None, None], [[], [], []]])
def test_a_list_that_nothing_vouches_for_multiplies_nothing(people: list[Any]) -> None:
    """Its length would be any number that the model likes."""
    one = agent(TIMES)
    one.run.user("It is for Kim")
    assert paid(one, 3 * 255, people=people) == ["assumed"]


def test_nor_does_one_whose_members_are_choices_of_the_schema() -> None:
    """A choice is the model's own, so its repetition is a free number."""
    bags = {"type": "array", "items": {"type": "object", "properties": {"kind": {"enum": ["checked", "cabin"]}}}}
    tool = Tool("book", schema=parameters("people", bags=bags, legs={}, pay={}))
    one = agent({**FARES, "times": "bags"})
    arguments = {"legs": [{"flight": "KX136"}], "pay": [{"amount": 456}], "bags": [{"kind": "checked"}] * 3}
    assert kinds(one.judge(arguments, tool))["pay.0.amount"] == "assumed"


def test_a_member_is_vouched_for_by_any_of_its_leaves() -> None:
    people = {"type": "array", "items": {"type": "object", "properties": {"name": {}, "meal": {}}}}
    tool = Tool("book", schema=parameters("seats", legs={}, pay={}, people=people))
    one = agent(TIMES)
    one.run.user("It is for Kim and for Bo")
    given = [{"name": "Kim", "meal": "whatever"}, {"name": "Bo", "meal": "whatever"}]
    arguments = {"legs": [{"flight": "KX136"}], "pay": [{"amount": 304}], "people": given}
    assert kinds(one.judge(arguments, tool))["pay.0.amount"] == "derived"


# the order of the arguments


def _twice(legs: int) -> list[dict[str, Any]]:
    """Flights that each stand in two records, with fares of which no two choices have one sum."""
    return [{"flight": f"KX{number}", "fare": 200_000 + at * 2**number} for number in range(legs) for at in (0, 1)]


def test_of_very_many_choices_the_order_of_the_arguments_decides_nothing() -> None:
    chance = random.Random(3)
    flights = _twice(10)
    legs = [f"KX{number}" for number in range(10)]
    one = agent(FARE, flights)
    found = set()
    for _ in range(20):
        amount = sum(chance.choice([row["fare"] for row in flights if row["flight"] == leg]) for leg in legs)
        orders = [legs, legs[::-1], chance.sample(legs, 10)]
        verdicts = {tuple(paid(one, amount, legs=order)) for order in orders}
        assert len(verdicts) == 1
        found |= verdicts
    assert found == {("derived",), ("assumed",)}, "some choices are tried, and some are not"


@pytest.mark.parametrize("legs", [("KX-A", "KX-B"), ("KX-B", "KX-A")])
def test_one_of_two_arguments_takes_the_record_that_the_other_leaves(legs: tuple[str, str]) -> None:
    """The first name stands in both records, the second in one of them."""
    rows = [{"flight": "KX-A", "code": "KX-B", "fare": 500}, {"flight": "KX-A", "code": "KX-C", "fare": 500}]
    for some in (rows, rows[::-1]):
        assert paid(agent(FARE, some), 1000, legs=legs) == ["derived"]


def test_three_arguments_do_not_share_two_records() -> None:
    rows = [{"flight": "KX-A", "code": "KX-B", "fare": 500}, {"flight": "KX-A", "code": "KX-C", "fare": 500}]
    assert paid(agent(FARE, rows), 1500, legs=("KX-A", "KX-B", "KX-C")) == ["assumed"]


@pytest.mark.parametrize("odd", [10**5000, ("a",), (10**5000,), [], None, 1.5], ids=lambda odd: type(odd).__name__)
def test_an_argument_that_is_no_name_leaves_no_total_and_breaks_nothing(odd: Any) -> None:
    """An error of the guard's own would deny a call that is well cited otherwise, and hide what it is."""
    decision = book(agent(FARES), 255, legs=("KX136", "KX039", odd))
    assert (decision.status, kinds(decision)["pay.0.amount"]) == ("flagged", "assumed")


def test_sources_stand_in_the_order_of_the_arguments() -> None:
    for legs, first in ((("KX136", "KX039"), "0"), (("KX039", "KX136"), "1")):
        made = book(agent(FARES), 255, legs=legs).tags[-1].provenance
        assert made.kind == "derived"
        assert made.sources[0].shown.startswith(first)


def test_equal_amounts_beside_which_other_ones_are_taken_away_are_told_apart() -> None:
    """Two arguments of one value need not be the rest of one sum."""
    rule = ArgumentRule(derive=(computation({"total": {**FARES, "less": "pay.*.amount"}}),))
    one = Agent(Policy(mode="tag", tools={"book": ToolRule(arguments={"pay.*.amount": rule, "fee": rule})}))
    one.reads("search", {}, FLIGHTS)
    one.run.user("Take 100 off")
    tool = Tool("book", schema=parameters("legs", "pay", "fee"))
    legs = [{"flight": "KX136"}, {"flight": "KX039"}]
    found = kinds(one.judge({"legs": legs, "pay": [{"amount": 155}, {"amount": 100}], "fee": 155}, tool))
    assert (found["pay.0.amount"], found["fee"]) == ("derived", "assumed"), (
        "what is computed is taken away from nothing"
    )


# names


def test_a_server_may_have_dots_in_its_name() -> None:
    one = agent({**FARES, "of": ["air.example/search.*.fares.*"]}, [])
    one.call(Tool("search", server="air.example", schema=parameters(), read_only=True), {}, FLIGHTS)
    assert paid(one, 255) == ["derived"]


@pytest.mark.parametrize("server", ["air", "example", "air.example.org", None])
def test_and_is_bound_as_a_whole(server: str | None) -> None:
    one = agent({**FARES, "of": ["air.example/search.*.fares.*"]}, [])
    one.call(Tool("search", server=server, schema=parameters(), read_only=True), {}, FLIGHTS)
    assert paid(one, 255) == ["assumed"]


# time


def _seconds(ask: Callable[[], Any]) -> float:
    before = time.process_time()
    ask()
    return time.process_time() - before


def _wide(rows: int) -> Any:
    """Records with very many members."""
    return [{"flight": "KX136", "fares": {f"k{number}": 1 for number in range(7_000)}} for _ in range(rows)]


def _empty() -> Any:
    """Very many rows of one name of which one in 128 has a member."""
    return [[{"flight": "KX136", "fares": {} if row else {"basic": 1}} for row in range(128)] for _ in range(256)]


@pytest.mark.parametrize(
    "of, result", [("search.*.fares.*", _wide(64)), ("search.*.*.fares.*", _empty())], ids=["wide", "empty"]
)
def test_what_a_result_holds_beside_the_records_costs_little(of: str, result: Any) -> None:
    """A result that somebody else wrote must not keep the guard busy, however often the call cites it."""
    one = agent({**FARES, "of": [of]}, result)
    one.kind("anything")  # reads the result
    assert _seconds(lambda: paid(one, 777, legs=("KX136",) * 64)) <= 15 * pace()


def test_a_sum_that_very_many_choices_make_costs_little() -> None:
    """No choice is strong, so all are asked for; they are tried for a value once, and not for each of its places."""
    letters = "abcdefghij"
    fares = [{f"f{one}{two}": number for one in letters[:6] for two in letters} for number in range(1, 9)]
    rows = [{"flight": f"KX{leg}", "fares": some} for leg in range(100, 108) for some in fares]
    one = agent({"of": ["search.*.fares.*"], "records": "legs.*.flight"}, rows)
    one.kind("anything")
    legs = [f"KX{leg}" for leg in range(100, 108)]
    assert _seconds(lambda: paid(one, *[20] * 100, legs=legs)) <= 15 * pace()


# what is learned of a recording that an attacker could write into


def _booking(number: int, **names: str) -> list[Any]:
    tool, legs, flight, people = (names.get(key, key) for key in ("search", "legs", "flight", "people"))
    chance = random.Random(number)
    rows: list[dict[str, Any]] = [{flight: f"KX{number}{row}", "fare": chance.randint(310, 900)} for row in range(4)]
    asked: dict[str, Any] = {legs: [{flight: row[flight]} for row in rows[:2]], people: ["Kim"]}
    rest = sum(row["fare"] for row in rows[:2]) - 130
    return [
        call(tool, result=rows),
        call("wallet", result={"people": ["Kim"], "balance": 130}),
        call("book", **asked, pay=[{"amount": 130}, {"amount": rest}]),
    ]


def _learned(**names: str) -> tuple[str, list[Computation]]:
    """The policy's text, and the totals of the amount."""
    learner = Learner()
    for number in (1, 2):
        said = (f"Please see to the plot {number}",)
        learner.add(recorded(*_booking(number, **names), said=said, id=f"r{number}", task=f"t{number}"))
    text = render(learner.draft("balanced"))
    rules = loads(text).tools["book"].arguments if "book" in loads(text).tools else {}
    return text, [made for made in (rules[AMOUNT].derive if AMOUNT in rules else ()) if isinstance(made, Computation)]


def test_it_is_learned_from_names_that_a_policy_can_say() -> None:
    assert [made.times for made in _learned()[1]] == ["", "people"]


@pytest.mark.parametrize("people", ['people\n]\n[defaults]\nmode = "off"\nallow = [ #', "pe*ple", " people ", "a..b\n"])
def test_a_name_of_an_argument_writes_nothing_into_the_policy(people: str) -> None:
    """Argument names are the model's own: one with a line break would be a line of the policy."""
    text, made = _learned(people=people)
    assert "mode" not in text
    assert [one.times for one in made] == [""]


@pytest.mark.parametrize("names", [{"legs": "le\ngs"}, {"flight": "7"}], ids=str)
def test_what_no_policy_can_say_is_not_learned(names: dict[str, str]) -> None:
    """It made a file that no version reads."""
    assert _learned(**names)[1] == []


@pytest.mark.parametrize("search", ["*", "se*ch", "se[a]rch", "search/"])
def test_nor_is_a_field_of_a_tool_whose_name_is_a_glob(search: str) -> None:
    """`*.fare` is a field of every tool's."""
    assert _learned(search=search)[1] == []


# dates


def _dated(rule: str, value: str, *said: str, reads: tuple[dict[str, Any], Any] = ({}, {"date": "2031-05-10"})) -> str:
    """The kind of a date under one computation."""
    arguments = {"value": ArgumentRule(derive=(computation(rule),))}
    one = Agent(Policy(mode="tag", tools={"use": ToolRule(arguments=arguments)}))
    for text in said:
        one.run.user(text)
    one.reads("get", *reads)
    return one.kind(value)


@pytest.mark.parametrize(
    "said",
    [
        "next year, on May 20, please",
        "Book me for next year: May 20",
        "In 2032, on May 20",
        "May 20, a year from now",
        "May 20, two years later",
        "May 20, '32",
    ],
)
def test_a_day_whose_year_was_said_apart_is_of_no_other(said: str) -> None:
    assert _dated("date_in_year", "2031-05-20", said) == "assumed"


@pytest.mark.parametrize(
    "said",
    [
        "Not next year. On May 20",
        "My trip is on May 18, 2031, move it to May 20",
        "from May 18, 2031 to May 20",
        "May 20 is a year-round thing",
    ],
)
def test_what_is_said_of_another_day_or_sentence_takes_nothing_away(said: str) -> None:
    assert _dated("date_in_year", "2031-05-20", said) == "derived"


@pytest.mark.parametrize(
    "given, returned",
    [
        ({"date": "2031-05-20"}, [{"departs": "2031-05-20T10:00:00"}]),
        ({"date": "2031-05-20"}, [{"departs": "2031-05-22T10:00:00"}]),
        ({"year": 2031}, [{"departs": "2031-01-01"}]),
    ],
)
def test_a_year_that_only_gives_back_what_the_call_was_given_is_an_echo(given: dict[str, Any], returned: Any) -> None:
    """The model made the year up, searched for it, and would cite what it found."""
    said = "leave on May 20, come back on May 21"
    assert _dated("date_in_year", "2031-05-21", said, reads=(given, returned)) == "assumed"
    assert _dated("date_in_year", "2031-05-21", said, reads=({}, returned)) == "derived"


def test_so_is_the_date_of_a_date_time() -> None:
    returned = [{"departs": "2031-05-20T10:00:00"}]
    assert _dated("date_offset", "2031-05-21", "the day after", reads=({"date": "2031-05-20"}, returned)) == "assumed"
    assert _dated("date_offset", "2031-05-21", "the day after", reads=({}, returned)) == "derived"


def test_a_month_in_short_follows_from_a_month_without_a_day() -> None:
    """To whoever gets `12/28` it may be a day."""
    for said in ("December 5, 2028", "2028-12-05", "12/15/2028", "December 28"):
        one = UserText()
        one.say(said)
        assert one.cites("12/28") is None
    for said in ("December 2028", "12/2028"):
        one = UserText()
        one.say(said)
        assert one.cites("12/28") is not None


def test_many_dates_of_a_call_cost_little_where_the_user_said_much() -> None:
    """What a message says is read once, and not for each argument."""
    arguments = {"value": ArgumentRule(derive=(computation("date_offset"),))}
    one = Agent(Policy(mode="tag", tools={"use": ToolRule(arguments=arguments)}))
    one.run.user("so " * 30_000 + "the day after")
    one.reads("get", {}, {"date": "2031-05-10"})
    dates = [f"2031-07-{1 + number % 28:02d}" for number in range(300)]
    assert _seconds(lambda: one.judge({"value": dates})) <= 15 * pace()


def test_dates_that_may_not_be_cited_cost_little_however_many_there_are() -> None:
    fields = ["other.date", "another.date", "third.date"]
    arguments = {"value": ArgumentRule(derive=(computation({"date_in_year": fields}),))}
    one = Agent(Policy(mode="tag", tools={"use": ToolRule(arguments=arguments)}))
    one.run.user("on May 30")
    for _ in range(64):
        one.reads("get", {}, [{"date": f"2031-05-{10 + number % 20}"} for number in range(128)])
    one.kind("anything")
    assert _seconds(lambda: one.judge({"value": ["2031-05-30"] * 30})) <= 60 * pace()


def test_the_fixture_of_these_tests_is_what_it_seems() -> None:
    """A total of the cited records passes, so that what fails above fails for its own reason."""
    assert paid(agent(FARE, _twice(2)), 400_000 + 2, legs=("KX0", "KX1")) == ["derived"]
    assert kinds(book(agent(FARES), 255))["pay.0.amount"] == "derived"
    assert BOOK.schema is not None
