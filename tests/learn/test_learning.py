"""What is learned from recorded runs, how much must back it, and what is never learned however often it was seen."""

from __future__ import annotations

from typing import Any

import pytest
from tests.replay.recordings import call
from tests.replay.recordings import run as recorded

from citespan.core.policy import ArgumentRule, Policy
from citespan.core.resolve import Resolved, resolve
from citespan.learn import PROFILES, Learner, render
from citespan.policy_file import loads

WORDS = ["crane", "heron", "stork", "egret", "plover", "curlew", "godwit", "avocet"]


def policy_of(*calls: list[Any], profile: Any = "balanced", said: list[str] | None = None, **keys: Any) -> Policy:
    """The policy learned from runs of different tasks, one list of calls each."""
    learner = Learner()
    for index, some in enumerate(calls):
        text = f"Please see to the {WORDS[index % 8]} of plot {index} {said[index] if said else ''}"
        learner.add(recorded(*some, said=(text,), **keys | {"id": f"r{index}", "task": f"t{index}"}))
    return loads(render(learner.draft(profile)))


def rule(policy: Policy, tool: str, argument: str) -> ArgumentRule:
    return resolve(policy, tool, None).arguments.get(argument, ArgumentRule())


def tool(policy: Policy, name: str) -> Resolved:
    return resolve(policy, name, None)


def test_a_choice_that_two_tasks_show_is_declared() -> None:
    policy = policy_of([call("order", kind="buy")], [call("order", kind="buy")])
    assert rule(policy, "order", "kind").values == ("buy",)


def test_one_task_is_not_enough_however_often_it_is_repeated() -> None:
    learner = Learner()
    for index in range(5):
        learner.add(recorded(call("order", kind="buy"), said=("same words for all",), id=f"r{index}", task="one"))
    assert rule(loads(render(learner.draft("balanced"))), "order", "kind").values == ()


def test_strict_asks_for_more_tasks_than_balanced() -> None:
    runs = [[call("order", kind="buy")]] * 2
    assert rule(policy_of(*runs, profile="strict"), "order", "kind").values == ()


