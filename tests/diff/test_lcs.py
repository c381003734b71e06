"""The longest common subsequence: as long as the textbook's, and in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citespan.diff import lcs

WORDS = st.lists(st.integers(0, 4), max_size=40)


def textbook(a: Sequence[int], b: Sequence[int]) -> int:
    row = [0] * (len(b) + 1)
    for symbol in a:
        above = row
        row = [0]
        for j, other in enumerate(b):
            row.append(above[j] + 1 if symbol == other else max(above[j + 1], row[j]))
    return row[-1]


@settings(deadline=None)
@given(WORDS, WORDS)
def test_it_is_common_ascending_and_as_long_as_can_be(a: list[int], b: list[int]) -> None:
    """Against the table that every textbook has."""
    found = lcs.common(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))
    assert len(found) == textbook(a, b)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_where_it_has_to_be_split_it_is_as_long(a: list[int], b: list[int]) -> None:
    """With room for a few bits only, the table is split all the way down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lcs, "MAX_BITS", 16)
        found = lcs.common(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))
    assert len(found) == textbook(a, b)
