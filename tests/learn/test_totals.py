"""Totals of cited records: what recorded runs must show before a policy admits one, and what it then says."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.learn.test_learning import policy_of, rule
from tests.replay.recordings import call, kinds
from tests.replay.recordings import run as recorded

from citespan.core.policy import Policy
from citespan.learn import Learner, render
from citespan.policy_file import loads

AMOUNT = "pay.*.amount"


def booking(number: int, *, people: int = 1, fare: str = "economy", off: int = 0, card: int = 130) -> list[Any]:
    """Two flights found, then booked: the card with a known balance pays first, another one pays the rest."""
    chance = random.Random(number)
    flights = [
        {
            "flight": f"KX{number}{row}",
            "fares": {"basic": chance.randint(110, 300), "economy": chance.randint(310, 900)},
        }
        for row in range(4)
    ]
    rest = people * sum(flight["fares"][fare] for flight in flights[:2]) - card + off
    names = ["Kim", "Ada", "Bo", "Lee"][:people]
    return [
        call("search", result=flights),
        call("wallet", result={"people": names, "balance": card}),
        call(
            "book",
            legs=[{"flight": flight["flight"]} for flight in flights[:2]],
            people=names,
            pay=[{"amount": card}, {"amount": rest}],
        ),
    ]


def totals(policy: Policy) -> list[str]:
    return [str(made) for made in rule(policy, "book", AMOUNT).derive]


PLAIN = '{ total = { of = ["search.*.fares.economy"], records = "legs.*.flight", less = "pay.*.amount" } }'
TIMES = PLAIN.replace(" } }", ', times = "people" } }')


def test_a_total_that_two_tasks_show_is_declared_with_its_field() -> None:
    assert totals(policy_of(booking(1), booking(2)))[0] == PLAIN
    assert "derived" in (rule(policy_of(booking(1), booking(2)), "book", AMOUNT).accept or ())


def test_one_task_is_not_enough() -> None:
    assert totals(policy_of(booking(1))) == []
    assert totals(policy_of(booking(1), booking(2), profile="strict")) == []


def test_a_sum_of_anything_else_is_not_declared() -> None:
    assert totals(policy_of(*(booking(number, off=7 * number) for number in range(1, 9)))) == []


def test_different_members_are_one_field_with_a_star() -> None:
    (made, *_) = totals(policy_of(booking(1), booking(2, fare="basic")))
    assert made == PLAIN.replace("economy", "*")


def test_what_multiplied_it_is_declared() -> None:
    assert totals(policy_of(booking(1, people=2), booking(2, people=3))) == [TIMES]
    assert totals(policy_of(booking(1), booking(2, people=3))) == [TIMES]


def test_a_list_that_always_had_one_member_may_have_multiplied_it_and_the_policy_says_so() -> None:
    learner = Learner()
    for number in (1, 2):
        run = recorded(*booking(number), said=(f"Please see to the plot {number}",), id=f"r{number}", task=f"t{number}")
        learner.add(run)
    text = render(learner.draft("balanced"))
    assert totals(loads(text)) == [PLAIN, TIMES]
    assert f"{TIMES}, # the same total wherever it was seen: people always made one" in text


def test_what_was_computed_is_no_constant() -> None:
    """Its small values were declared otherwise, for any call."""
    cards = (1, 2), (2, 3)
    policy = policy_of(*(booking(number, card=_all_but(number, left)) for number, left in cards))
    assert totals(policy)
    assert rule(policy, "book", AMOUNT).values == ()


def _all_but(number: int, left: int) -> int:
    """A balance that leaves so little of a booking."""
    rest = booking(number)[-1]["arguments"]["pay"][1]["amount"]
    return int(rest) + 130 - left


@pytest.mark.parametrize("off, kind", [(0, "derived"), (1, "assumed"), (-130, "assumed")])
def test_the_policy_holds_on_a_task_that_it_was_not_learned_from(off: int, kind: str) -> None:
    policy = policy_of(booking(1, people=2), booking(2))
    found = kinds(recorded(*booking(7, people=4, off=off), said=("Book it",)), policy)
    assert (found[-3], found[-1]) == ("observed", kind)  # between them stands the key
