"""What makes a call worse, however it is hidden: the exit code of `--only-worse` hangs on it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.diff.words import call, calls

from citespan.calls import Argument, Call, Cited, Leaf
from citespan.calls.model import TROUBLE
from citespan.diff import Diff, collect, compare, render_text
from citespan.semconv import UNDECLARED

LIST = Cited("list", "files.0")


def spanned(word: str, span: str, at: int = 0, **fields: Any) -> Call:
    found = call(word, at)._replace(trace_id="t1", span_id=span, end=at + 5)
    return found._replace(**fields)


def diff(a: list[Call], b: list[Call]) -> Diff:
    return compare(collect(a, "A"), collect(b, "B"))


@pytest.mark.parametrize("copies_first", [True, False])
@pytest.mark.parametrize("status", ["blocked", "flagged", "none", "unguarded"])
def test_a_clean_copy_with_the_same_id_hides_nothing(status: str, copies_first: bool) -> None:
    """Whichever of the two is read first."""
    clean = spanned("read:a", "1")
    both = [clean, clean._replace(status=status, place="f:9")]
    assert diff([clean], both if copies_first else both[::-1]).summary.worse == 1


def test_a_copy_that_says_the_same_at_another_place_counts_once() -> None:
    """Delivery is at least once."""
    clean = spanned("read:a", "1")
    assert diff([clean], [clean, clean._replace(place="g:7")]).summary.calls == {"same": 1}


@pytest.mark.parametrize("status", TROUBLE)
def test_a_call_that_came_in_trouble_is_worse(status: str) -> None:
    """Though no argument of it is named; and better where it went."""
    calm = calls("list")
    more = [*calm, call("send", 1)._replace(status=status)]  # type: ignore[arg-type]
    assert (diff(calm, more).summary.worse, diff(more, calm).summary.better) == (1, 1)


def test_a_call_that_nobody_judged_is_worse_where_others_were_judged() -> None:
    """A run without a guard is compared with another one as it is."""
    calm, wild = calls("list"), call("send", 1)._replace(status="none")
    found = diff(calm, [*calm, wild])
    assert found.summary.worse == 1
    assert "+ send  #2, not judged  (worse)" in [str(line) for line in render_text(found, "A", "B")]
    unguarded = [each._replace(status="none") for each in calm]
    assert diff(unguarded, [*unguarded, wild]).summary.worse == 0


def test_a_whole_run_that_nobody_judged_is_worse() -> None:
    """Also where nothing of it has a partner."""
    calm = calls("list")
    wild = [each._replace(status="none") for each in calls("send", run="other")]
    found = diff(calm, [*calm, *wild])
    assert found.summary.worse == 1
    assert any(str(line).endswith("(worse)") for line in render_text(found, "A", "B", "worse"))


class TestWithin:
    """A span that says that it is part of a judged call."""

    @pytest.mark.parametrize(
        "tool, start, around", [("read", 9, "ok"), ("send", 2, "ok"), ("read", 2, "blocked"), ("read", 2, "none")]
    )
    def test_one_that_can_be_part_of_none_is_a_call(self, tool: str, start: int, around: str) -> None:
        """Later, of another tool, inside one that was refused, or that nobody judged."""
        judged = spanned("list", "0"), spanned("read:a", "1", status=around)
        part = spanned(tool, "2", start, parent_id="0", status="within")
        assert diff([*judged], [*judged, part]).summary.worse == 1

    @pytest.mark.parametrize("start", [0, 2, 5])
    def test_one_that_can_is_none(self, start: int) -> None:
        """While a call of its tool was running."""
        judged = spanned("read:a", "1")
        part = spanned("read", "2", start, parent_id="1", status="within")
        assert diff([judged], [judged, part]).summary.calls == {"same": 1}


def test_what_ran_inside_a_refused_call_is_a_call() -> None:
    """There its body ran."""
    refused = spanned("read:a!", "1")
    ran = spanned("read", "2", 1, parent_id="1", status="none")
    assert diff([refused], [refused, ran]).summary.worse == 1


def leaves(*paths: str) -> Call:
    found = tuple(Leaf(path, "assumed" if path[-1] in "xy" else "observed", LIST) for path in paths)
    counted = tuple(path for path in paths if path[-1] in "xy")
    argument = Argument("to", "assumed" if counted else "observed", LIST, leaves=found, counted=counted)
    return Call("t", status="flagged", arguments=(argument,), assumed_fields=counted, run="r")


def test_an_uncited_leaf_that_came_is_worse() -> None:
    """Beside one that was uncited before; a cited one is neither."""
    assert diff([leaves("to.a", "to.x")], [leaves("to.a", "to.x", "to.y")]).summary.worse == 1
    assert diff([leaves("to.a", "to.x", "to.y")], [leaves("to.a", "to.x")]).summary.better == 1
    assert diff([leaves("to.a", "to.x")], [leaves("to.a", "to.x", "to.b")]).summary.worse == 0


@pytest.mark.parametrize("path", [UNDECLARED, "beyond_the_room.x"])
def test_an_undeclared_argument_that_came_is_worse(path: str) -> None:
    """It is on the span only because it took from the budget."""
    base = leaves("to.a", "to.x")
    extra = Argument(UNDECLARED, "assumed", counted=(path,))
    more = base._replace(arguments=(*base.arguments, extra), assumed_fields=(*base.assumed_fields, path))
    assert (diff([base], [more]).summary.worse, diff([more], [base]).summary.better) == (1, 1)
