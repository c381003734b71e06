"""What a human said is cited as whole tokens: no part of a word, of an address, of a date or of a number."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.helpers import Agent

from citespan.core.policy import Policy
from citespan.core.user import UserText
from citespan.errors import UsageError
from citespan.guard.run import Run


def said(message: str, value: Any) -> bool:
    agent = Agent()
    agent.run.user(message)
    return agent.kind(value) == "user"


@pytest.mark.parametrize(
    "message, value",
    [
        ("please fix ticket 58213 in harbour/cranes", 58213),
        ("please fix ticket 58213 in harbour/cranes", "58213"),
        ("please fix ticket 58213 in harbour/cranes", "harbour/cranes"),
        ("Rename notes.md.", "notes.md"),
        ("open (src/app.py), then stop", "src/app.py"),
        ("mail kim@corp.example, today", "kim@corp.example"),
        ("it is 'Ada Byron' who asked", "Ada Byron"),
        ("set retries=12", "12"),
        ("pay $1,250.50 now", 1250.5),
        ("pay 1,250.50 now", "1,250.50"),
        ("order #90817", 90817),
        ("order #90817", "#90817"),
        ("cool it to -40 degrees", -40),
        ("from 2031-07-02 to 2031-07-09", "2031-07-09"),
        ("at 14:30 sharp", "14:30"),
        ("on July 2, 2031", "July 2, 2031"),
        ("see https://docs.example/a?b=1 for it", "https://docs.example/a?b=1"),
        ("30% of the 400 rows", 400),
        ("first line\nbranch: main", "main"),
        ("schreib an Jörg", "Jörg"),
    ],
)
def test_a_whole_token_of_a_message_is_cited(message: str, value: Any) -> None:
    assert said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("mail ann@gmail.com", "gmail.com"),
        ("mail ann@gmail.com", "ann"),
        ("open src/app.py", "app.py"),
        ("open src/app.py", "src"),
        ("rename notes.md", "notes"),
        ("rename notes.md", "md"),
        ("see https://docs.example/a", "docs.example"),
        ("see https://docs.example/a", "https://docs.example"),
        ("fix ticket 58213", "5821"),
        ("fix ticket 58213", 8213),
        ("fix T-58213", 58213),
        ("use v2.4", 2),
        ("use v2.4", 4),
        ("raise it to 12.5", 12),
        ("raise it to 12.5", 5),
        ("cool it to -40", 40),
        ("the sum is 1,250", 250),
        ("the sum is 1,250", 1),
        ("between 10-20", 10),
        ("branch feature_x", "feature"),
        ("well-known", "known"),
        ("+49 170 5550123", "49"),
    ],
)
def test_a_part_of_a_token_is_not_cited(message: str, value: Any) -> None:
    assert not said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("meet on 2031-07-02", 2031),
        ("meet on 2031-07-02", 7),
        ("meet on 2031-07-02", "07"),
        ("meet on 02/07/2031", 2031),
        ("meet on 02/07/2031", "02"),
        ("meet on 2.7.2031", 2),
        ("meet on July 14th", 14),
        ("meet on July 14", 14),
        ("meet on 14 July 2031", 14),
        ("meet on 14 July 2031", 2031),
        ("meet on Jul. 14, 2031", "14"),
        ("meet on the 14th of July", 14),
        ("meet on the 14th", 14),
        ("meet in July 2031", 2031),
        ("meet at 14:30", 14),
        ("meet at 14:30", 30),
        ("meet at 9 pm", 9),
        ("meet at 9:15 a.m.", 15),
        ("since 2031-07-02T08:45:10", 45),
    ],
)
def test_a_number_inside_a_date_or_a_time_is_no_token(message: str, value: Any) -> None:
    assert not said(message, value)


def test_a_date_that_was_spelt_grants_only_the_parts_that_were_said() -> None:
    assert said("on July 14", "July 14")
    assert not said("on July 14", "2031-07-14")
    assert not said("on July 14", "July 14, 2031")


def test_a_number_that_stands_beside_a_date_is_a_token_of_its_own() -> None:
    assert said("on July 14 ship 250 crates", 250)


@pytest.mark.parametrize("value", [True, False, None, "", [], {}])
def test_what_cannot_be_said_is_not_cited(value: Any) -> None:
    assert not said("true false null none yes no [] {}", value)


def test_a_boolean_is_no_number_and_a_number_is_no_boolean() -> None:
    assert not said("use 1", True)


@pytest.mark.parametrize(
    "message, value, projection",
    [
        ("ask Ada Byron", "Ada Byron", "exact"),
        ("ask Ada  Byron", "Ada Byron", "casefold"),
        ("ask ADA BYRON", "Ada Byron", "casefold"),
        ("book flight hat083", "HAT083", "casefold"),
        ("pay $1,100.00", 1100, "number"),
        ("for twenty-five guests", 25, "number_word"),
        ("on May 26th, 2031", "2031-05-26", "date"),
    ],
)
def test_a_folding_of_what_was_said_is_a_projection_with_a_name(message: str, value: Any, projection: str) -> None:
    agent = Agent()
    agent.run.user(message)
    found = agent.provenance(value)
    assert found.kind == "user"
    assert found.projection == projection


@pytest.mark.parametrize(
    "message, value", [("open SRC/App.py", "src/app.py"), ("see https://H.example/A", "https://h.example/a")]
)
def test_the_case_of_a_path_or_of_a_url_is_a_part_of_its_name(message: str, value: str) -> None:
    assert not said(message, value)


def test_the_newest_message_is_the_one_that_is_shown() -> None:
    text = UserText()
    for message in ("open notes.md", "now close it", "open notes.md again"):
        text.say(message)
    found = text.cites("notes.md")
    assert found is not None
    assert (found.origin, found.path) == ("message", "2")


def test_a_message_that_comes_later_is_not_known_before() -> None:
    agent = Agent()
    assert agent.kind("notes.md") == "assumed"
    agent.run.user("open notes.md")
    assert agent.kind("notes.md") == "user"


def test_two_messages_do_not_make_one_token() -> None:
    agent = Agent()
    agent.run.user("harbour")
    agent.run.user("cranes")
    assert agent.kind("harbour cranes") == "assumed"


def test_a_message_too_long_to_keep_says_nothing_and_the_ones_before_it_still_count() -> None:
    agent = Agent()
    agent.run.user("open notes.md")
    agent.run.user("secret.md " * 500_000)
    assert agent.kind("notes.md") == "user"
    assert agent.kind("secret.md") == "assumed"


def test_messages_over_the_bound_push_the_oldest_out() -> None:
    text = UserText()
    text.say("open notes.md and 58213")
    for _ in range(5):
        text.say("filler " * 140_000)
    assert text.cites("notes.md") is None
    assert text.cites(58213) is None
    assert text.cites("filler") is not None


@pytest.mark.parametrize("value", ["ok", 7])
def test_a_common_value_that_was_said_is_weak(value: Any) -> None:
    agent = Agent()
    agent.run.user("ok take 7")
    assert agent.provenance(value).weak


def test_only_text_can_be_said() -> None:
    with pytest.raises(UsageError, match="not dict"):
        Run(policy=Policy()).user({"role": "tool"})  # type: ignore[arg-type]


def test_declared_inputs_are_of_kind_user_by_their_leaves_and_by_the_tokens_of_their_texts() -> None:
    agent = Agent(ticket=58213, root="/srv/cranes", task="repaint the north crane", options={"depth": 250})
    for value in (58213, "/srv/cranes", "cranes", 250, "north crane"):
        assert agent.kind(value) == "user"
    assert agent.kind("south") == "assumed"


def test_a_declared_input_says_where_it_was_declared() -> None:
    found = Agent(options={"depths": [250]}).provenance(250)
    assert found.kind == "user"
    assert (found.origin, found.path, found.projection) == ("inputs", "options.depths.0", "exact")


def test_context_that_the_host_hands_in_is_of_kind_user_and_named() -> None:
    agent = Agent()
    agent.run.observe("session", {"tenant": "T-40117"})
    found = agent.provenance("T-40117")
    assert found.kind == "user"
    assert found.origin == "session"


def test_user_is_never_relabelled_observed_nor_observed_user() -> None:
    agent = Agent()
    agent.run.user("open notes.md")
    agent.reads("list", {}, ["plan.md"])
    assert agent.kind("notes.md") == "user"
    assert agent.kind("plan.md") == "observed"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x"])
def test_inputs_and_host_context_must_be_json(value: Any) -> None:
    with pytest.raises(UsageError):
        Run(inputs={"x": value})
    with pytest.raises(UsageError):
        Agent().run.observe("session", value)
