"""What a value looks like: e-mail, URL, date, path, id, JSON, or nothing in particular; and what is prose."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pace import pace

from citespan.core.shapes import Shape, count, goes_with, is_document, is_prose, names_host, shape

EXAMPLES: dict[Shape, list[str]] = {
    "email": ["kim@corp.example", "k.lee+x@a.b.example", "x_1@mail.example"],
    "url": ["https://docs.example/a?b=1", "ftp://h.example", "www.example.org/x", "git+ssh://h/x"],
    "date": ["2031-07-02", "2031-07", "2031-07-02T09:30:00Z", "2031-07-02 09:30", "02/07/2031", "2.7.31", "09:30"],
    "path": ["src/app.py", "/etc/hosts", "./run", "~/x", "../up", "app.py", ".env", "a/b c/d", "Makefile.am"],
    "id": ["W77120", "a1b2c3d", "inv_20418", "90817", "#5512", "8f14e45f-ceea-467f", "deadbeef", "sha256:0a1b"],
    "json": ['{"a": 1}', "[1, 2]", ' {"a": 1}\n'],
    "other": ["hello", "two words", "OK", "7", "e-mail", "12%", "", "naïve", "a@b", "3 apples", "{", "x: y"],
}
ALL = [(text, wanted) for wanted, texts in EXAMPLES.items() for text in texts]


@pytest.mark.parametrize("text, wanted", ALL)
def test_a_value_has_the_shape_that_one_sees_in_it(text: str, wanted: Shape) -> None:
    assert shape(text) == wanted


def test_a_value_longer_than_any_name_has_no_shape() -> None:
    assert shape("a" * 250 + "@corp.example") == "other"


def test_a_value_over_several_lines_has_no_shape() -> None:
    assert shape("src/app.py\nsrc/db.py") == "other"


@pytest.mark.parametrize(
    "text",
    ["one\ntwo", "one\rtwo", "Eight words that together run over sixty characters, as sentences in mails do."],
)
def test_a_line_break_or_many_words_make_prose(text: str) -> None:
    assert is_prose(text)


@pytest.mark.parametrize(
    "text", ["a b c d e f g h i", "https://h.example/" + "x" * 80, "seven words, " + "long " * 4 + "x" * 50, ""]
)
def test_neither_many_short_words_nor_one_long_one_make_prose(text: str) -> None:
    assert not is_prose(text)


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", " [1]\n", "{}"])
def test_braces_or_brackets_at_both_ends_make_a_document(text: str) -> None:
    assert is_document(text)


@pytest.mark.parametrize("text", ["", "x", "{", "]", "{a]", 'x{"a": 1}', '"text"', "12"])
def test_anything_else_is_no_document(text: str) -> None:
    assert not is_document(text)


TEXTS = st.one_of(
    st.sampled_from([text for text, _ in ALL]),
    st.text(alphabet="ab1@./-_:# \n{}", max_size=12),
    st.text(max_size=300),
    st.builds(lambda left, right: f"{left}\x00{right}", st.text(max_size=3), st.text(max_size=3)),
)


@given(st.lists(TEXTS, min_size=1, max_size=12), st.sampled_from([name for name in EXAMPLES if name != "other"]))
def test_counting_in_bulk_is_the_same_as_looking_at_each(texts: list[str], wanted: Shape) -> None:
    assert count(texts, wanted) == sum(goes_with(text, wanted) for text in texts)


def test_what_has_no_shape_is_counted_as_well() -> None:
    assert count(["hello", "src/app.py", "two words"], "other") == 2


@pytest.mark.parametrize(
    "hostile",
    ["a" * 256, "a/" * 128, "a." * 128, "1:" * 128, "@" * 256, "a-" * 128, "/" + " " * 254, "a@" + "a." * 127],
)
def test_no_text_takes_long_to_look_at(hostile: str) -> None:
    started = time.process_time()
    for _ in range(100):
        shape(hostile)
    assert time.process_time() - started < 50 * pace()


@pytest.mark.parametrize(
    "text",
    [
        "shop.example",
        "login.shop.example/a",
        "https://shop.example",
        "pat@shop.example",
        "shop.example:8443",
        "https://shop.zip",
        "http://203.0.113.9/a",
        "203.0.113.9",
        "pat@shop.zip",
    ],
)
def test_a_host_a_url_and_a_mailbox_name_a_host(text: str) -> None:
    assert names_host(text)


@pytest.mark.parametrize("text", ["report", "site.ini", "src/app.py", "v1.2", "3.14", "two words", "", "plan.docx"])
def test_words_versions_and_files_name_none(text: str) -> None:
    assert not names_host(text)
