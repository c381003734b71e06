"""Two values are the same only if they are the same JSON value; what everybody could guess proves little."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from tests.core.helpers import Agent

from citespan.core.equality import is_weak, same

#: no two of these are the same JSON value
DISTINCT: list[Any] = [None, True, False, 0, 1, "1", "true", "True", "null", "", " ", [], {}, 0.5, "0.5", -1, "1.0"]


@pytest.mark.parametrize("left, right", list(combinations(DISTINCT, 2)))
def test_values_of_two_json_types_or_spellings_are_never_the_same(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert not same(right, left)


@pytest.mark.parametrize("value", DISTINCT)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value)


@pytest.mark.parametrize("left, right", [(3, 3.0), (0, -0.0), (-12, -12.0), (2**52, float(2**52))])
def test_numbers_compare_by_value(left: Any, right: Any) -> None:
    assert same(left, right)
    assert same(right, left)


def test_a_float_that_has_lost_the_digits_of_its_integer_vouches_for_none() -> None:
    assert not same(2**53, float(2**53))
    assert not same(float(2**60), float(2**60))


def test_large_integers_that_were_read_exactly_are_the_same() -> None:
    assert same(9_007_199_254_740_993, 9_007_199_254_740_993)
    assert not same(9_007_199_254_740_993, 9_007_199_254_740_992)


@pytest.mark.parametrize("value", [True, False, 0, 7, -99, 99.5, "", "x", "ok", None, [], {}])
def test_common_values_are_weak(value: Any) -> None:
    assert is_weak(value)


@pytest.mark.parametrize("value", [100, -100, 1234.5, "abc", "yes"])
def test_values_that_are_seldom_guessed_are_not_weak(value: Any) -> None:
    assert not is_weak(value)


@pytest.mark.parametrize(
    "seen, used",
    [("831", 831), (831, "831"), ("true", True), (True, "true"), (1, True), (False, 0), ("null", None), (None, "null")],
)
def test_a_result_is_not_cited_across_json_types(seen: Any, used: Any) -> None:
    agent = Agent()
    agent.reads("fetch", {}, {"field": seen})
    assert agent.kind(used) == "assumed"


def test_a_result_is_cited_by_a_number_of_the_same_value() -> None:
    agent = Agent()
    agent.reads("fetch", {}, {"total": 831.0, "count": 4096})
    assert agent.kind(831) == "observed"
    assert agent.kind(4096.0) == "observed"


@pytest.mark.parametrize("empty", [[], {}, None, ""])
def test_empty_values_are_cited_from_their_like_only(empty: Any) -> None:
    agent = Agent()
    agent.reads("fetch", {}, {"kept": empty})
    assert [agent.kind(value) for value in ([], {}, None, "")].count("observed") == 1
    assert agent.kind(empty) == "observed"
