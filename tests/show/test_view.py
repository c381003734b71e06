"""One call as plain text, as `citespan show` and the pytest plugin print it."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import citespan.show
from citespan.calls import Argument, Call, Cited
from citespan.calls.model import TROUBLE
from citespan.show import view
from citespan.show.gather import MOST_RUNS, Gathering, gather
from citespan.show.model import MOST_ELSEWHERE, Wanted
from citespan.show.recent import Recent
from citespan.show.words import apart, length, moment

RUN = "a" * 32
PATH = Argument("path", "assumed", counted=("path",))


def cited(number: int, start: int, field: str = "files.*", projection: str = "exact") -> Call:
    source = Cited("list_files", field, "1" * 16)
    argument = Argument("path", "observed", source, projection)
    return Call("patch_file", status="ok", arguments=(argument,), trace_id=RUN, span_id=f"{number:016x}", start=start)


BLOCKED = Call("patch_file", status="blocked", arguments=(PATH,), trace_id=RUN, span_id="b" * 16, start=10**18)


def missing(text: str) -> list[str]:
    return [line.partition("missing: ")[2] for line in text.splitlines() if "missing: " in line]


def test_without_anything_to_go_by_the_advice_is_general() -> None:
    """It names no field that the file does not name."""
    assert missing(view(BLOCKED)) == [
        "call a tool that returns the value and pass it on as returned, or let the user say it"
    ]


def test_a_field_that_the_policy_accepts_and_the_run_has_comes_first() -> None:
    """Then those that need a call, then the nearest others."""
    argument = PATH._replace(accepts=("a.x", "list.f"), nearest=("list.f", "list.g"))
    assert missing(view(BLOCKED._replace(arguments=(argument,)))) == [
        "pass on a value of list.f: the policy accepts it, this run has it",
        "call a first: the policy accepts a.x",
        "nearest in this run: list.g",
    ]


def test_what_other_calls_cited_is_said_once_for_each_field_and_projection() -> None:
    """Of the last calls of that tool in that run, the last one that cited it."""
    calls = [
        cited(1, 10**18 - 4 * 10**9, "names.*"),
        cited(2, 10**18 - 3 * 10**9),
        cited(3, 10**18 - 2 * 10**9),
        cited(4, 10**18 + 10**9, projection="basename"),
        cited(5, 10**18)._replace(trace_id="b" * 32),
        cited(6, 10**18)._replace(tool="other"),
        BLOCKED,
    ]
    assert missing(view(BLOCKED, calls)) == [
        f"another call cited list_files.files.* (basename): 1.0 s after, span {4:016x}",
        f"another call cited list_files.files.*: 2.0 s before, span {3:016x}",
    ]


def test_the_text_is_plain_whatever_the_names_are() -> None:
    """No escape reaches a terminal or a log."""
    hostile = Call("\x1b[2J", status="flagged", violations=("\x9bm",), arguments=(PATH._replace(name="\x07"),))
    assert all(character.isprintable() or character == "\n" for character in view(hostile))


@pytest.mark.parametrize("status", [*TROUBLE, "ok", "none", "within"])
def test_every_verdict_is_said_in_words(status: str) -> None:
    """The sign and the colour are not all there is."""
    text = view(Call("deploy", status=status))  # type: ignore[arg-type]
    assert text.startswith(f"{status.upper()} deploy")
    assert len(text.splitlines()) >= 2


def test_a_run_of_many_calls_is_not_held() -> None:
    """What is kept is counts, times of the last spans, and a few citations."""
    gathering = Gathering(Wanted())
    for number in range(3000):
        gathering.add(cited(number, number))
    gathering.add(BLOCKED)
    (shown,) = gathering.screen().shown
    assert shown.context.statuses == {"ok": 3000, "blocked": 1}
    assert len(shown.context.elsewhere["path"]) == MOST_ELSEWHERE


def test_more_runs_than_are_kept_cost_counts_not_answers() -> None:
    """The newest blocked call is found among any number of runs."""
    others = (Call("a", status="ok", run=str(number)) for number in range(2 * MOST_RUNS + 10))
    screen = gather((BLOCKED, *others), Wanted())
    assert [shown.call for shown in screen.shown] == [BLOCKED]
    assert screen.shown[0].context.statuses == {}


def test_what_was_touched_is_kept() -> None:
    """At least as many of the last keys as are promised."""
    recent: Recent[int, int] = Recent(10)
    for number in range(1000):
        recent.put(number, number)
        assert recent.get(0) == 0
    assert all(recent.get(number) == number for number in range(991, 1000))
    assert recent.get(500) is None


@pytest.mark.parametrize(
    "nanoseconds, said",
    [
        (999, "1 us"),
        (999_999, "1000 us"),
        (1_000_000, "1 ms"),
        (119_940_000_000, "119.9 s"),
        (120_000_000_000, "2 min"),
        (7_200_000_000_000, "2.0 h"),
        (172_800_000_000_000, "2 days"),
        (10**30, "11574074074074074 days"),
    ],
)
def test_lengths_of_time_have_one_unit(nanoseconds: int, said: str) -> None:
    """However long they are."""
    assert length(nanoseconds) == said


def test_times_that_are_none_are_said_to_be_unknown() -> None:
    """A span may hold any integer."""
    assert moment(0) == moment(-1) == moment(10**30) == "at an unknown time"
    assert moment(253_402_300_799_999_999_999).startswith("9999-12-31 23:59:59.999")
    assert apart(0, 5) == apart(5, 0) == ""


@pytest.mark.parametrize("name", [found.name for found in pkgutil.iter_modules(citespan.show.__path__)])
def test_the_examples_hold(name: str) -> None:
    """Those in the docstrings."""
    assert doctest.testmod(importlib.import_module(f"citespan.show.{name}")).failed == 0


def test_the_example_of_the_view_holds() -> None:
    """The package's own."""
    assert doctest.testmod(citespan.show).failed == 0
