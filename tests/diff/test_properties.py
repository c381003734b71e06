"""What holds for every pair of files."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.diff.words import runs, told

from citespan.diff import RunDiff, align, compare
from citespan.diff.changes import changes
from citespan.diff.model import MIRRORED

WORD = st.builds(
    "{}:{}{}{}".format,
    st.sampled_from(["read", "write", "list"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["", "", "!", "?"]),
    st.sampled_from(["", "", "@search.hits.0"]),
)
RUN = st.lists(WORD, min_size=1, max_size=12)


@settings(deadline=None)
@given(RUN)
def test_a_file_is_no_different_from_itself(words: list[str]) -> None:
    """Nothing changed, came, went or moved."""
    summary = compare(runs(words), runs(words)).summary
    assert summary.calls == {"same": len(words)}
    assert (summary.worse, summary.better, summary.changes) == (0, 0, {})


@settings(deadline=None)
@given(RUN, RUN)
def test_from_the_other_side_worse_is_better(a: list[str], b: list[str]) -> None:
    """The comparison of B with A is that of A with B, seen in a mirror."""
    there, back = compare(runs(a), runs(b)), compare(runs(b), runs(a))
    assert (there.summary.worse, there.summary.better) == (back.summary.better, back.summary.worse)
    assert Counter(MIRRORED[trend] for trend in there.trends()) == Counter(back.trends())
    assert _pairs(there.runs[0]) == {(j, i) for i, j in _pairs(back.runs[0])}


def _pairs(run: RunDiff) -> set[tuple[int | None, int | None]]:
    return {(step.a, step.b) for step in run.steps}


@settings(deadline=None)
@given(RUN, RUN)
def test_every_call_is_told_once_in_the_order_of_its_run(a: list[str], b: list[str]) -> None:
    """Whatever was aligned with what; calls that moved stand where B has them."""
    run = compare(runs(a), runs(b)).runs[0]
    assert sorted(step.a for step in run.steps if step.a is not None) == list(range(len(a)))
    assert [step.b for step in run.steps if step.b is not None] == list(range(len(b)))
    stayed = [step.a for step in run.steps if step.a is not None and step.op != "moved"]
    assert stayed == sorted(stayed)


@settings(deadline=None)
@given(st.data(), st.sets(st.sampled_from("abcdefghij"), min_size=1))
def test_a_pure_reordering_gives_only_moves(data: st.DataObject, values: set[str]) -> None:
    """Independent calls of different tools in another order: none changed, came or went."""
    words = [f"{value}:{value}" for value in sorted(values)]
    shuffled = data.draw(st.permutations(words))
    summary = compare(runs(words), runs(shuffled)).summary
    assert summary.calls.keys() <= {"same", "moved"}
    assert (summary.worse, summary.better) == (0, 0)


@settings(deadline=None)
@given(st.data(), st.sets(st.sampled_from("abcdefghij"), min_size=1))
def test_a_reordering_of_one_tools_calls_is_no_failure(data: st.DataObject, values: set[str]) -> None:
    """Equal kinds stay equal, whichever of them are paired: never keyed by name alone, never a cascade of changes."""
    words = [f"read:{value}" for value in sorted(values)]
    shuffled = data.draw(st.permutations(words))
    summary = compare(runs(words), runs(shuffled)).summary
    assert (summary.worse, summary.better, summary.changes) == (0, 0, {})


@settings(deadline=None)
@given(RUN, WORD, st.data())
def test_one_new_call_is_one_new_call(words: list[str], new: str, data: st.DataObject) -> None:
    """It changes nothing about the others."""
    at = data.draw(st.integers(0, len(words)))
    summary = compare(runs(words), runs([*words[:at], new, *words[at:]])).summary
    assert summary.calls == {"same": len(words), "added": 1}


@settings(deadline=None)
@given(st.lists(WORD, max_size=30), st.lists(WORD, max_size=30))
def test_cut_into_stretches_it_still_tells_every_call(a: list[str], b: list[str]) -> None:
    """As beyond the bound within which all calls are compared with all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "MAX_CELLS", 4)
        found = compare(runs(["list", *a]), runs(["list", *b])).runs[0]
        back = compare(runs(["list", *b]), runs(["list", *a])).runs[0]
    assert sorted(step.a for step in found.steps if step.a is not None) == list(range(len(a) + 1))
    assert [step.b for step in found.steps if step.b is not None] == list(range(len(b) + 1))
    assert _pairs(found) == {(j, i) for i, j in _pairs(back)}
    assert all(
        changes(found.a.entries[step.a], found.b.entries[step.b]) == step.changes
        for step in found.steps
        if step.a is not None and step.b is not None
    )
    assert told(found).startswith(("=list", "-", "+"))
