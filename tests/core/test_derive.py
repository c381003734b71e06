"""Derived values: what a declared computation over cited operands yields, and nothing else."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import Agent, kinds, parameters
from tests.pace import pace

from citespan.core.arithmetic import SCALE, addends, literals, rounds_to, scaled
from citespan.core.computation import COMPUTATIONS, Computation, computation, placeholders
from citespan.core.decision import Decision
from citespan.core.kinds import Derived, Provenance
from citespan.core.moments import before, moment, quantities, quantity
from citespan.core.operands import MAX_OPERANDS
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule, Weak
from citespan.core.resolve import Rulebook, digest
from citespan.guard.ports import Tool

PAY = Tool("pay", schema=parameters("value", "note"))


def agent(*derive: Any, weak: Weak | None = None, text: tuple[str, ...] = (), **rule: Any) -> Agent:
    """An agent whose argument `pay.value` declares computations."""
    declared = ArgumentRule(derive=tuple(computation(item) for item in derive), weak=weak, **rule)
    tools = {"look": ToolRule(text=text), "pay": ToolRule(arguments={"value": declared})}
    return Agent(Policy(mode="tag", tools=tools))


def judged(one: Agent, value: Any, *, step: str | None = None) -> Provenance:
    return one.judge({"value": value}, PAY, step=step).tags[-1].provenance


def derived(one: Agent, value: Any) -> Derived | None:
    found = judged(one, value)
    return found if isinstance(found, Derived) else None


def kind(result: Any, value: Any, *derive: Any, said: str = "", **rule: Any) -> str:
    """The kind of an argument after one result of `look` and one message."""
    one = agent(*derive, **rule)
    one.reads("look", {}, result)
    if said:
        one.run.user(said)
    return judged(one, value).kind


# what a policy can say


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_every_computation_of_the_table_can_be_declared_and_says_its_risk(name: str) -> None:
    row = COMPUTATIONS[name]
    needed = {"template": {"template": "image_{id}.jpg"}, "total": {"total": {"of": ["a.*.b"], "records": "c"}}}
    item = needed.get(name, name)
    assert computation(item).rule == row.name == name
    assert row.brief.endswith(".")
    assert row.risk.endswith(".")


@pytest.mark.parametrize(
    "item, made",
    [
        ("round", Computation("round", digits=0)),
        ({"round": 2}, Computation("round", digits=2)),
        ({"round": {"to": "down"}}, Computation("round", digits=0, to="down")),
        ({"sum": 3}, Computation("sum", terms=3)),
        ({"sum": ["a.b", "user"]}, Computation("sum", of=("a.b", "user"))),
        ({"percent": "more"}, Computation("percent", form="more")),
        ({"percent": {"of": ["a.b", "user"], "round": 2}}, Computation("percent", of=("a.b", "user"), digits=2)),
        ({"date_offset": "1 hour"}, Computation("date_offset", by=("1 hour",))),
        ({"date_in_year": ["a.b"]}, Computation("date_in_year", of=("a.b",))),
        ({"expression": True}, Computation("expression")),
        ({"expression": [1, 100]}, Computation("expression", constants=(1, 100))),
    ],
)
def test_a_computation_has_short_forms(item: Any, made: Computation) -> None:
    assert computation(item) == made


@pytest.mark.parametrize(
    "item",
    [
        "summ",
        3,
        {},
        {"round": 2, "sum": 2},
        {"round": "2"},
        {"round": True},
        {"round": 99},
        {"sum": 1},
        {"sum": 5},
        {"sum": []},
        {"sum": ["user"]},
        {"sum": ["a.b"] * 5},
        {"sum": {"fields": ["a.b"]}},
        {"difference": ["a.b"]},
        {"difference": 2},
        {"product": ["a.b"]},
        {"percent": ["a.b"]},
        {"percent": "most"},
        {"date_offset": "soon"},
        {"date_offset": {"unit": "minutes"}},
        {"date_offset": {"by": "a.b", "unit": "fortnights"}},
        {"date_in_year": ["user"]},
        {"date_in_year": 2031},
        "template",
        {"template": 3},
        {"template": "plain"},
        {"template": "{id}"},
        {"template": "{a}{b}.jpg"},
        {"template": "{id"},
        {"template": "{id!r}.jpg"},
        {"template": "{}.jpg"},
        {"template": "x" * 300 + "{id}"},
        {"expression": "1"},
        {"expression": [True]},
    ],
)
def test_other_forms_are_refused(item: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        computation(item)


@pytest.mark.parametrize(
    "written",
    [
        '"round"',
        "{ round = 2 }",
        '{ round = { digits = 0, to = "down" } }',
        "{ sum = 3 }",
        '{ sum = ["a.b", "user"] }',
        '{ percent = { of = ["a.b", "user"], form = "less", round = 2 } }',
        '{ date_offset = { of = ["a.b"], by = ["a.m"], unit = "minutes" } }',
        '{ date_in_year = ["a.b"] }',
        '{ template = "image_{id}.jpg" }',
        "{ expression = [1] }",
    ],
)
def test_a_computation_is_written_as_a_policy_file_has_it(written: str) -> None:
    made = computation(tomllib.loads(f"x = {written}")["x"])
    assert str(made) == written.strip('"')


def test_a_computation_is_part_of_the_policys_digest() -> None:
    def policy(*items: Any) -> Policy:
        rule = ArgumentRule(derive=tuple(map(computation, items)))
        return Policy(tools={"pay": ToolRule(arguments={"value": rule})})

    digests = {digest(policy(item)) for item in ("sum", "product", {"sum": 3}, {"round": 2}, {"round": 3})}
    assert len(digests) == 5


def test_declaring_a_computation_accepts_its_kind_for_that_argument_alone() -> None:
    rule = ArgumentRule(accept=frozenset({"observed"}), derive=(computation("sum"),))
    rules = Rulebook(Policy(tools={"pay": ToolRule(arguments={"value": rule})})).tool("pay", None)
    assert rules.arguments["value"].accept == {"observed", "derived"}
    assert "derived" not in rules.accept


def test_a_derived_value_passes_in_enforce_mode_and_an_underivable_one_does_not() -> None:
    rule = ArgumentRule(derive=(computation("sum"),))
    one = Agent(Policy(tools={"pay": ToolRule(arguments={"value": rule})}))
    one.reads("look", {}, {"rent": 1450})
    one.run.user("increase it by 125 please")
    assert one.call(PAY, {"value": 1575}, "ok").status == "ok"
    with pytest.raises(PermissionError):
        one.call(PAY, {"value": 1576}, "ok")
    with pytest.raises(PermissionError):
        one.call(PAY, {"note": 1575}, "ok")


def test_an_observed_value_is_observed_even_where_it_could_be_derived() -> None:
    one = agent("sum")
    one.reads("look", {}, {"a": 1000, "b": 500, "c": 1500})
    assert judged(one, 1500).kind == "observed"


def test_a_strong_derivation_is_preferred_to_a_weak_citation() -> None:
    one = agent({"difference": ["look.total", "look.paid"]})
    one.reads("look", {}, {"total": 1000, "paid": 950, "seats": 50})
    assert judged(one, 50).kind == "derived"


def test_the_sources_are_those_of_the_operands_and_what_the_user_said_has_none() -> None:
    one = agent("sum")
    one.reads("look", {}, {"rent": 1450})
    one.reads("look", {}, {"fee": 125})
    found = derived(one, 1575)
    assert found is not None
    assert found.rule == "sum"
    assert {(source.path, source.call) for source in found.sources} == {("rent", 0), ("fee", 1)}
    other = agent("sum")
    other.run.user("1450 and 125")
    said = derived(other, 1575)
    assert said is not None
    assert said.sources == ()


# round


@pytest.mark.parametrize(
    "seen, used, item",
    [
        (10.038536, 10, "round"),
        (10.5, 11, "round"),
        (10.5, 10, "round"),
        (-10.5, -11, "round"),
        (10.038536, 10.04, {"round": 2}),
        (2.675, 2.68, {"round": 2}),
        (2.675, 2.67, {"round": 2}),
        (0.3, 0, "round"),
        (12345, 12300, {"round": -2}),
        (10.938536, 10, {"round": {"to": "down"}}),
        (10.038536, 11, {"round": {"to": "up"}}),
        (-10.2, -11, {"round": {"to": "down"}}),
    ],
)
def test_a_number_is_rounded(seen: float, used: float, item: Any) -> None:
    assert kind({"it": seen}, used, item) == "derived"


@pytest.mark.parametrize(
    "seen, used, item",
    [
        (10.038536, 11, "round"),
        (10.938536, 10, "round"),
        (10.5001, 10, "round"),
        (10.038536, 10.0, {"round": {"to": "up"}}),
        (10.038536, 10.03, {"round": 2}),
        (10.038536, 10.038, {"round": 2}),
        (10.938536, 11, {"round": {"to": "down"}}),
        (10.038536, "10", "round"),
        (True, 1, "round"),
        ("10.038536", 10, "round"),
        (1e300, 10, "round"),
        (99, 100, "round"),
    ],
)
def test_another_number_is_not(seen: Any, used: Any, item: Any) -> None:
    assert kind({"it": seen}, used, item) == "assumed"


def test_numeric_texts_are_operands_where_the_argument_declares_number() -> None:
    assert kind({"it": "10.038536"}, 10, "round", projections=("number",)) == "derived"
    assert kind({"it": "10.038536"}, "10", "round", projections=("number",)) == "derived"
    assert kind("fuel: 10.038536\nx: y", 10, "round", projections=("number",), text=("key_value",)) == "derived"


# sum, difference, product, percent


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ({"rent": 1450}, "increase it by 125.00", 1575, "sum"),
        ({"a": 0.1, "b": 0.2}, "", 0.3, "sum"),
        ({"a": 1000, "b": 200, "c": 30}, "", 1230, {"sum": 3}),
        ({"a": 1000, "b": 200, "c": 30, "d": 4}, "", 1234, {"sum": 4}),
        ({"a": 700, "b": [700]}, "", 1400, "sum"),
        ({"a": 1450, "b": 125}, "", 1325, "difference"),
        ({"a": 125, "b": 1450}, "", 1325, "difference"),
        ({"a": 250, "b": 300}, "", -50, "difference"),
        ({"price": 19.99}, "order 12 of them", 239.88, "product"),
        ({"bill": 240}, "tip 15%", 36, "percent"),
        ({"price": 200}, "5 percent more", 210, {"percent": "more"}),
        ({"price": 200}, "5 percent less", 190, {"percent": "less"}),
        ({"bill": 19.99}, "tip 15%", 3, {"percent": {"round": 2}}),
        ({"price": 3.333}, "take 2", 6.67, {"product": {"round": 2}}),
    ],
)
def test_a_number_is_computed_of_cited_ones(seen: Any, said: str, used: float, item: Any) -> None:
    assert kind(seen, used, item, said=said) == "derived"


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ({"rent": 1450}, "", 1575, "sum"),
        ({"rent": 1450}, "increase it by 125", 1576, "sum"),
        ({"rent": 1450}, "increase it by 125", "1575", "sum"),
        ({"rent": 1450}, "by 125 on 1.7.2031", 1457, "sum"),
        ({"rent": 700}, "", 1400, "sum"),
        ({"a": 1000, "b": 200, "c": 30}, "", 1230, "sum"),
        ({"a": 1000, "b": 200, "c": 30, "d": 4}, "", 1234, {"sum": 3}),
        ({"a": True, "b": 1450}, "", 1451, "sum"),
        ({"a": "125", "b": 1450}, "", 1575, "sum"),
        ({"a": 1450, "b": 125}, "", 1575, "difference"),
        ({"a": 1450, "b": 125}, "", 1325, "sum"),
        ({"a": 30}, "", 900, "product"),
        ({"bill": 240}, "tip 15%", 276, "percent"),
        ({"bill": 240}, "tip 15%", 36, {"percent": "more"}),
        ({"bill": 19.99}, "tip 15%", 3, "percent"),
        ({"bill": 19.99}, "tip 15%", 2.99, {"percent": {"round": 2}}),
        ({"a": 0.1, "b": 0.2}, "", 0.30000000000000004, "sum"),
    ],
)
def test_a_number_that_no_computation_yields_is_assumed(seen: Any, said: str, used: Any, item: Any) -> None:
    assert kind(seen, used, item, said=said) == "assumed"


CART = {"items": [{"price": 53.27}, {"price": 50.88}, {"price": 10}], "shipping": 4.5, "discount": 20}


@pytest.mark.parametrize(
    "used, of",
    [
        (114.15, ["look.items.*.price"]),
        (118.65, ["look.items.*.price", "look.shipping"]),
        (57.77, ["look.items.*.price", "look.shipping"]),
        (14.5, ["look.items.*.price", "look.shipping"]),
    ],
)
def test_a_sum_of_fields_takes_one_value_of_each_or_all_of_one_result(used: float, of: list[str]) -> None:
    assert kind(CART, used, {"sum": of}) == "derived"


@pytest.mark.parametrize(
    "used, of",
    [
        (104.15, ["look.items.*.price"]),
        (118.65, ["look.items.*.price"]),
        (57.77, ["look.items.*.price", "look.discount"]),
        (57.77, ["other/look.items.*.price", "look.shipping"]),
        (57.77, ["look.items.*.cost", "look.shipping"]),
        (134.15, ["look.items.*.price", "user"]),
    ],
)
def test_other_fields_and_a_part_of_all_values_are_no_operands(used: float, of: list[str]) -> None:
    assert kind(CART, used, {"sum": of}) == "assumed"


def test_all_values_of_a_field_are_those_of_one_result() -> None:
    one = agent({"sum": ["look.items.*.price"]})
    one.reads("look", {}, {"items": [{"price": 100}, {"price": 200}]})
    one.reads("look", {}, {"items": [{"price": 1000}, {"price": 2000}, {"price": 4000}]})
    assert derived(one, 300) is not None
    found = derived(one, 7000)
    assert found is not None
    assert [source.path for source in found.sources] == ["items.0.price", "items.1.price", "items.2.price"]
    for other in (7300, 3000, 6000, 1300):
        assert derived(one, other) is None


def test_a_value_that_is_no_number_makes_the_whole_sum_unknown() -> None:
    assert kind({"items": [{"price": 100}, {"price": None}]}, 100, {"sum": ["look.items.*.price"]}) == "observed"
    assert (
        kind({"items": [{"price": 100}, {"price": "x"}, {"price": 50}]}, 150, {"sum": ["look.items.*.price"]})
        == "assumed"
    )


def test_fields_keep_their_order_and_the_user_can_be_one() -> None:
    of = ["look.total", "look.paid", "user"]
    assert kind({"total": 1000, "paid": 300}, 650, {"difference": of}, said="less 50 please") == "derived"
    assert kind({"total": 1000, "paid": 300}, 700, {"difference": of}, said="less please") == "assumed"
    assert kind({"total": 300, "paid": 1000}, 650, {"difference": of}, said="less 50 please") == "assumed"
    assert kind({"a": 15, "b": 240}, 36, {"percent": ["look.b", "look.a"]}) == "derived"
    assert kind({"a": 15.5, "b": 240}, 37.2, {"percent": ["look.a", "look.b"]}) == "derived"
    assert kind({"a": 2.5, "b": 4, "c": 100}, 1000, {"product": ["look.a", "look.b", "look.c"]}) == "derived"


def test_a_field_may_bind_a_server_whose_name_has_dots() -> None:
    one = agent({"sum": ["shop.example.com/look.price", "user"]})
    one.call(Tool("look", "shop.example.com", parameters(), read_only=True), {}, {"price": 1000})
    one.call(Tool("look", "evil.example.com", parameters(), read_only=True), {}, {"price": 5000})
    one.run.user("add 250")
    assert derived(one, 1250) is not None
    assert derived(one, 5250) is None


def test_only_the_newest_numbers_are_operands() -> None:
    one = agent("sum")
    one.reads("look", {}, {"old": 100_000})
    one.reads("look", {}, {"new": [2 * number for number in range(1, MAX_OPERANDS)]})
    one.run.user("add 7")
    assert derived(one, 100_007) is None
    one.reads("look", {}, {"now": 500_000})
    assert derived(one, 500_007) is not None


def test_a_small_result_of_operands_that_nobody_named_is_weak() -> None:
    for item, weak in (("difference", True), ({"difference": ["look.total", "look.paid"]}, False)):
        one = agent(item)
        one.reads("look", {}, {"total": 1000, "paid": 950})
        found = derived(one, 50)
        assert found is not None
        assert found.weak is weak


def test_numbers_that_are_text_take_their_turn_among_the_newest() -> None:
    one = agent("sum", projections=("number",))
    one.reads("look", {}, {"a": "100000"})
    one.reads("look", {}, {"b": [3 * number for number in range(1, MAX_OPERANDS - 2)]})
    one.reads("look", {}, {"c": "500000"})
    one.run.user("add 7")
    assert derived(one, 500_007) is not None
    one.reads("look", {}, {"d": ["1", "2", "4", "5", "8"]})
    assert derived(one, 100_007) is None


def test_what_the_user_said_last_is_among_the_operands_however_much_was_said() -> None:
    one = agent("sum")
    one.run.user(" ".join(str(3000 + number) for number in range(500)))
    one.run.user("add 7 to it")
    one.reads("look", {}, {"rent": 1450})
    assert derived(one, 1457) is not None


def test_inputs_of_the_run_are_operands_of_the_user() -> None:
    rule = ArgumentRule(derive=(computation("sum"),))
    one = Agent(Policy(mode="tag", tools={"pay": ToolRule(arguments={"value": rule})}), raise_by=125)
    one.reads("look", {}, {"rent": 1450})
    found = derived(one, 1575)
    assert found is not None
    assert [source.path for source in found.sources] == ["rent"]


def test_a_bare_name_stands_for_its_plain_form_in_code() -> None:
    rule = ArgumentRule(derive=("sum",))
    one = Agent(Policy(mode="tag", tools={"pay": ToolRule(arguments={"value": rule})}))
    one.reads("look", {}, {"rent": 1450, "fee": 125})
    assert derived(one, 1575) is not None


def test_operands_are_found_again_after_the_ledger_had_to_drop_results() -> None:
    rule = ArgumentRule(derive=(computation("sum"),), projections=("dirname",))
    policy = Policy(mode="tag", bounds=Bounds(bytes=2_000), tools={"pay": ToolRule(arguments={"value": rule})})
    one = Agent(policy)
    for number in range(100):
        one.reads("look", {}, {"rent": 100_000 + number, "fee": 7_000, "path": f"d{number}/app.py"})
        assert derived(one, 107_000 + number) is not None
        assert judged(one, f"d{number}").kind == "observed"
    assert derived(one, 107_000) is None
    assert judged(one, "d0").kind == "assumed"


def test_a_sum_of_weak_operands_is_weak_and_so_is_one_of_more_than_two_unnamed_terms() -> None:
    one = agent({"sum": 3})
    one.reads("look", {}, {"a": 7, "b": 12, "c": 1000, "d": 20_000})
    assert [found.weak for value in (19, 1007, 21_007) if (found := derived(one, value))] == [True, False, True]


@pytest.mark.parametrize("weak, expected", [("count", "derived"), ("ignore", "assumed"), ("same_name", "assumed")])
def test_a_weak_derivation_counts_as_the_policy_says(weak: Weak, expected: str) -> None:
    assert kind({"a": 7, "b": 12}, 19, "sum", weak=weak) == expected
    named = {"count": "derived", "ignore": "assumed", "same_name": "derived"}[weak]
    assert kind({"a": 7, "b": 12}, 19, {"sum": ["look.a", "look.b"]}, weak=weak) == named


def test_from_binds_the_operands_that_are_not_named() -> None:
    one = agent("sum", sources=("look.rent",))
    one.reads("look", {}, {"rent": 1450, "other": 9000})
    one.run.user("add 125")
    assert derived(one, 1575) is not None
    assert derived(one, 9125) is None


# date_offset


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ("2031-05-18T08:00:00", "it lasts 5 hours", "2031-05-18 13:00", "date_offset"),
        ("2031-05-18 23:30", "for one hour", "2031-05-19T00:30:00", "date_offset"),
        ("2031-05-18T08:00:00", "for an hour and a half", "2031-05-18 09:30", "date_offset"),
        ("2031-05-18T08:00:00", "a 90-minute call", "2031-05-18 09:30", "date_offset"),
        ("2031-05-18T08:00:00", "make it 1 hour and 30 minutes", "2031-05-18 09:30", "date_offset"),
        ("2031-05-18", "two weeks later", "2031-06-01", "date_offset"),
        ("2031-05-18", "two days earlier", "2031-05-16", "date_offset"),
        ("2031-05-18", "in 1 month", "2031-06-18", "date_offset"),
        ("2031-05-18", "for the day after the original one", "2031-05-19", "date_offset"),
        ("2031-05-18", "The Day Before, please", "2031-05-17", "date_offset"),
        ("2031-05-18", "and the very next day home", "2031-05-19", "date_offset"),
        ("2031-05-18", "move it to the following week", "2031-05-25", "date_offset"),
        ("2031-05-18", "the previous month", "2031-04-18", "date_offset"),
        ("2031-05-18", "a day later", "2031-05-19", "date_offset"),
        ("2031-05-18", "tomorrow", "2031-05-19", "date_offset"),
        ("2031-05-18", "It was yesterday.", "2031-05-17", "date_offset"),
        ("2031-05-18", "the day after tomorrow", "2031-05-20", "date_offset"),
        ("2031-05-18", "the week after next", "2031-06-01", "date_offset"),
        ("2031-05-18T08:00:00", "the same time the next day", "2031-05-19T08:00:00", "date_offset"),
        ("2031-12-18", "in 2 years", "2033-12-18", "date_offset"),
        ("2031-05-18T08:00:00", "in 3 days", "2031-05-21", "date_offset"),
        ("08:00", "for 2 hours", "10:00", "date_offset"),
        ("2031-05-18T08:00:00Z", "5 hours", "2031-05-18 13:00", "date_offset"),
        ("2031-05-18T08:00:00+02:00", "5 hours", "2031-05-18T13:00:00+02:00", "date_offset"),
        ("2031-05-18T08:00:00", "", "2031-05-18T09:00:00", {"date_offset": "1 hour"}),
        ("2031-05-18", "", "2031-05-17", {"date_offset": "-1 day"}),
        ("2031-05-18T08:00:00", "", "2031-05-18T08:45:00", {"date_offset": ["30 minutes", "45 minutes"]}),
    ],
)
def test_a_date_is_moved_by_a_cited_quantity_of_time(seen: str, said: str, used: str, item: Any) -> None:
    assert kind({"start": seen}, used, item, said=said) == "derived"


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ("2031-05-18T08:00:00", "", "2031-05-18 13:00", "date_offset"),
        ("2031-05-18T08:00:00", "it lasts 5 hours", "2031-05-18 12:00", "date_offset"),
        ("2031-05-18T08:00:00", "it lasts 5 hours", "2031-05-18 03:00", "date_offset"),
        ("2031-05-18T08:00:00", "5 people, some hours", "2031-05-18 13:00", "date_offset"),
        ("2031-05-18T08:00:00", "an hour and a half", "2031-05-18 09:00", "date_offset"),
        ("2031-05-18T08:00:00", "1 hour and 30 minutes", "2031-05-18 08:30", "date_offset"),
        ("2031-05-18T08:00:00", "two and a half hours", "2031-05-18 08:30", "date_offset"),
        ("2031-05-18T08:00:00", "5 hours", "18.5.2031 13:00", "date_offset"),
        ("2031-05-18T08:00:00", "5 hours", "2031-05-18 13:00 h", "date_offset"),
        ("2031-05-18T08:00:00Z", "5 hours", "2031-05-18T13:00:00+02:00", "date_offset"),
        ("2031-05-18", "5 hours", "2031-05-18 05:00", "date_offset"),
        ("2031-05-18", "for the day after the original one", "2031-05-17", "date_offset"),
        ("2031-05-18", "for the day after the original one", "2031-05-20", "date_offset"),
        ("2031-05-18", "the day before", "2031-05-19", "date_offset"),
        ("2031-05-18", "I am off next week", "2031-05-25", "date_offset"),
        ("2031-05-18", "next day delivery", "2031-05-19", "date_offset"),
        ("2031-05-18", "on the day", "2031-05-19", "date_offset"),
        ("2031-05-18", "the day afternoon tea was served", "2031-05-19", "date_offset"),
        ("2031-05-18", "run tomorrow/clean.sh", "2031-05-19", "date_offset"),
        ("2031-05-18", "the days before", "2031-05-17", "date_offset"),
        ("see 2031-05-18", "the day after", "2031-05-19", "date_offset"),
        ("2031-05-18", "30 hours", "2031-05-19", "date_offset"),
        ("2031-01-31", "in 1 month", "2031-02-28", "date_offset"),
        ("2031-01-31", "in 1 month", "2031-03-03", "date_offset"),
        ("23:00", "for 2 hours", "01:00", "date_offset"),
        ("2031-05-18T08:00:00", "2 hours", "2031-05-18 09:00", {"date_offset": "30 minutes"}),
        ("2031-05-18T08:00:00", "0 hours", "2031-05-18 08:00", "date_offset"),
        ("see 2031-05-18T08:00:00", "5 hours", "2031-05-18 13:00", "date_offset"),
        ("0001-01-01", "two days earlier", "9999-12-30", "date_offset"),
    ],
)
def test_another_date_is_not(seen: str, said: str, used: str, item: Any) -> None:
    assert kind({"start": seen}, used, item, said=said) == "assumed"


def test_a_date_that_the_user_said_can_be_moved() -> None:
    assert kind({}, "2031-05-18 13:00", "date_offset", said="on 2031-05-18 at 12:00, for one hour") == "derived"
    assert kind({}, "2031-05-18 14:00", "date_offset", said="on 2031-05-18 at 12:00, for one hour") == "assumed"


def test_the_fields_of_the_date_and_of_the_quantity_can_be_named() -> None:
    item = {"date_offset": {"of": ["look.start"], "by": "look.minutes", "unit": "minutes"}}
    seen = {"start": "2031-05-18T08:00:00", "end": "2031-05-18T09:00:00", "minutes": 45, "seats": 30}
    assert kind(seen, "2031-05-18T08:45:00", item) == "derived"
    for other in ("2031-05-18T09:45:00", "2031-05-18T08:30:00"):
        assert kind(seen, other, item, said="45 minutes or 30 minutes") == "assumed"
    words = {"date_offset": {"by": "look.lasts"}}
    assert kind({"start": "2031-05-18T08:00:00", "lasts": "2 hours"}, "2031-05-18T10:00:00", words) == "derived"
    assert kind({"start": "2031-05-18T08:00:00", "lasts": "about 2 hours"}, "2031-05-18T10:00:00", words) == "assumed"


def test_the_source_of_a_moved_date_is_the_date() -> None:
    one = agent("date_offset")
    one.reads("look", {}, {"start": "2031-05-18T08:00:00"})
    one.run.user("it lasts 5 hours")
    found = derived(one, "2031-05-18 13:00")
    assert found is not None
    assert [source.path for source in found.sources] == ["start"]
    assert not found.weak


# date_in_year


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ("2031-05-18", "from Graz on May 20", "2031-05-20", "date_in_year"),
        ("2031-05-18T08:00:00", "from Graz on the 3rd of June", "2031-06-03", "date_in_year"),
        ("2031-05-18", "May 20-22", "2031-05-22", "date_in_year"),
        ("2031-05-18", "May 20 at 1 pm", "2031-05-20 13:00", "date_in_year"),
        ("2031-05-18", "on May 20", "20 May 2031", "date_in_year"),
        ("2032-05-18", "on Feb 29", "2032-02-29", "date_in_year"),
        ("2031-05-18", "on May 20", "2031-05-20", {"date_in_year": ["look.start"]}),
    ],
)
def test_a_day_that_was_said_without_a_year_is_one_of_a_cited_dates_year(
    seen: str, said: str, used: str, item: Any
) -> None:
    assert kind({"start": seen}, used, item, said=said) == "derived"


@pytest.mark.parametrize(
    "seen, said, used, item",
    [
        ("2031-05-18", "on May 20", "2032-05-20", "date_in_year"),
        ("2031-05-18", "on May 20", "2031-05-21", "date_in_year"),
        ("2031-05-18", "on May 20", "2031-06-20", "date_in_year"),
        ("2031-05-18", "in May, for 20 people", "2031-05-20", "date_in_year"),
        ("2031-05-18", "on May 20", "2031-05-20 13:00", "date_in_year"),
        ("2031-05-18", "on May 20, 2030", "2031-05-20", "date_in_year"),
        ("2031-05-18", "on May 20, 2030, so on May 20", "2031-05-20", "date_in_year"),
        ("2031-05-18", "on May 20 of next year", "2031-05-20", "date_in_year"),
        ("2031-05-18", "on 5/6", "2031-05-06", "date_in_year"),
        ("2031-05-18", "on Feb 29", "2031-02-29", "date_in_year"),
        ("see 2031-05-18", "on May 20", "2031-05-20", "date_in_year"),
        ("2031", "on May 20", "2031-05-20", "date_in_year"),
        ("2031-05-18", "on May 20", "05-20", "date_in_year"),
        ("2031-05-18", "in May", "May 2031", "date_in_year"),
        ("2031-05-18", "on May 20", "2031-05-20", {"date_in_year": ["look.end"]}),
        ("2031-05-18", "on May 20", "2031-05-20", "date_offset"),
    ],
)
def test_another_day_year_or_time_is_not(seen: str, said: str, used: str, item: Any) -> None:
    assert kind({"start": seen}, used, item, said=said) == "assumed"


def test_a_day_without_a_year_stays_uncited_where_nothing_is_declared() -> None:
    assert kind({"start": "2031-05-18"}, "2031-05-20", said="on May 20") == "assumed"


def test_the_year_is_that_of_a_result_and_not_of_a_message() -> None:
    assert kind({}, "2031-05-20", "date_in_year", said="on May 20; today is 2031-05-18") == "assumed"


def test_the_source_of_the_year_is_the_date_and_it_is_not_weak() -> None:
    one = agent("date_in_year")
    one.reads("look", {}, {"start": "2031-05-18"})
    one.run.user("on May 20")
    found = derived(one, "2031-05-20")
    assert found is not None
    assert [source.path for source in found.sources] == ["start"]
    assert not found.weak


def test_a_date_that_only_repeats_an_uncited_argument_supplies_no_year() -> None:
    one = agent("date_in_year")
    one.run.user("on May 20")
    one.reads("look", {"from": "2031-05-18"}, {"start": "2031-05-18"})
    assert derived(one, "2031-05-20") is None


# template


@pytest.mark.parametrize(
    "seen, said, used, template",
    [
        ({"id": 137}, "", "image_137.jpg", "image_{id}.jpg"),
        ({"id": "K-40211"}, "", "image_K-40211.jpg", "image_{id}.jpg"),
        ({"ID": "K-40211"}, "", "image_K-40211.jpg", "image_{id}.jpg"),
        ({}, "the one with id K-40211", "image_K-40211.jpg", "image_{id}.jpg"),
        ({"rows": [{"name": "a-b"}]}, "", "x/a-b/y", "x/{look.rows.*.name}/y"),
        ({"a": "left-x", "b": "right-y"}, "", "left-x-right-y", "{a}-{b}"),
        ({"a": "left", "b": "right"}, "", "{left}:right", "{{{a}}}:{b}"),
        ({"city": "Graz"}, "about 1200", "city=Graz&n=1200", "city={city}&n={user}"),
    ],
)
def test_a_template_is_filled_with_cited_values(seen: Any, said: str, used: str, template: str) -> None:
    assert kind(seen, used, {"template": template}, said=said) == "derived"


@pytest.mark.parametrize(
    "seen, said, used, template",
    [
        ({"id": 137}, "", "image_138.jpg", "image_{id}.jpg"),
        ({"id": 137}, "", "image_137.png", "image_{id}.jpg"),
        ({"id": 137}, "", "an image_137.jpg", "image_{id}.jpg"),
        ({"id": 137}, "", "image_0137.jpg", "image_{id}.jpg"),
        ({"id": 137}, "", "image_.jpg", "image_{id}.jpg"),
        ({"size": 137}, "", "image_137.jpg", "image_{id}.jpg"),
        ({"id": 137}, "", "image_137.jpg", "image_{look.key}.jpg"),
        ({"id": 137}, "", "image_137.jpg", "image_{user}.jpg"),
        ({}, "id 137", "image_137.jpg", "image_{look.id}.jpg"),
        ({"a": "left"}, "", "left-right", "{a}-{b}"),
        ({"id": "x" * 2000}, "", "image_" + "x" * 2000 + ".jpg", "image_{id}.jpg"),
        ({"id": 137}, "", 137, "image_{id}.jpg"),
    ],
)
def test_what_does_not_fill_a_template_is_assumed(seen: Any, said: str, used: Any, template: str) -> None:
    found = kind(seen, used, {"template": template}, said=said)
    assert found == ("observed" if used == 137 else "assumed")


def test_a_template_of_a_weak_value_is_weak() -> None:
    one = agent({"template": "image_{id}.jpg"})
    one.reads("look", {}, {"id": 7})
    found = derived(one, "image_7.jpg")
    assert found is not None
    assert found.weak


def test_placeholders_are_read_as_format_strings_have_them() -> None:
    assert placeholders("a{{b}}{c}d{e.f}") == (["a{b}", "d", ""], ["c", "e.f"])


# expression


@pytest.mark.parametrize(
    "used, item",
    [
        ("1450 + 125", "expression"),
        ("1450+125", "expression"),
        ("(1450 - 125) * 7.5 / 125", "expression"),
        ("-1450 + +125", "expression"),
        ("100 * (1 + 1450)", {"expression": [1, 100]}),
    ],
)
def test_an_expression_whose_numbers_are_cited_is_derived(used: str, item: Any) -> None:
    assert kind({"rent": 1450, "rate": 7.5}, used, item, said="by 125") == "derived"


@pytest.mark.parametrize(
    "used, item",
    [
        ("1450 + 126", "expression"),
        ("1450 + 125 * 2", "expression"),
        ("100 * (1 + 1450)", {"expression": [100]}),
        ("1450 ** 125", "expression"),
        ("1450 // 125", "expression"),
        ("1450 % 125", "expression"),
        ("1450 , 125", "expression"),
        ("1450 + rent", "expression"),
        ("abs(1450) + 125", "expression"),
        ("1450 + 1_25", "expression"),
        ("1450 + 1e2", "expression"),
        ("1450(125)", "expression"),
        ("1450 + 125; 1450", "expression"),
        ("1450 + '125'", "expression"),
        ("1450 +", "expression"),
        ("(" * 300 + "1450" + ")" * 300, "expression"),
        ("1450 + 125" + " " * 300, "expression"),
        ("__import__('os')", "expression"),
        ("lambda: 1450 + 125", "expression"),
        ("1 + 1", {"expression": [1]}),
    ],
)
def test_other_texts_are_no_expression(used: str, item: Any) -> None:
    assert kind({"rent": 1450, "rate": 7.5}, used, item, said="by 125") == "assumed"


def test_a_number_of_an_expression_that_a_float_does_not_hold_is_none() -> None:
    assert literals("0.12345678901234567 + 1") is None
    assert literals("1234567890123456 + 1") is None


# echo and state


def test_an_operand_that_only_echoes_is_none() -> None:
    one = agent("sum")
    one.reads("look", {"amount": 1450}, {"amount": 1450})
    one.run.user("add 125")
    assert derived(one, 1575) is None


def test_a_value_that_went_into_the_operands_call_uncited_is_not_derived_from_its_result() -> None:
    one = agent("sum")
    one.reads("split", {"amount": 1575}, {"parts": [1450, 125]})
    assert derived(one, 1575) is None
    assert derived(one, 1450) is None


def test_a_value_that_was_stored_uncited_is_not_derived_from_later_results() -> None:
    one = agent("sum", {"template": "image_{id}.jpg"}, "date_offset")
    one.writes("put", {"a": 1575, "b": "image_K-40211.jpg", "c": "2031-05-18 13:00"}, "ok")
    one.reads("look", {}, {"a": 1450, "b": 125, "id": "K-40211", "start": "2031-05-18T08:00:00"})
    one.run.user("it lasts 5 hours")
    for value in (1575, "image_K-40211.jpg", "2031-05-18 13:00"):
        assert derived(one, value) is None


def test_a_field_of_prose_yields_no_operands() -> None:
    one = agent("sum")
    one.reads("look", {}, [{"body": "Hello,\nall of this is a letter."}, {"body": 66_000}, {"rent": 1450}])
    assert derived(one, 67_450) is None


def test_calls_of_one_step_are_no_operands() -> None:
    one = agent("sum", "date_offset")
    one.run.user("add 125, for 5 hours")
    one.reads("look", {}, {"x": "y"}, step="one")
    one.reads("look", {}, {"rent": 1450, "start": "2031-05-18T08:00"}, step="one")
    for value in (1575, "2031-05-18 13:00"):
        assert judged(one, value, step="one").kind == "assumed"
        assert judged(one, value, step="two").kind == "derived"


def test_a_key_that_the_schema_does_not_name_is_never_derived() -> None:
    one = agent({"template": "image_{id}.jpg"})
    one.reads("look", {}, {"id": "K-40211"})
    tags = one.judge({"value": {"image_K-40211.jpg": 1}}, PAY).tags
    assert {tag.leaf.role: tag.provenance.kind for tag in tags}["key"] == "assumed"


def test_a_leaf_inside_a_list_is_derived_by_the_rule_of_its_pattern() -> None:
    rule = ArgumentRule(derive=(computation("sum"),))
    one = Agent(Policy(mode="tag", tools={"pay": ToolRule(arguments={"value.*.amount": rule})}))
    one.reads("look", {}, {"rent": 1450, "fee": 125})
    tool = Tool("pay", schema=parameters(value={"items": parameters("amount", "other")}))
    decision = one.judge({"value": [{"amount": 1575, "other": 1575}]}, tool)
    assert kinds(decision) == {"value.0.amount": "derived", "value.0.other": "assumed"}


# the cases that real agents showed, with values of our own


def test_a_rent_that_is_increased_by_what_the_user_said_is_derived_if_declared() -> None:
    for derive, expected in ((("sum",), "derived"), ((), "assumed")):
        assert kind({"recurring": [{"amount": 1450.0}]}, 1575, *derive, said="has increased by 125.00") == expected


def test_an_amount_of_fuel_that_is_rounded_is_derived_if_declared() -> None:
    for derive, expected in ((("round",), "derived"), ((), "assumed")):
        assert kind({"fuelLevel": 22.071942}, 22, *derive) == expected


def test_an_end_that_is_a_cited_start_and_a_said_duration_is_derived_if_declared() -> None:
    for derive, expected in ((("date_offset",), "derived"), ((), "assumed")):
        assert kind([{"start_time": "2033-02-07T09:00:00"}], "2033-02-07 16:00", *derive, said="7 hours") == expected


# properties


@given(
    st.lists(st.integers(-500, 500).map(lambda number: 2 * number), min_size=1, max_size=12),
    st.integers(-2000, 2000).map(lambda number: 2 * number + 1),
)
def test_what_no_computation_can_yield_is_never_derived(numbers: list[int], odd: int) -> None:
    one = agent({"sum": 4}, "difference", "product")
    one.reads("look", {}, {"numbers": numbers})
    assert judged(one, odd).kind == "assumed"


@given(
    st.lists(st.integers(100, 400) | st.floats(100, 400).map(lambda number: round(number, 2)), min_size=1, max_size=8),
    st.data(),
)
def test_whatever_is_derived_is_what_its_sources_yield(numbers: list[float], data: st.DataObject) -> None:
    one = agent("sum", "difference", {"round": 1})
    one.reads("look", {}, {"numbers": numbers})
    wanted = data.draw(
        st.integers(-300, 800) | st.sampled_from(numbers).map(lambda number: round(number + numbers[0], 2))
    )
    found = derived(one, wanted)
    if found is None:
        return
    exact = [scaled(numbers[int(source.path.rpartition(".")[2])]) or 0 for source in found.sources]
    match found.rule:
        case "sum":
            assert sum(exact) == scaled(wanted)
        case "difference":
            assert exact[0] - exact[1] == scaled(wanted)
        case _:
            assert rounds_to(scaled(wanted) or 0, exact[0], SCALE, 1)


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=9),
    st.integers(0, 120),
    st.integers(2, 4),
)
def test_a_sum_is_found_if_and_only_if_there_is_one(numbers: list[int], wanted: int, terms: int) -> None:
    exists = any(sum(some) == wanted for size in range(2, terms + 1) for some in combinations(numbers, size))
    found = addends(wanted, numbers, terms)
    assert (found is not None) == exists
    if found is not None:
        assert len(set(found)) == len(found) <= terms
        assert sum(numbers[at] for at in found) == wanted


@given(st.permutations(["value", "note", "other"]))
def test_the_order_of_arguments_decides_nothing(order: list[str]) -> None:
    rule = ArgumentRule(derive=(computation("sum"), computation("date_offset")))
    one = Agent(Policy(mode="tag", tools={"pay": ToolRule(arguments=dict.fromkeys(("value", "note", "other"), rule))}))
    one.reads("look", {}, {"rent": 1450, "fee": 125, "start": "2031-05-18"})
    one.run.user("two days later")
    arguments = {"value": 1575, "note": "2031-05-20", "other": 1576}
    decision: Decision = one.judge({name: arguments[name] for name in order}, Tool("pay", schema=parameters(*order)))
    assert kinds(decision) == {"value": "derived", "note": "derived", "other": "assumed"}


@given(st.integers(-40, 40), st.dates().map(str), st.sampled_from(["days", "weeks", "months"]))
def test_a_date_moved_back_and_forth_is_itself(number: int, day: str, unit: str) -> None:
    when, offset = moment(day), quantity(f"{number} {unit}")
    assert when is not None
    assert offset is not None
    back = before(when, offset)
    if back is not None:
        other = quantity(f"{-number} {unit}")
        assert other is not None
        assert before(back, other) == when


# bounds and time


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the fastest of three runs."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize(
    "item, value",
    [
        ({"sum": 4}, 10**9 + 1),
        ("product", 10**9 + 1),
        ({"percent": "more"}, 10**9 + 1),
        ({"sum": ["look.numbers.*", "look.numbers.*", "look.numbers.*", "look.numbers.*"]}, 10**9 + 1),
        ({"round": 2}, 10**9 + 1),
        ("date_offset", "2031-05-18"),
        ({"date_in_year": ["look.none"]}, "2030-05-20"),
        ({"template": "{a}-{b}-{c}-{d}+{e}"}, "-" * 900 + "+x"),
        ({"template": "{a}-{b}"}, "-" * 900),
        ("expression", "1+" * 100 + "1"),
    ],
)
def test_a_search_does_not_grow_with_the_ledger(item: Any, value: Any) -> None:
    def search(size: int) -> float:
        one = agent(item)
        for part in range(4):
            numbers = [1000 + 7 * number + part for number in range(size // 4)]
            one.reads(
                "look", {}, {"numbers": numbers, "days": [f"2030-{1 + n % 12:02}-{1 + n % 28:02}" for n in numbers]}
            )
        one.run.user("for 5 hours, or 3 days, or 2 weeks, on May 20")
        assert judged(one, value).kind == "assumed"
        return seconds(lambda: judged(one, value))

    assert search(40_000) < 10 * max(search(4_000), 0.002)


def test_quantities_of_time_are_found_in_linear_time() -> None:
    for unit in (
        "one ",
        "1 hour ",
        "half ",
        "1-",
        "and a half ",
        "5 hours and ",
        "the day after ",
        "the ",
        "tomorrow ",
    ):
        short, long = unit * (20_000 // len(unit)), unit * (80_000 // len(unit))
        first = seconds(lambda: list(quantities(short)))  # noqa: B023
        assert seconds(lambda: list(quantities(long))) < 10 * max(first, 0.002)  # noqa: B023


def test_an_expression_is_read_in_linear_time() -> None:
    for unit in ("1", "(", "1+", "-", " ", "1.", "()"):
        started = time.process_time()
        literals(unit * 128)
        literals(unit * 100_000)
        assert time.process_time() - started < 25 * pace()


def test_a_computation_of_the_policy_survives_as_json() -> None:
    made = computation({"percent": {"of": ["look.b", "user"], "round": 2}})
    unsaid = ["", "", []]
    of_totals = ["", "", ""]
    assert json.loads(json.dumps(made)) == [
        *("percent", ["look.b", "user"], 2, "nearest", 2, "of", []),
        *unsaid,
        *of_totals,
    ]
