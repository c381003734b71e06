"""The index finds what a search from end to end finds: every place, no other, and none twice."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core import reference
from tests.core.helpers import found, ledger_of, spot
from tests.core.strategies import KEYS, ODDITIES, PATHS, WORDS, documents, long_documents, neighbours, wide_documents

from citespan.core.leaves import Path
from citespan.core.policy import Bounds

ALL_KEPT = Bounds(sources=1_000_000)
#: an empty result is never recorded
RESULTS = st.lists(documents.filter(lambda result: result not in (None, "", [], {})), min_size=1, max_size=4)
LARGE = st.lists(st.one_of(long_documents, wide_documents), min_size=1, max_size=2)

Places = set[tuple[int, Path, str]]


def held(results: list[Any]) -> list[reference.Held]:
    return [leaf for call, result in enumerate(results) for leaf in reference.leaves(call, result)]


def asked(everything: list[reference.Held], most: int) -> list[Any]:
    """Values to look for: what is held, what is easily mistaken for it, and some of everything."""
    values = [near for leaf in everything[:most] for near in neighbours(leaf.value)]
    return list({(type(value), repr(value)): value for value in (*values, *WORDS, *PATHS, *ODDITIES, *KEYS)}.values())


def check(results: list[Any], most: int = 40) -> None:
    """No place but right ones, and one at least in every field and list that has any."""
    ledger, everything = ledger_of(*results, bounds=ALL_KEPT), held(results)
    for value in asked(everything, most):
        indexed = {(call, path, _how(projection)) for call, path, projection in found(ledger, value)}
        wanted = reference.search(everything, value)
        assert _leaves(indexed) <= _leaves(wanted), value
        assert _fields(indexed) == _fields(wanted), value
        # the same keys at one place of one result are one source
        assert _calls_of_keys(indexed) == _calls_of_keys(wanted), value


def _how(projection: str) -> str:
    return "path" if projection in {"posix_path", "basename"} else projection


def _leaves(places: Places) -> Places:
    return {place for place in places if place[2] != "key"}


def _fields(places: Places) -> Places:
    return {
        (call, tuple("*" if type(step) is int else step for step in path), projection)
        for call, path, projection in _leaves(places)
    }


def _calls_of_keys(places: Places) -> set[int]:
    return {call for call, _, projection in places if projection == "key"}


@given(RESULTS)
@settings(max_examples=250)
def test_the_index_finds_what_a_linear_search_finds(results: list[Any]) -> None:
    check(results)


@given(LARGE)
@settings(max_examples=25)
def test_the_index_finds_what_a_linear_search_finds_in_long_lists_records_and_wide_objects(results: list[Any]) -> None:
    check(results, most=8)


def test_a_thousand_records_and_a_thousand_plain_values_are_all_found_where_they_are() -> None:
    rows = [{"id": f"R{number}", "n": number} for number in range(1000)]
    ledger = ledger_of({"rows": rows, "names": [f"N{number}" for number in range(1000)]})
    for number in (0, 127, 128, 129, 300, 511, 512, 999):
        assert found(ledger, f"R{number}") == {(0, ("rows", number, "id"), "exact")}
        assert found(ledger, f"N{number}") == {(0, ("names", number), "exact")}
        assert found(ledger, 2000 + number) == set()


@given(RESULTS)
def test_every_key_is_found_where_it_stands(results: list[Any]) -> None:
    ledger, everything = ledger_of(*results, bounds=ALL_KEPT), held(results)
    for key in KEYS:
        indexed = {place for place in found(ledger, key) if place[2] == "key"}
        assert indexed <= reference.search(everything, key)


@given(RESULTS)
@example([["app.py", "src/app.py"]])
def test_no_place_is_found_twice(results: list[Any]) -> None:
    ledger = ledger_of(*results, bounds=ALL_KEPT)
    for value in (*WORDS, *PATHS, *ODDITIES):
        places = [spot(place) for place in ledger.view().find(value)]
        assert len(places) == len(set(places))


@given(RESULTS, st.integers(0, 4))
def test_a_view_of_an_earlier_moment_finds_what_was_there_then(results: list[Any], moment: int) -> None:
    ledger = ledger_of(*results, bounds=ALL_KEPT)
    before = ledger_of(*results[:moment], bounds=ALL_KEPT)
    for value in (*WORDS, *PATHS, *ODDITIES):
        assert {spot(place) for place in ledger.view(moment).find(value)} == found(before, value)


@given(st.lists(documents, min_size=2, max_size=4))
def test_it_does_not_matter_whether_results_are_indexed_one_by_one_or_together(results: list[Any]) -> None:
    together = ledger_of(*results, bounds=ALL_KEPT)
    one_by_one = ledger_of(bounds=ALL_KEPT)
    for result in results:
        one_by_one.record("tool", reference.json.dumps(result).encode())
        one_by_one.view().find("kestrel")
    for value in (*WORDS, *PATHS, *ODDITIES, *KEYS):
        assert found(together, value) == found(one_by_one, value)
