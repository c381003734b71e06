"""Exempt text is looked through: an address, a path or an id in it that nothing vouches for is found, by kind."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.core.freetext import (
    MAX_SCANNED,
    MAX_TOKENS,
    TOKEN_KINDS,
    Token,
    count,
    scan,
)


def nothing(_: str) -> bool:
    return False


def found(text: str) -> list[tuple[str, str]]:
    return [(token.kind, text[token.start : token.end]) for token in scan(text, nothing)]


@pytest.mark.parametrize(
    "text, kind, token",
    [
        ("Look at https://docs.example/a?b=1.", "url", "https://docs.example/a?b=1"),
        ("Look here (https://docs.example/a_(b)), please", "url", "https://docs.example/a_(b)"),
        ("[report](https://docs.example/r)", "url", "https://docs.example/r"),
        ("<https://docs.example|docs>", "url", "https://docs.example"),
        ("visit WWW.Docs.Example!", "url", "WWW.Docs.Example"),
        ("hxxps://docs.example", "url", "hxxps://docs.example"),
        ("https://kim@docs.example/x", "url", "https://kim@docs.example/x"),
        ("data:text/html;base64,QUJD", "url", "data:text/html;base64,QUJD"),
        ("visit docs.example, then rest", "host", "docs.example"),
        ("visit docs.example/a/b.py", "host", "docs.example/a/b.py"),
        ("ping 203.0.113.9:8080", "host", "203.0.113.9:8080"),
        ("visit пример.рф now", "host", "пример.рф"),
        ("tell @docs.example", "host", "docs.example"),
        ("mail kim.lee+x@corp.example.", "email", "kim.lee+x@corp.example"),
        ("mailto:kim@corp.example?subject", "email", "kim@corp.example"),
        ("to='kim@corp.example'", "email", "kim@corp.example"),
        (f"mail {'a' * 80}@corp.example", "email", f"{'a' * 80}@corp.example"),
        ("pay GB33BUKB20201555555555 today", "account", "GB33BUKB20201555555555"),
        ("pay GB33 BUKB 2020 1555 5555 55 today", "account", "GB33 BUKB 2020 1555 5555 55"),
        ("card 5500 0000 0000 0004", "account", "5500 0000 0000 0004"),
        ("call +49 170 5550123", "account", "+49 170 5550123"),
        ("call 555-014-0199", "account", "555-014-0199"),
        ("account 90817263.", "account", "90817263"),
        ("account 12345678-90", "account", "12345678-90"),
        ("see /etc/cranes/north", "path", "/etc/cranes/north"),
        ("see ~/cranes", "path", "~/cranes"),
        ("see ./x", "path", "./x"),
        (r"see C:\cranes\north", "path", r"C:\cranes\north"),
        ("see src/crane.py:12", "path", "src/crane.py:12"),
        ("see src/crane_v2/north", "path", "src/crane_v2/north"),
        ("see notes.md, then rest", "path", "notes.md"),
        ("see .bashrc", "path", ".bashrc"),
        ("ticket T-58213", "id", "T-58213"),
        ("ticket #582", "id", "#582"),
        ("order W77123x", "id", "W77123x"),
        ("use gift_card_5634230", "id", "gift_card_5634230"),
        ("seat HXQ41P", "id", "HXQ41P"),
        ("commit 3fa9c1d2e4", "id", "3fa9c1d2e4"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id", "123e4567-e89b-12d3-a456-426614174000"),
    ],
)
def test_a_token_is_found_whole_and_named_by_its_kind(text: str, kind: str, token: str) -> None:
    assert found(text) == [(kind, token)]


@pytest.mark.parametrize(
    "text",
    [
        "Hello Kim,\nthanks for the notes. See you at the pier!\n- Ada",
        "e.g. this, i.e. that; a.m. or p.m., the U.S.A., a Ph.D. etc.",
        "and/or, he/she, km/h, 24/7, $50/month, input/output, 1/2",
        "It rose 12.5% to 1,250 boxes, $1,100.00 or 12345678.50 in all",
        "on 2031-07-02 at 13:00, July 2nd, 2031, 7/6/2031, 12/11/2031, from 2030-2031",
        "the 14th, 16GB, 100kg, a 24-hour trip, 3-day, COVID-19, mid-2031, Q3-2031, v1.22.3",
        "a -- b --- c ... d *** e / f",
        "",
    ],
)
def test_prose_amounts_and_dates_are_no_tokens(text: str) -> None:
    assert found(text) == []


def test_a_token_that_something_vouches_for_is_not_reported() -> None:
    text = "Send src/crane.py to kim@corp.example and eve@evil.example"
    cited = {"src/crane.py", "kim@corp.example"}
    assert [text[token.start : token.end] for token in scan(text, cited.__contains__)] == ["eve@evil.example"]


@pytest.mark.parametrize(
    "text, cited",
    [
        ("see https://docs.example/", "https://docs.example"),
        ("see https://docs.example", "https://docs.example/"),
        ("see src/crane.py:12", "src/crane.py"),
        ("ticket #58213", "58213"),
        ("pay GB33 BUKB 2020 1555 5555 55", "GB33BUKB20201555555555"),
    ],
)
def test_a_token_is_cited_by_what_names_the_same_thing(text: str, cited: str) -> None:
    assert scan(text, {cited}.__contains__) == ()


@pytest.mark.parametrize(
    "text, cited",
    [
        ("see https://docs.example/a", "https://docs.example"),
        ("see https://docs.example/a", "docs.example"),
        ("see docs.example.evil.example", "docs.example"),
        ("mail kim@corp.example.evil.example", "kim@corp.example"),
        ("see src/crane.py", "crane.py"),
    ],
)
def test_a_part_of_a_token_does_not_vouch_for_it(text: str, cited: str) -> None:
    assert len(scan(text, {cited}.__contains__)) == 1


@pytest.mark.parametrize("text", ["go to e\u200bvil.example", "go to \uff45\uff56\uff49\uff4c\uff0e\uff43\uff4f\uff4d"])
def test_a_token_does_not_hide_behind_invisible_or_full_width_characters(text: str) -> None:
    assert found(text) == [("host", text.removeprefix("go to "))]
    assert scan(text, {"evil.example", "evil.com"}.__contains__) != ()


def test_each_distinct_token_is_asked_for_once() -> None:
    asked: list[str] = []

    def cites(token: str) -> bool:
        asked.append(token)
        return True

    assert scan("notes.md and plan.md and notes.md", cites) == ()
    assert asked == ["notes.md", "plan.md"]


def test_what_is_beyond_a_bound_is_reported_as_more() -> None:
    crowded = scan(" ".join(f"T-{number}" for number in range(58000, 59000)), nothing)
    assert len(crowded) == MAX_TOKENS + 1
    assert [token.kind for token in crowded[-2:]] == ["id", "more"]
    long = "word " * (MAX_SCANNED // 5 + 10)
    assert scan(long, nothing) == (Token("more", MAX_SCANNED, len(long)),)
    many = " ".join(f"T-{number}" for number in range(10_000, 50_000))
    assert [token.kind for token in scan(many, lambda _: True)] == ["more"]


def test_only_kinds_and_counts_are_counted() -> None:
    assert count(scan("T-58213, T-58214 and notes.md", nothing)) == {"id": 2, "path": 1}


def test_every_kind_is_documented() -> None:
    assert set(TOKEN_KINDS) == {"url", "email", "host", "account", "path", "id", "more"}


@given(st.text(alphabet="aZ09.:/@#-_+() \n\u200bé\uff0ew,", max_size=80))
def test_tokens_of_any_text_are_in_order_and_do_not_overlap(text: str) -> None:
    tokens = scan(text, nothing)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert all(left.end <= right.start for left, right in pairwise(tokens))
    assert scan(text, lambda _: True) == ()


@given(st.text(alphabet="abc XYZ,;\n", max_size=40), st.text(alphabet="abc XYZ,;\n", max_size=40))
def test_an_address_is_found_wherever_it_stands_in_prose(before: str, after: str) -> None:
    kinds = [token.kind for token in scan(f"{before} https://evil.example/x {after}", nothing)]
    assert kinds == ["url"]


@pytest.mark.parametrize(
    "unit", ["a", "a@", "a.", "/a", "1 ", "12-", "+1 ", "DE89 ", "a-", "://", "a.b@c ", "www.", "http://x) ", "\uff45"]
)
def test_a_hostile_text_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            scan(text, lambda _: True)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(180_000) < 12 * seconds(30_000) + 0.05
