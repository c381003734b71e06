"""Folding takes citations away: whatever differs only in what nobody means is the same when folded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.core.fold import fold, occurs, words

ALIKE: dict[str, tuple[Any, ...]] = {
    "case": ("Quarry", "QUARRY", "quarry"),
    "the case of other scripts": ("STRASSE", "straße", "Strasse"),
    "outer blanks": ("quarry", " quarry", "quarry\n", "\tquarry "),
    "inner blanks": ("west quarry", "west  quarry", "west\tquarry", "west\u00a0quarry", "west\nquarry"),
    "compatible characters": ("\ufb01le", "file", "\uff46\uff49\uff4c\uff45"),
    "composed and decomposed letters": ("caf\u00e9", "cafe\u0301"),
    "zero-width characters": ("quarry", "qua\u200brry", "\ufeffquarry", "quarr\u2060y", "quar\u00adry"),
    "path forms": ("conf/site.ini", "./conf/site.ini", "conf//site.ini", "conf/./site.ini", "conf/site.ini/"),
    "path separators": ("conf/site.ini", "conf\\site.ini"),
    "path forms of an absolute path": ("/etc/site.ini", "//etc/site.ini", "/etc/./site.ini"),
    "a number and its text": (42, 42.0, "42", "42.0", "+42", "0042"),
    "a fraction and its text": (1.5, "1.5", "1.50", "+1.5"),
    "zero": (0, 0.0, -0.0, "0", "-0"),
    "a boolean and its text": (True, "true", "True", "TRUE"),
    "null and its text": (None, "null", "NULL"),
    "a large number and its text": (1234567890123456789, "1234567890123456789"),
    "a large number with leading zeros": (12345678901234567, "0012345678901234567"),
    "a path with a blank in it": ("My Docs/plan.txt", "My Docs//plan.txt", "./My Docs/plan.txt"),
}


@pytest.mark.parametrize("alike", ALIKE.values(), ids=ALIKE.keys())
def test_values_that_differ_only_in_form_fold_to_one(alike: tuple[Any, ...]) -> None:
    assert len({fold(value) for value in alike}) == 1


@pytest.mark.parametrize(
    "left, right",
    [("quarry", "quarries"), ("a/b", "b/a"), (42, 43), ("4.2", "42"), ("/etc", "etc"), ("a b", "ab"), (True, 1)],
)
def test_values_that_mean_something_else_stay_apart(left: Any, right: Any) -> None:
    assert fold(left) != fold(right)


def test_an_integer_of_any_length_has_a_folded_text() -> None:
    assert fold(10**5000) != fold(10**5000 + 1)


def test_urls_are_no_paths() -> None:
    assert fold("https://h.example//a") == "https://h.example//a"


@pytest.mark.parametrize("empty", ["", " ", "\u200b", [], {}])
def test_what_has_no_text_folds_to_nothing(empty: Any) -> None:
    assert fold(empty) == ""


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.integers())
def test_an_integer_and_its_text_fold_to_one(number: int) -> None:
    assert fold(number) == fold(str(number))


@given(st.text(alphabet="aBcß/ .é0", max_size=20))
def test_case_never_matters(text: str) -> None:
    assert fold(text) == fold(text.swapcase()) or fold(text.casefold()) == fold(text)


@pytest.mark.parametrize(
    "piece, text",
    [
        ("site.ini", "open site.ini now"),
        ("site.ini", "conf/site.ini"),
        ("site", "site.ini"),
        ("quarry", '"quarry"'),
        ("quarry", "quarry"),
        ("ann", "ann@corp.example"),
        ("-x", "a-x"),
    ],
)
def test_a_piece_occurs_as_whole_tokens(piece: str, text: str) -> None:
    assert occurs(piece, text)


@pytest.mark.parametrize(
    "piece, text", [("site", "website"), ("site", "sites"), ("site", "on_site"), ("4", "42"), ("", "site"), ("x", "")]
)
def test_a_piece_cut_out_of_a_longer_word_does_not_occur(piece: str, text: str) -> None:
    assert not occurs(piece, text)


def test_a_later_whole_occurrence_counts_after_one_that_was_cut() -> None:
    assert occurs("site", "website site")


def test_hostile_repetition_buys_no_citation() -> None:
    assert occurs("aa", "aaa" * 20_000)


def test_words_are_runs_of_word_characters() -> None:
    assert words("src/on_site.py: 42%") == ["src", "on_site", "py", "42"]
