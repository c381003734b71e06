"""What is different about one call, and whether that is worse."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.diff.words import call

from citespan.calls import Argument, Call, Cited, Leaf
from citespan.diff import Change, collect
from citespan.diff.changes import changes
from citespan.diff.model import Entry

FILES = Cited("list", "files.0")
SEARCH = Cited("search", "hits.0")


def entry(*arguments: Argument, **fields: object) -> Entry:
    return collect([Call("t", status="ok", arguments=arguments)._replace(**fields)], "f")[0].entries[0]  # type: ignore[arg-type]


def argument(kind: str, cited: Cited | None = None, **fields: object) -> Argument:
    return Argument("path", kind, cited)._replace(**fields)  # type: ignore[arg-type]


CASES = {
    "no source any more": (argument("observed", FILES), argument("assumed"), ["kind worse"]),
    "a source again": (argument("assumed"), argument("user", Cited("", "inputs.path")), ["kind better"]),
    "said instead of seen": (argument("observed", FILES), argument("user", Cited("", "message.0")), ["kind worse"]),
    "another tool": (argument("observed", FILES), argument("observed", SEARCH), ["source_tool same"]),
    "another field": (
        argument("observed", FILES),
        argument("observed", Cited("list", "names.0")),
        ["source_field same"],
    ),
    "another index": (argument("observed", FILES), argument("observed", Cited("list", "files.9")), []),
    "another projection": (
        argument("observed", FILES),
        argument("observed", FILES, projection="basename"),
        ["projection same"],
    ),
    "weak by now": (argument("observed", FILES), argument("observed", FILES, weak=True), ["weak worse"]),
    "a source that one file does not name": (argument("observed", FILES), argument("observed"), []),
    "another value": (argument("observed", FILES, digest="1"), argument("observed", FILES, digest="2"), []),
}


@pytest.mark.parametrize("before, after, expected", CASES.values(), ids=CASES)
def test_what_changed_about_an_argument(before: Argument, after: Argument, expected: list[str]) -> None:
    """See the table above."""
    found = changes(entry(before), entry(after))
    assert [f"{change.what} {change.trend}" for change in found] == expected


def test_a_verdict_got_worse() -> None:
    """From the best to the worst: ok, flagged, unguarded, error, blocked; no verdict at all stands after ok."""
    order = ["ok", "none", "flagged", "unguarded", "error", "blocked"]
    for before, after in pairwise(order):
        assert changes(entry(status=before), entry(status=after)) == (Change("", "status", before, after, "worse"),)
        assert changes(entry(status=after), entry(status=before)) == (Change("", "status", after, before, "better"),)


def test_swapped_arguments_are_two_changes() -> None:
    """Each is compared with the one of its name."""
    one, other = Argument("a", "observed", FILES), Argument("b", "observed", SEARCH)
    found = changes(entry(one, other), entry(one._replace(cited=SEARCH), other._replace(cited=FILES)))
    assert [(change.path, change.before, change.after) for change in found] == [
        ("a", "list.files.*", "search.hits.*"),
        ("b", "search.hits.*", "list.files.*"),
    ]


def test_a_renamed_argument_is_one_that_went_and_one_that_came() -> None:
    """Names are what arguments are known by."""
    found = changes(entry(argument("user")), entry(argument("user", name="file")))
    assert [(change.path, change.what, change.trend) for change in found] == [
        ("file", "added", "same"),
        ("path", "removed", "same"),
    ]


def test_an_argument_that_came_without_a_source_is_worse() -> None:
    """If it took from the budget; an allowed comment does not."""
    uncited, allowed = argument("assumed", counted=("path",)), argument("assumed")
    assert [change.trend for change in changes(entry(), entry(uncited))] == ["worse"]
    assert [change.trend for change in changes(entry(uncited), entry())] == ["better"]
    assert [change.trend for change in changes(entry(), entry(allowed))] == ["same"]


def test_leaves_are_compared_by_pattern() -> None:
    """A list may be longer than the other; its kind is that of its worst member."""
    cited = Leaf("path.0", "observed", FILES)
    two = argument("observed", FILES, leaves=(cited, cited._replace(path="path.1")))
    three = argument("observed", FILES, leaves=(*two.leaves, cited._replace(path="path.2")))
    bad = argument("assumed", FILES, leaves=(*two.leaves, Leaf("path.2", "assumed", counted=True)))
    assert changes(entry(two), entry(three)) == ()
    assert changes(entry(two), entry(bad)) == (
        Change("path.*", "kind", "observed", "assumed", "worse", "list.files.*", "list.files.*"),
    )


def test_a_member_of_an_object_is_told_by_its_name() -> None:
    """Also where the argument's own kind, its worst leaf's, stays."""
    comment = Leaf("path.note", "assumed")
    before = argument("assumed", leaves=(Leaf("path.to", "observed", FILES), comment))
    after = argument("assumed", leaves=(Leaf("path.to", "user", Cited("", "message")), comment))
    assert [(change.path, change.trend) for change in changes(entry(before), entry(after))] == [("path.to", "worse")]


def test_what_a_file_had_no_room_for_is_no_change() -> None:
    """A full span says what it left out."""
    one = argument("observed", FILES)
    assert changes(entry(one), entry(truncated=("arguments=1",))) == ()
    some = argument("observed", FILES, leaves=(Leaf("path.0", "observed", FILES), Leaf("path.a", "observed", SEARCH)))
    cut = argument("observed", FILES, leaves=some.leaves[:1])
    assert changes(entry(some), entry(cut, truncated=("leaves=1",))) == ()


def test_what_no_schema_declares_is_compared_only_if_it_counted() -> None:
    """A span says nothing else of it; an evidence file does."""
    plain, counted = argument("user", name="*"), argument("observed", name="*", counted=("*",))
    assert changes(entry(), entry(plain)) == ()
    assert [(change.path, change.what, change.trend) for change in changes(entry(), entry(counted))] == [
        ("*", "added", "worse")
    ]


def test_two_equal_calls_have_no_changes() -> None:
    """Whatever they are."""
    for word in ("list", "read:a", "read:a!", "read:a?"):
        (run,) = collect([call(word)], "f")
        assert changes(run.entries[0], run.entries[0]) == ()
