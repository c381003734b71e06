"""What follows from a human's words: another case, a number in words, a date in another form; no more than was said."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import Agent

from citespan.core import dates, number_words, user
from citespan.core.user import FOLDINGS, MAX_HOLDERS, UserText


def said(*messages: str) -> UserText:
    text = UserText()
    for message in messages:
        text.say(message)
    return text


def folding(message: str, value: Any) -> str | None:
    found = said(message).cites(value)
    return None if found is None else found.projection


@pytest.mark.parametrize(
    "message, value, name",
    [
        ("ask ADA BYRON", "Ada Byron", "casefold"),
        ("ask ada\n  byron", "ada byron", "casefold"),
        ("fly from mia", "MIA", "casefold"),
        ("cancel hxq41p", "HXQ41P", "casefold"),
        ("cancel HXQ41P", "hxq41p", "casefold"),
        ("write to Kim@Corp.Example", "kim@corp.example", "casefold"),
        ("Café Größenwahn", "CAFÉ GRÖßENWAHN", "casefold"),
        ("pay $1,100.00 back", 1100, "number"),
        ("pay $1,100.00 back", 1100.0, "number"),
        ("pay $1,100.00 back", "1100", "number"),
        ("pay $1,100.00 back", "1100.00", "number"),
        ("pay €250.75", 250.75, "number"),
        ("pay 12,500", 12500, "number"),
        ("pay $5k", 5000, "number"),
        ("pay $2.5k", 2500, "number"),
        ("order #90817", 90817, "number"),
        ("for one hour", 1, "number_word"),
        ("two adults", 2, "number_word"),
        ("two adults", "2", "number_word"),
        ("Twenty-five boxes", 25, "number_word"),
        ("twenty five boxes", 25.0, "number_word"),
        ("two hundred and six boxes", 206, "number_word"),
        ("twelve hundred boxes", 1200, "number_word"),
        ("three thousand four hundred and one boxes", 3401, "number_word"),
        ("a dozen eggs", 12, "number_word"),
        ("a hundred eggs", 100, "number_word"),
        ("5 thousand eggs", 5000, "number_word"),
        ("1.5 million eggs", 1_500_000, "number_word"),
        ("between six and nine eggs", 9, "number_word"),
        ("on July 2nd, 2031", "2031-07-02", "date"),
        ("on 2 July 2031", "2031-07-02", "date"),
        ("on the 2nd of July, 2031", "2031-07-02", "date"),
        ("on Jul. 2 this year 2031", "2031-07-02", "date"),
        ("on 7/22/2031", "2031-07-22", "date"),
        ("on 22.7.2031", "2031-07-22", "date"),
        ("on 7/7/2031", "2031-07-07", "date"),
        ("on 2031/7/2", "2031-07-02", "date"),
        ("on 2031-07-02", "July 2, 2031", "date"),
        ("on 2031-07-02", "July 2", "date"),
        ("on July 2nd, 2031", "07/02/2031", None),
        ("from July 22-24, 2031", "2031-07-24", "date"),
        ("on July 22 and 24, 2031", "2031-07-22", "date"),
        ("from 22 to 24 July 2031", "2031-07-22", "date"),
        ("in July 2031", "July, 2031", "date"),
        ("expiring in July 2031", "07/2031", "date"),
        ("expiring in July 2031", "07/31", "date"),
        ("expiring in July 2031", "2031-07", "date"),
        ("good until 07/2031", "07/31", "date"),
        ("good until 07/2031", "July 2031", "date"),
        ("on July 2nd, 2031", "07/2031", "date"),
        ("good until 07/2031", "07/2031", "exact"),
        ("good until 07/31", "07/31", "exact"),
        ("at 1 pm", "13:00", "date"),
        ("at 1 p.m.", "13:00:00", "date"),
        ("at one o'clock", "01:00", "date"),
        ("at 9:05", "09:05:00", "date"),
        ("at 12 am", "00:00", "date"),
        ("at noon", "12:00", "date"),
        ("at 13:30", "1:30 PM", "date"),
        ("at 12:00 on 2031-07-02", "2031-07-02 12:00", "date"),
        ("on July 2nd, 2031 at 1 pm", "2031-07-02T13:00:00", "date"),
        ("since 2031-07-02T08:45:10", "2031-07-02 08:45", "date"),
        ("since 2031-07-02T08:45:10Z", "08:45:10", "date"),
    ],
)
def test_a_folding_grants_what_was_said_in_another_form(message: str, value: Any, name: str | None) -> None:
    assert folding(message, value) == name


@pytest.mark.parametrize(
    "message, value",
    [
        ("on July 2", "2031-07-02"),
        ("in July 2031", "2031-07-02"),
        ("in July 2031", "2031-07-01"),
        ("on the 2nd", "2031-07-02"),
        ("on July 2nd. The year is 2031", "2031-07-02"),
        ("on July 2\n2031 boxes", "2031-07-02"),
        ("on 7/6/2031", "2031-07-06"),
        ("on 7/6/2031", "2031-06-07"),
        ("on 7/22/31", "2031-07-22"),
        ("on July 2nd, 2031", "2031-07-02 00:00"),
        ("at 1 pm on July 2", "2031-07-02 13:00"),
        ("on July 2nd, 2031 at 1 pm", "2031-07-02 13:30"),
        ("on July 2nd, 2031 at 1 pm", "2031-07-02T13:00:00Z"),
        ("on July 2nd, 2031 at 1 pm", "2031-07-02T13:00:00.5"),
        ("expiring in July", "07/2031"),
        ("expiring in July. It is 2031", "07/2031"),
        ("expiring in July 2031", "08/2031"),
        ("expiring in July 2031", "07/30"),
        ("expiring in July 2131", "07/31"),
        ("expiring in July 2031", "7/31"),
        ("expiring in July 2031", "31/07"),
        ("good until 07/31", "07/2031"),
        ("good until 07/31", "July 2031"),
        ("good until 07/31", "2031-07-31"),
        ("version 107/2031", "07/31"),
        ("see docs/07/2031", "July 2031"),
        ("see 07/2031/a.md", "July 2031"),
        ("page 7/2031", "July 2031"),
        ("at 1:00", "13:00"),
        ("at 08:45:10", "08:45:00"),
        ("at 25:00", "25:00:00"),
        ("at 13 pm", "13:00"),
        ("from July 22 to July 24, 2031", "2031-07-22"),
        ("July 45th, 2031", "2031-07-45"),
        ("read report-2031-07-02.md", "July 2, 2031"),
        ("read /logs/2031-07-02", "July 2, 2031"),
        ("call 10.0.0.1:80", "1:80"),
    ],
)
def test_no_part_of_a_date_is_guessed(message: str, value: Any) -> None:
    assert folding(message, value) is None


def test_a_day_is_without_a_year_only_where_no_message_says_one() -> None:
    wanted = dates.read("2031-07-02")
    assert wanted is not None
    assert said("on July 2").day(wanted) is not None
    assert said("on July 2").day(wanted._replace(time=(13, 0, None))) is None
    assert said("at 1 pm on July 2").day(wanted._replace(time=(13, 0, None))) is not None
    for messages in (("in July",), ("on July 2, 2030",), ("on July 2, 2030", "on July 2"), ("on July 2 next year",)):
        assert said(*messages).day(wanted) is None


@pytest.mark.parametrize(
    "message, value",
    [
        ("on 2 July 2031", 2),
        ("on July 22 and 24, 2031", 24),
        ("on July 22-24", 24),
        ("on the 2nd of July", "2"),
        ("on July twenty-six", 26),
        ("at two o'clock", 2),
        ("at two pm", 2),
        ("half past two", 2),
        ("quarter to three", 3),
    ],
)
def test_a_day_of_the_month_and_an_hour_cite_no_number_and_no_id(message: str, value: Any) -> None:
    assert folding(message, value) is None


@pytest.mark.parametrize(
    "message, value",
    [
        ("half a dozen eggs", 12),
        ("dozens of eggs", 12),
        ("a few hundred eggs", 100),
        ("several thousand eggs", 1000),
        ("two and a half hours", 2),
        ("two thirds of it", 2),
        ("three point five", 3),
        ("minus five degrees", 5),
        ("a two-way street", 2),
        ("a twenty-five-year-old", 25),
        ("the twenty-first crate", 20),
        ("the third crate", 3),
        ("dial four five one", 451),
        ("dial four five one", 4),
        ("nineteen eighty-four", 1984),
        ("nineteen eighty-four", 19),
        ("this one is fine", 1),
        ("one of them", 1),
        ("someone", 1),
        ("$5 million", 5),
        ("5k runners", 5000),
        ("two thousand", 2),
        ("two hundred or more", 200),
    ],
)
def test_what_is_vague_or_part_of_something_else_is_no_number(message: str, value: Any) -> None:
    assert folding(message, value) is None


@pytest.mark.parametrize(
    "message, value",
    [
        ("open Notes.md", "notes.md"),
        ("open SRC/app.py", "src/app.py"),
        ("see https://docs.example/A", "https://docs.example/a"),
        ("play dQw4w9WgXcQ", "dqw4w9wgxcq"),
        ("play dQw4w9WgXcQ", "DQW4W9WGXCQ"),
        ("cancel hxq41p", "HXQ41p"),
        ('send {"a": "B"}', '{"A": "b"}'),
    ],
)
def test_the_case_of_a_path_a_url_and_a_mixed_id_is_a_part_of_its_name(message: str, value: str) -> None:
    assert folding(message, value) is None


@pytest.mark.parametrize(
    "message, value",
    [("agent 007 reports", 7), ("agent 007 reports", "7"), ("use release 2.5", "2.50"), ("pay $1,250", "$1250")],
)
def test_a_number_is_not_read_where_its_digits_are_a_name(message: str, value: Any) -> None:
    assert folding(message, value) is None


@pytest.mark.parametrize("value", ["shed", "Ada Byr", "da Byron", "ADA BYRONS"])
def test_a_folded_text_is_whole_tokens_too(value: str) -> None:
    assert folding("ask Ada Byron to repaint the sheds", value) is None


def test_what_stands_exactly_is_exact_even_if_a_newer_message_says_it_folded() -> None:
    found = said("ask Ada Byron", "ask ADA BYRON").cites("Ada Byron")
    assert found is not None
    assert (found.path, found.projection) == ("0", "exact")


def test_of_the_same_folding_the_newest_message_counts() -> None:
    text = said("on July 2nd, 2031", "ask ADA BYRON for twenty", "on 2 July 2031, ask ada byron for twenty")
    for value in ("2031-07-02", "Ada Byron", 20):
        found = text.cites(value)
        assert found is not None
        assert found.path == "2"


def test_a_date_and_a_time_of_two_messages_do_not_make_one_moment() -> None:
    assert said("on 2031-07-02", "at 1 pm").cites("2031-07-02 13:00") is None
    assert said("on 2031-07-02", "at 1 pm on 2031-07-02").cites("2031-07-02 13:00") is not None


def test_a_folding_is_named_on_the_tag_and_the_kind_stays_user() -> None:
    agent = Agent()
    agent.run.user("two adults on July 2nd, 2031")
    found = agent.provenance("2031-07-02")
    assert (found.kind, getattr(found, "projection", "")) == ("user", "date")
    assert agent.provenance(2).weak
    assert agent.kind(3) == "assumed"


def test_a_short_text_in_another_case_is_weak() -> None:
    agent = Agent()
    agent.run.user("fly to Las Vegas with Ada")
    assert agent.provenance("LAS").weak
    assert not agent.provenance("Las").weak
    assert not agent.provenance("VEGAS").weak


def test_folded_messages_over_the_bound_are_forgotten() -> None:
    text = said("ask ADA for twenty-five on July 2nd, 2031")
    for _ in range(12):
        text.say("filler " * 140_000)
    for value in ("ada", 25, "2031-07-02"):
        assert text.cites(value) is None
    assert text.cites("FILLER") is not None


def test_what_is_forgotten_leaves_no_trace_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user, "MAX_CHARS", 20_000)
    text = UserText()
    for number in range(200):
        text.say(" ".join(f"w{number}x{index} {number}{index}" for index in range(100)))
    indexed = sum(map(len, (text._by_word, text._numbers, text._readings, text._moments)))
    assert len("".join(text._texts.values())) <= 20_000
    assert indexed < 20_000


def test_empty_messages_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user, "MAX_CHARS", 20_000)
    text = UserText()
    for _ in range(5_000):
        text.say("")
    assert len(text._texts) < 500


def test_one_text_said_in_very_many_messages_is_found_in_the_newest() -> None:
    text = said(*["on July 2nd, 2031, and again"] * (MAX_HOLDERS + 50))
    for value in ("again", "2031-07-02"):
        found = text.cites(value)
        assert found is not None
        assert found.path == str(MAX_HOLDERS + 49)


@pytest.mark.parametrize(
    "unit",
    [
        "may 1 and ", "1-1-", "1:11 ", "two hundred and ", "two-", "1,111", "a@", "$1k ", "july ", "1 to 1 to ",
        "12/2031 ", "12/", "may 1 of the ",
    ],
)  # fmt: skip
def test_a_hostile_message_is_read_in_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            said(text)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(120_000) < 12 * seconds(20_000) + 0.05


def test_a_value_that_nobody_says_is_no_trouble() -> None:
    heard = said("say 1 and 2 on July 2nd, 2031")
    for value in (10**5000, -(10**400), 1e300, float("inf"), float("nan"), "9" * 400, "\ud800"):
        assert heard.cites(value) is None


@given(st.text(alphabet="0123456789:-/ ,.apmtzjulynoe", max_size=40))
def test_any_text_can_be_said_and_asked(text: str) -> None:
    heard = said(text)
    heard.cites(text)
    spans = [(found.start, found.end) for found in dates.find(text.lower())]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@given(st.dates(), st.times())
def test_a_moment_said_in_words_cites_its_iso_form_and_no_neighbour(day: Any, clock: Any) -> None:
    if day.year < 1800 or day.year > 2199:
        day = day.replace(year=2031, day=min(day.day, 28))
    spelt = f"{day:%B} {day.day}, {day.year} at {clock:%I:%M %p}"
    heard = said(f"meet on {spelt}, please")
    found = heard.cites(f"{day.isoformat()}T{clock:%H:%M}:00")
    assert found is not None
    assert found.projection == "date"
    assert heard.cites(f"{day.year + 1}-{day:%m-%d}") is None
    assert heard.cites(day.day) is None


@given(st.integers(0, 999_999))
def test_a_numeral_says_its_own_value_alone(number: int) -> None:
    numeral = in_words(number)
    assert [found.value for found in number_words.find(f"take {numeral} boxes")] == [number]
    assert said(f"take {numeral} boxes").cites(number) is not None
    assert said(f"take {numeral} boxes").cites(number + 1) is None


def in_words(number: int) -> str:
    small = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    )
    tens = "zero ten twenty thirty forty fifty sixty seventy eighty ninety"
    if number < 20:
        return small.split(" ")[number]
    if number < 100:
        return tens.split(" ")[number // 10] + (f"-{in_words(number % 10)}" if number % 10 else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % size
    return f"{in_words(number // size)} {name}" + (f" {in_words(rest)}" if rest else "")


def test_every_folding_has_a_name() -> None:
    assert FOLDINGS == ("casefold", "number", "number_word", "date")
