"""Totals: the sum of one member of the records that a call cites, and nothing that merely adds up."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from tests.core.helpers import Agent, kinds, parameters
from tests.pace import pace

from citespan.core.computation import Computation, computation
from citespan.core.decision import Decision
from citespan.core.kinds import Derived
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.guard.ports import Tool

FARES = {"of": ["search.*.fares.*"], "records": "legs.*.flight", "less": "pay.*.amount"}
TIMES = {**FARES, "times": "people"}
BOOK = Tool(
    "book",
    schema=parameters(
        "people",
        "seats",
        "note",
        legs={"type": "array", "items": {"type": "object", "properties": {"flight": {}, "day": {}}}},
        pay={"type": "array", "items": {"type": "object", "properties": {"amount": {}}}},
    ),
)
FLIGHTS = [
    {"flight": "KX136", "fares": {"basic": 52, "economy": 152}},
    {"flight": "KX039", "fares": {"basic": 47, "economy": 103}},
    {"flight": "KX200", "fares": {"basic": 61, "economy": 199}},
]


def agent(total: dict[str, Any], *results: Any, policy: dict[str, ToolRule] | None = None, **rules: Any) -> Agent:
    """An agent whose argument `pay.*.amount` is a total; `search` has returned some flights, `wallet` a balance."""
    arguments = {"pay.*.amount": ArgumentRule(derive=(computation({"total": total}),)), **rules}
    one = Agent(Policy(mode="tag", tools={"book": ToolRule(arguments=arguments), **(policy or {})}))
    for result in results or (FLIGHTS,):
        one.reads("search", {}, result)
    one.reads("wallet", {}, {"cards": [{"balance": 250}, {"balance": 40}]})
    return one


def book(one: Agent, *amounts: Any, legs: Any = ("KX136", "KX039"), **more: Any) -> Decision:
    pay, flights = [{"amount": amount} for amount in amounts], [{"flight": leg} for leg in legs]
    return one.judge({"legs": flights, "pay": pay, **more}, BOOK)


def paid(one: Agent, *amounts: Any, **more: Any) -> list[str]:
    """The kinds of the amounts."""
    return [kind for path, kind in kinds(book(one, *amounts, **more)).items() if path.startswith("pay.")]


def test_one_member_of_all_cited_records_adds_up() -> None:
    assert paid(agent(FARES), 152 + 103) == ["derived"]
    assert paid(agent(FARES), 52 + 47) == ["derived"]


def test_its_sources_are_the_members_and_what_was_taken_away() -> None:
    made = [tag.provenance for tag in book(agent(FARES), 250, 5).tags if tag.provenance.kind == "derived"]
    assert isinstance(made[0], Derived)
    assert made[0].rule == "total"
    assert [source.shown for source in made[0].sources] == ["0.fares.economy", "1.fares.economy", "cards.0.balance"]


@pytest.mark.parametrize("amount", [152 + 47, 152, 103, 152 + 103 + 199, 152 + 103 + 1, 52 + 47 + 152 + 103, 0])
def test_nothing_else_does(amount: int) -> None:
    """Not two different members, not some of the records, not more than them."""
    assert "derived" not in paid(agent(FARES), amount)


def test_a_record_that_the_call_does_not_cite_takes_no_part() -> None:
    assert paid(agent(FARES), 152 + 199) == ["assumed"]
    assert paid(agent(FARES), 152 + 199, legs=("KX136", "KX200")) == ["derived"]


def test_an_argument_that_cites_no_record_leaves_no_total() -> None:
    assert paid(agent(FARES), 255, legs=("KX136", "KX039", "KX999")) == ["assumed"]
    assert paid(agent(FARES), 255, legs=()) == ["assumed"]


def test_other_arguments_are_taken_away_wherever_they_stand() -> None:
    assert paid(agent(FARES), 250, 5) == ["observed", "derived"]
    assert paid(agent(FARES), 5, 250) == ["derived", "observed"]


def test_what_is_taken_away_must_be_cited() -> None:
    """Two amounts that nothing vouches for may be split in any way."""
    assert paid(agent(FARES), 100, 155) == ["assumed", "assumed"]
    one = agent(FARES)
    one.run.user("Take 100 from the first card")
    assert paid(one, 100, 155) == ["user", "derived"]


def test_what_is_computed_is_no_operand() -> None:
    """The first amount would be a total by itself; it is not cited, so the second one has nothing to be the rest of."""
    whole = {**FARES, "less": "fee"}
    assert paid(agent(whole), 255, 0) == ["derived", "assumed"]
    assert paid(agent(FARES), 255, 0) == ["assumed", "assumed"]


def test_a_list_of_the_call_multiplies_it_by_its_length() -> None:
    one = agent(TIMES)
    one.run.user("It is for Kim, for Bo and for Ada")
    assert paid(one, 3 * 255 - 250, 250, people=["Kim", "Bo", "Ada"]) == ["derived", "observed"]
    assert paid(one, 255, people=["Kim", "Bo", "Ada"]) == ["assumed"]
    assert paid(one, 255, people=[]) == ["assumed"]
    assert paid(one, 255) == ["assumed"]


def test_so_does_a_number_of_the_call_if_it_is_cited() -> None:
    one = agent({**FARES, "times": "seats"})
    assert paid(one, 2 * 255, seats=2) == ["assumed"]
    one.run.user("I want 2 seats")
    assert paid(one, 2 * 255, seats=2) == ["derived"]
    assert paid(one, 3 * 255, seats=2) == ["assumed"]


def test_a_record_counts_once() -> None:
    assert paid(agent(FARES), 2 * 152, legs=("KX136", "KX136")) == ["assumed"]


def test_the_same_name_in_two_results_is_two_records() -> None:
    """A flight on two days: either of its fares, or both where it is cited twice."""
    one = agent(FARES, FLIGHTS, [{"flight": "KX136", "fares": {"basic": 60, "economy": 180}}])
    assert paid(one, 152 + 180, legs=("KX136", "KX136")) == ["derived"]
    assert paid(one, 180, legs=("KX136",)) == ["observed"]
    assert paid(one, 180 + 103) == ["derived"]
    assert paid(one, 180 + 180, legs=("KX136", "KX136")) == ["assumed"]


def test_every_record_of_a_list_is_found_that_has_the_name() -> None:
    """The index names one leaf of a column; the others of the same value are records as well."""
    rows = [{"flight": "KX136", "fare": 150}, {"flight": "KX136", "fare": 190}, {"flight": "KX039", "fare": 103}]
    one = agent({**FARES, "of": ["search.*.fare"]}, rows)
    assert paid(one, 190 + 103) == ["derived"]
    assert paid(one, 150 + 103) == ["derived"]


def test_a_value_that_stands_in_too_many_records_names_none() -> None:
    rows = [{"flight": "KX136", "fare": 100 + 7 * number} for number in range(9)]
    one = agent({**FARES, "of": ["search.*.fare"]}, [*rows, {"flight": "KX039", "fare": 1000}])
    assert paid(one, 100 + 1000) == ["assumed"]


def test_a_key_names_the_record_below_it() -> None:
    by_key = {"KX136": {"fare": 152}, "KX039": {"fare": 103}}
    one = agent({**FARES, "of": ["search.flights.*.fare"]}, {"flights": by_key})
    assert paid(one, 152 + 103) == ["derived"]


def test_the_member_may_stand_in_different_results() -> None:
    of = ["search.*.fares.*", "connections.*.*.fares.*"]
    one = agent({**FARES, "of": of})
    one.reads("connections", {}, [[{"flight": "KX555", "fares": {"basic": 30, "economy": 90}}]])
    assert paid(one, 152 + 90, legs=("KX136", "KX555")) == ["derived"]
    assert paid(one, 152 + 30, legs=("KX136", "KX555")) == ["assumed"]


@pytest.mark.parametrize("server, kind", [("air", "derived"), ("sea", "assumed"), (None, "assumed")])
def test_a_server_can_be_bound(server: str | None, kind: str) -> None:
    one = agent({**FARES, "of": ["air/search.*.fares.*"]}, [])
    one.call(Tool("search", server=server, schema=parameters(), read_only=True), {}, FLIGHTS)
    assert paid(one, 255) == [kind]


def test_a_common_value_names_a_record_only_in_a_field_of_its_name() -> None:
    """A 2 that is some number in a record does not make the call cite it."""
    rows = [{"stops": 2, "flight": 7, "fare": 190}, {"stops": 0, "flight": 2, "fare": 300}]
    total = {**FARES, "of": ["search.*.fare"], "times": "seats"}
    one = agent(total, rows)
    one.run.user("I want 3 seats")
    assert paid(one, 3 * 300, legs=(2,), seats=3) == ["derived"]
    assert paid(one, 3 * 190, legs=(2,), seats=3) == ["assumed"]


def test_a_member_that_only_echoes_the_call_takes_no_part() -> None:
    """The search was given a fare that nothing vouches for, and returned it."""
    one = agent(FARES, FLIGHTS)
    one.reads("search", {"fare": 777}, [{"flight": "KX555", "fares": {"economy": 777}}])
    assert paid(one, 777 + 103, legs=("KX555", "KX039")) == ["assumed"]


def test_nor_does_a_record_whose_name_does() -> None:
    one = agent(FARES, FLIGHTS)
    one.reads("search", {"flight": "KX555"}, [{"flight": "KX555", "fares": {"economy": 777}}])
    assert paid(one, 777 + 103, legs=("KX555", "KX039")) == ["assumed"]


def test_nor_does_a_fare_that_an_earlier_call_may_have_stored() -> None:
    one = agent(FARES, FLIGHTS)
    one.writes("set_fare", {"fare": 777}, {"ok": True})
    one.reads("search", {}, [{"flight": "KX555", "fares": {"economy": 777}}])
    assert paid(one, 777 + 103, legs=("KX555", "KX039")) == ["assumed"]


def test_nor_a_result_of_the_same_step() -> None:
    one = agent(FARES)
    with one.step():
        one.reads("search", {}, [{"flight": "KX555", "fares": {"economy": 90}}])
        assert paid(one, 90 + 103, legs=("KX555", "KX039")) == ["assumed"]
    assert paid(one, 90 + 103, legs=("KX555", "KX039")) == ["derived"]


def test_an_exempt_argument_names_no_record() -> None:
    """Nothing vouches for commentary, so no total rests on what it holds."""
    one = agent({**FARES, "records": "note.*"}, policy={"search": ToolRule()})
    assert paid(one, 255, legs=(), note=["KX136", "KX039"]) == ["derived"]
    exempt = {"pay.*.amount": ArgumentRule(derive=(computation({"total": {**FARES, "records": "note.*"}}),))}
    one = agent(FARES, policy={"book": ToolRule(arguments=exempt, allow=frozenset({"note"}))})
    assert paid(one, 255, legs=(), note=["KX136", "KX039"]) == ["assumed"]


def test_the_rule_of_the_naming_argument_holds() -> None:
    """Where `from` names another field, the records of this one are not cited."""
    elsewhere = {"legs.*.flight": ArgumentRule(sources=("lookup.flight",))}
    assert paid(agent(FARES, **elsewhere), 255) == ["assumed"]


def test_numbers_that_are_text_count_where_they_are_declared() -> None:
    rows = [{"flight": "KX136", "fare": "152.50"}, {"flight": "KX039", "fare": "103.25"}]
    total = {**FARES, "of": ["search.*.fare"]}
    declared = ArgumentRule(derive=(computation({"total": total}),), projections=("number",))
    assert paid(agent(total, rows), 255.75) == ["assumed"]
    assert paid(agent(total, rows, **{"pay.*.amount": declared}), 255.75) == ["derived"]


def test_the_order_of_arguments_does_not_matter() -> None:
    one = agent(TIMES)
    one.run.user("It is for Kim and for Bo")
    arguments = {
        "pay": [{"amount": 260}, {"amount": 250}],
        "people": ["Kim", "Bo"],
        "legs": [{"flight": "KX039"}, {"flight": "KX136"}],
    }
    forwards = kinds(one.judge(arguments, BOOK))
    backwards = kinds(one.judge(dict(reversed(arguments.items())), BOOK))
    assert forwards == backwards
    assert forwards["pay.0.amount"] == "derived"


def test_a_bare_list_and_a_single_argument_name_records_as_well() -> None:
    rule = ArgumentRule(derive=(computation({"total": {"of": ["search.*.fare"], "records": "id", "times": "n"}}),))
    one = Agent(Policy(mode="tag", tools={"buy": ToolRule(arguments={"cost": rule})}))
    one.reads("search", {}, [{"id": "KX136", "fare": 152.1}])
    one.run.user("I want 3 of them")
    buy = Tool("buy", schema=parameters("id", "n", "cost"))
    assert kinds(one.judge({"id": "KX136", "n": 3, "cost": 456.3}, buy))["cost"] == "derived"


@pytest.mark.parametrize(
    "item, said",
    [
        ("total", "of and records"),
        ({"total": ["a.b"]}, "of and records"),
        ({"total": {"records": "a"}}, "of and records"),
        ({"total": {"of": ["user"], "records": "a"}}, "members of results"),
        ({"total": {"of": ["a.b"], "records": 3}}, "is a text"),
        ({"total": {"of": ["a.b"], "records": "a", "times": "a.*"}}, "named itself"),
        ({"total": {"of": ["a.b"], "records": "a", "round": 2}}, "no 'round'"),
        ({"sum": {"of": ["a.b"], "records": "a"}}, "no 'records'"),
    ],
)
def test_what_is_no_total_is_told(item: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        computation(item)


def test_it_is_written_as_a_policy_file_has_it() -> None:
    made = computation({"total": TIMES})
    assert made == Computation(
        "total", of=("search.*.fares.*",), records="legs.*.flight", less="pay.*.amount", times="people"
    )
    assert str(made) == (
        '{ total = { of = ["search.*.fares.*"], records = "legs.*.flight", less = "pay.*.amount", times = "people" } }'
    )


def test_a_made_up_amount_is_seldom_a_total() -> None:
    """In worlds of 120 flights with three fares, an amount in the range of totals is explained once in a hundred."""
    chance = random.Random(7)
    hits = tries = 0
    for _ in range(20):
        flights = [
            {"flight": f"KX{number}", "fares": {name: chance.randint(50, 500) for name in ("a", "b", "c")}}
            for number in range(1000, 1120)
        ]
        one = agent(FARES, flights[:60], flights[60:])
        legs = [flight["flight"] for flight in chance.sample(flights, 3)]
        seen = {fare for flight in flights for fare in flight["fares"].values()}
        for _ in range(50):
            amount = chance.randint(501, 1500)
            assert amount not in seen
            tries += 1
            hits += paid(one, amount, legs=legs) == ["derived"]
    assert tries == 1000
    assert hits <= 10


def test_many_amounts_of_one_call_cost_no_more_than_each_by_itself() -> None:
    """Ten times the amounts, each a total of the same records, cost about ten times as much."""
    total = {**FARES, "less": "fee"}
    one = agent(total, [{"flight": f"KX{number}", "fares": {"a": number}} for number in range(1000, 1060)])
    legs = [f"KX{number}" for number in range(1000, 1008)]

    def cost(amounts: int) -> float:
        return min(_seconds(one, amounts, legs) for _ in range(3))

    assert cost(1000) <= 15 * cost(100) + pace()


def _seconds(one: Agent, amounts: int, legs: list[str]) -> float:
    before = time.process_time()
    book(one, *range(10_000, 10_000 + amounts), legs=legs)
    return time.process_time() - before
