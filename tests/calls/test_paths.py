"""Dotted paths, read back as they were written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citespan.calls.paths import head, pattern, steps, written
from citespan.core.leaves import dotted, escape

NAMES = st.text().filter(lambda text: not text.isdecimal())
PATHS = st.lists(NAMES | st.integers(0, 10**17), min_size=1).map(tuple)


@given(PATHS)
def test_what_was_written_is_read_back(path: tuple[str | int, ...]) -> None:
    """Whatever dots, backslashes and line breaks its keys have."""
    assert steps(dotted(path)) == path
    assert written(dotted(path)) == [escape(step) if isinstance(step, str) else str(step) for step in path]


@given(st.text(alphabet="a0.\\\n"))
def test_no_text_is_beyond_reading(text: str) -> None:
    """What nobody wrote so has a first step too, and nothing of it is lost."""
    assert ".".join(written(text)) == text
    assert head(text) == head(written(text)[0])
    assert len(steps(text)) == len(written(text))
    assert pattern(pattern(text)) == pattern(text)


def test_more_digits_than_an_index_has_are_a_key() -> None:
    """Python reads no number of so many."""
    assert steps("files." + "9" * 5000) == ("files", "9" * 5000)


def test_a_dot_outside_an_escape_ends_the_first_step() -> None:
    """Plain cases."""
    assert [head(path) for path in ("a", "a.b", r"a\.b.c", ".a", "", r"a\\.b")] == ["a", "a", "a.b", "", "", "a\\"]