@pytest.mark.parametrize(
    "value",
    ["W77123", "src/app.py", "https://h.example/a", "kim@corp.example", 512900, "0044 7911 123456", "05/31", "09:30"],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_what_names_a_thing_is_never_declared(profile: str, value: Any) -> None:
    policy = policy_of(*[[call("send", what=value)]] * 6, profile=profile)
    assert rule(policy, "send", "what").values == ()
    assert "what" not in tool(policy, "send").allow


@pytest.mark.parametrize("argument", ["user_id", "orderId", "recipients", "password", "file_name", "to"])
def test_nor_is_anything_of_an_argument_whose_name_says_that_it_names_a_thing(argument: str) -> None:
    policy = policy_of(*[[call("send", **{argument: value})] for value in (7, 7, "bob", "bob", "bob")])
    assert rule(policy, "send", argument).values == ()


def test_both_truth_values_are_declared_once_one_is_needed() -> None:
    policy = policy_of([call("lock", on=True)], [call("lock", on=True)])
    assert set(rule(policy, "lock", "on").values) == {True, False}


def test_a_scale_is_declared_with_what_lies_between() -> None:
    policy = policy_of(*[[call("rate", stars=stars)] for stars in (2, 5, 4, 5)])
    assert rule(policy, "rate", "stars").values == (1, 2, 3, 4, 5)


def test_many_different_words_are_no_closed_set() -> None:
    policy = policy_of(*[[call("order", bird=word)] for word in WORDS])
    assert rule(policy, "order", "bird").values == ()


def test_prose_is_commentary() -> None:
    policy = policy_of(*[[call("send", text=f"I have seen to {n} of them, as you asked")] for n in ("one", "two")])
    assert tool(policy, "send").allow >= {"text"}


def test_commentary_of_one_tool_is_that_of_another_by_its_name_where_it_was_seen() -> None:
    runs = [[call("send", text=f"I have seen to {n}, as you asked")] for n in ("one", "two")]
    policy = policy_of(*runs, [call("post", text="done")])
    assert "text" in tool(policy, "post").allow
    assert "text" not in tool(policy, "never_seen").allow


@pytest.mark.parametrize("value", ["rm -rf / && echo done", "SELECT name FROM birds", "x = $(cat /etc/passwd)"])
def test_what_is_run_is_no_commentary(value: str) -> None:
    policy = policy_of(*[[call("note", text=value)]] * 4, profile="loose")
    assert "text" not in tool(policy, "note").allow


def test_an_argument_named_like_a_command_is_no_commentary() -> None:
    policy = policy_of(*[[call("bash", command="please show me all the files there")]] * 4, profile="loose")
    assert "command" not in tool(policy, "bash").allow


def test_a_computation_that_explains_what_was_uncited_is_declared() -> None:
    def day(amount: float) -> list[Any]:
        return [call("fuel_level", result={"gallons": amount}), call("fill", amount=round(amount))]

    policy = policy_of(day(10.038536), day(271.612), day(333.9))
    assert str(rule(policy, "fill", "amount").derive[0]) == "round"
    assert "derived" in (rule(policy, "fill", "amount").accept or ())


def test_a_computation_that_explains_anything_is_not() -> None:
    def sums(total: int) -> list[Any]:
        return [call("prices", result={"list": list(range(100, 160))}), call("pay", amount=total)]

    assert rule(policy_of(*map(sums, (211, 242, 267, 285))), "pay", "amount").derive == ()


def listing(name: str) -> list[Any]:
    text = "heron-1\nheron-2\n" + name
    return [call("ls", result=text), call("cut", name=name)]


def test_a_listing_that_was_needed_gets_a_text_projection() -> None:
    policy = policy_of(listing("stork-x"), listing("crane-y"))
    assert tool(policy, "ls").text == ("lines",)


def test_a_text_that_reads_as_prose_gets_none() -> None:
    def mail(name: str) -> list[Any]:
        text = f"Dear all, please have a look at what follows below\nand do tell me what you think of it\n{name}"
        return [call("read_mail", result=text), call("cut", name=name)]

    assert tool(policy_of(mail("stork-x"), mail("crane-y"), profile="loose"), "read_mail").text == ()


def taking(index: int, value: str) -> list[Any]:
    return [call("list_orders", result={"orders": [{"id": value}]}), call("cancel", order=value)]


def test_an_argument_that_always_comes_from_one_field_is_closed_to_it() -> None:
    policy = policy_of(*[taking(index, f"W{index}7{index}1{index}") for index in range(12)])
    found = rule(policy, "cancel", "order")
    assert found.sources == ("list_orders.orders.*.id",)
    assert found.accept is not None
    assert "user" in found.accept, "what the user says still counts"


def test_a_field_that_was_seen_once_keeps_an_argument_open() -> None:
    odd = [call("other", result={"order": "W99999"}), call("cancel", order="W99999")]
    policy = policy_of(*[taking(index, f"W{index}7{index}1{index}") for index in range(12)], odd)
    assert rule(policy, "cancel", "order").sources is None


def test_calls_that_failed_teach_nothing() -> None:
    policy = policy_of(*[[call("order", kind="buy", error="no such kind")]] * 4)
    assert rule(policy, "order", "kind").values == ()


def test_a_tool_that_only_reads_is_tagged_and_nothing_of_it_is_loosened() -> None:
    runs = [[call("find", text="all the birds that I have seen here")]] * 4
    policy = policy_of(*runs, hints={"find": True})
    assert (tool(policy, "find").mode, tool(policy, "find").read_only) == ("tag", True)
    assert "text" not in tool(policy, "find").allow


def test_nothing_is_said_of_tools_that_were_never_seen() -> None:
    policy = policy_of([call("order", kind="buy")], [call("order", kind="buy")])
    assert tool(policy, "never_seen") == tool(Policy(), "never_seen")
    assert policy.evolve(tools={}) == Policy()


def test_a_tool_with_the_name_of_a_glob_is_matched_alone() -> None:
    policy = policy_of([call("get[x]*", kind="buy")], [call("get[x]*", kind="buy")])
    assert rule(policy, "get[x]*", "kind").values == ("buy",)
    assert rule(policy, "getx", "kind").values == ()
