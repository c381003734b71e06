"""What is learned of dates: what computes them, by their name too, and which fixed one is declared, to be reviewed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.learn.test_learning import policy_of, rule
from tests.replay.recordings import call
from tests.replay.recordings import run as recorded

from citespan.core.computation import computation
from citespan.core.policy import Policy
from citespan.learn import PROFILES, Learner, render

SAID = tuple(map(computation, ("date_offset", "date_in_year")))
HOUR = computation({"date_offset": "1 hour"})


def booking(**arguments: Any) -> list[Any]:
    """A run that sees a date and books another."""
    return [call("get_booking", result={"date": "2031-05-18"}), call("book", **arguments)]


def lesson(day: int, tool: str = "plan", **names: str) -> list[Any]:
    """A run that sees the start of a lesson and plans one of an hour, which nobody said."""
    start, end = (f"2031-05-{day:02} {hour}:00" for hour in ("09", "10"))
    return [call("get_slot", result={"start": start}), call(tool, **{names.get("end", "end_time"): end})]


def test_a_day_that_was_said_without_a_year_is_learned_from_one_task_where_nothing_made_up_follows() -> None:
    run = booking(legs=[{"date": "2031-05-20"}, {"date": "2031-05-26"}])
    policy = policy_of(run, said=["go on May 20, return on May 26"])
    assert rule(policy, "book", "legs.*.date").derive == SAID
    assert rule(policy_of(run, said=["go some day"]), "book", "legs.*.date").derive == ()


def test_one_leaf_of_one_task_is_too_few_tries_to_tell() -> None:
    assert rule(policy_of(booking(date="2031-05-20"), said=["go on May 20"]), "book", "date").derive == ()


def test_strict_asks_for_three_tasks() -> None:
    runs = [booking(date="2031-05-20"), booking(date="2031-05-24"), booking(date="2031-06-03")]
    said = ["on May 20", "on May 24", "on June 3"]
    assert rule(policy_of(*runs, said=said, profile="strict"), "book", "date").derive == SAID
    assert rule(policy_of(*runs[:2], said=said, profile="strict"), "book", "date").derive == ()


def test_who_says_a_day_today_says_the_day_after_tomorrow() -> None:
    run = booking(legs=[{"date": "2031-05-19"}, {"date": "2031-05-19"}])
    assert rule(policy_of(run, said=["for the day after"]), "book", "legs.*.date").derive == SAID


def test_what_explains_made_up_dates_as_well_is_not_learned() -> None:
    seen = [call("get_days", result={"days": [f"2031-05-{day:02}" for day in range(1, 31)]})]
    run = [*seen, call("book", legs=[{"date": "2031-05-31"}, {"date": "2031-06-01"}])]
    said = ["in 1 day, 2 days, 3 days, 5 days, 11 days, 17 days, 23 days, or a week earlier"]
    assert rule(policy_of(run, run, run, said=said * 3), "book", "legs.*.date").derive == ()


def test_an_offset_that_nobody_said_needs_two_tasks() -> None:
    assert rule(policy_of(lesson(3), lesson(17)), "plan", "end_time").derive == (HOUR,)
    assert rule(policy_of(lesson(3)), "plan", "end_time").derive == ()


@pytest.mark.parametrize("name", ["end_time", "new_end_time", "updated_end_time"])
def test_a_date_of_the_same_name_is_computed_the_same_way_in_another_tool(name: str) -> None:
    cited = [call("get_slot", result={"start": "2031-05-09 08:00"}), call("move", **{name: "2031-05-09 08:00"})]
    policy = policy_of(lesson(3), lesson(17), cited)
    assert rule(policy, "move", name).derive == (HOUR,)
    assert rule(policy_of(lesson(3), lesson(17), cited, profile="strict"), "move", name).derive == ()


@pytest.mark.parametrize("name", ["start_time", "time", "newest_end_time", "end_time_zone"])
def test_another_name_is_not_kin(name: str) -> None:
    cited = [call("get_slot", result={"start": "2031-05-09 08:00"}), call("move", **{name: "2031-05-09 08:00"})]
    assert rule(policy_of(lesson(3), lesson(17), cited), "move", name).derive == ()


def test_what_holds_no_dates_is_not_kin_whatever_it_is_called() -> None:
    runs = [[call("get_n", result={"n": 512}), call("move", end_time=512)]] * 2
    assert rule(policy_of(lesson(3), lesson(17), *runs), "move", "end_time").derive == ()


def declared(argument: str, schema: Any, profile: str = "balanced") -> Policy:
    """What is learned where the recordings name a tool that no run called."""
    tools = {"plan": {}, "get_slot": {}, "move": {"parameters": {"properties": {argument: schema}}}}
    return policy_of(lesson(3), lesson(17), tools=tools, profile=profile)


def test_a_tool_that_the_recording_names_and_no_run_called_is_kin_too() -> None:
    for schema in ({"type": "string"}, {"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}):
        assert rule(declared("new_end_time", schema), "move", "new_end_time").derive == (HOUR,)
    assert rule(declared("new_end_time", {"type": "integer"}), "move", "new_end_time").derive == ()
    assert rule(declared("new_end_time", {"type": "string"}, "strict"), "move", "new_end_time").derive == ()
    assert rule(declared("new_end_time", {"type": "string"}), "never_named", "new_end_time").derive == ()


PAID = "2031-04-01"


def test_a_fixed_date_of_two_tasks_is_declared_over_the_tools_of_its_name() -> None:
    policy = policy_of([call("pay", date=PAID)], [call("refund", date=PAID)])
    for tool in ("pay", "refund"):
        assert rule(policy, tool, "date").values == (PAID,)


@pytest.mark.parametrize("profile", PROFILES)
def test_of_one_task_it_is_not_and_strict_never_declares_it(profile: str) -> None:
    assert rule(policy_of([call("pay", date=PAID)], profile=profile), "pay", "date").values == ()
    many = policy_of(*[[call("pay", date=PAID)]] * 6, profile=profile)
    assert rule(many, "pay", "date").values == (() if profile == "strict" else (PAID,))


def test_most_dates_being_new_ones_there_is_no_fixed_one() -> None:
    runs = [[call("pay", date=day)] for day in (PAID, PAID, "2031-04-02", "2031-04-07", "2031-05-11")]
    assert rule(policy_of(*runs), "pay", "date").values == ()


@pytest.mark.parametrize("argument", ["dob", "passenger_birthday", "expiry_date", "recipient", "api_key"])
def test_no_date_is_fixed_that_tells_or_proves_who_somebody_is(argument: str) -> None:
    policy = policy_of(*[[call("pay", **{argument: PAID})]] * 4, profile="loose")
    assert rule(policy, "pay", argument).values == ()


def test_a_date_that_can_be_computed_is_not_fixed() -> None:
    runs = [booking(date="2031-05-20"), booking(date="2031-05-20"), booking(date="2031-05-20")]
    policy = policy_of(*runs, said=["on May 20"] * 3)
    assert rule(policy, "book", "date").derive == SAID
    assert rule(policy, "book", "date").values == ()


def test_a_fixed_date_is_the_first_thing_that_a_person_must_look_at() -> None:
    learner = Learner()
    for index, bird in enumerate(("crane", "heron")):
        learner.add(recorded(call("pay", date=PAID), said=(f"see to the {bird} please",), id=bird, task=str(index)))
    review = " ".join(render(learner.draft("balanced")).replace("#", "").split())
    assert review.index(f"pay.date = {PAID}") < review.index("values: pay.date.")
    assert "hand today's date in as an input" in review
