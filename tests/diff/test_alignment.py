"""Calls are aligned as sequences: what was repeated, left out, put in or moved is shown as just that."""

from __future__ import annotations

import sys

import pytest
from tests.diff.words import calls, runs, told

from citespan.calls import Call
from citespan.diff import collect, compare
from citespan.errors import UsageError

CASES = {
    "nothing changed": ("list read:a write:a", "list read:a write:a", "=list =read =write"),
    "a call was repeated": ("list read:a write:a", "list read:a read:a write:a", "=list =read +read(2) =write"),
    "it was repeated often": ("read:a", "read:a read:a read:a", "=read +read(1) +read(1)"),
    "it is repeated less": ("read:a read:a read:a write:a", "read:a write:a", "=read -read(1) -read(1) =write"),
    "a call was put in": ("read:a read:b", "read:z read:a read:b", "+read =read =read"),
    "one was put in and one left out": ("read:a read:b read:c", "read:z read:a read:b", "+read =read =read -read"),
    "a call was left out": ("list read:a read:b write:b", "list read:b write:b", "=list -read =read =write"),
    "two calls changed places": ("read:a write:b", "write:b read:a", ">write =read"),
    "a call was made earlier": ("list read:a read:b stop", "stop list read:a read:b", ">stop =list =read =read"),
    "a call of another tool took its place": ("list read:a", "list fetch:a", "=list -read +fetch"),
    "a value lost its source": ("list read:a", "list read:a!", "=list ~read"),
    "every value lost its source": ("read:a read:b", "read:a! read:b!", "~read ~read"),
    "a refused call was tried again": ("read:a write:a", "read:a! read:a write:a", "+read =read =write"),
    "the same tool with other values": ("read:a read:b", "read:c read:d", "=read =read"),
    "a value from another source": ("read:a", "read:a@search.hits.0", "~read"),
    "another index of the same list": ("read:a", "read:a@list.files.7", "=read"),
    "nothing in common": ("list", "stop", "-list +stop"),
}


@pytest.mark.parametrize("before, after, expected", CASES.values(), ids=CASES)
def test_what_happened_to_the_calls_is_told(before: str, after: str, expected: str) -> None:
    """See the table above."""
    assert told(compare(runs(before), runs(after)).runs[0]) == expected


@pytest.mark.parametrize("before, after", [(before, after) for before, after, _ in CASES.values()], ids=CASES)
def test_seen_from_the_other_side_what_came_has_gone(before: str, after: str) -> None:
    """The same calls are paired whichever file is named first."""
    there, back = compare(runs(before), runs(after)).runs[0], compare(runs(after), runs(before)).runs[0]
    assert {(step.a, step.b) for step in there.steps} == {(step.b, step.a) for step in back.steps}


def test_calls_of_one_name_on_two_servers_are_two_calls() -> None:
    """A name alone is no key where both files know the servers."""
    (one,), (other,) = calls("search:a"), calls("search:a")
    found = compare(collect([one._replace(server="web")], "A"), collect([other._replace(server="mail")], "B")).runs[0]
    assert told(found) == "-search +search"


def test_a_server_that_one_file_does_not_name_is_no_difference() -> None:
    """A span names no server; an evidence line does."""
    (one,), (other,) = calls("search:a"), calls("search:a")
    assert told(compare(collect([one._replace(server="web")], "A"), collect([other], "B")).runs[0]) == "=search"


def test_digests_of_two_keys_are_not_compared() -> None:
    """Digests made with different secrets differ for equal values, so they say nothing."""
    found = compare(runs("read:a write:b", digest_key="one"), runs("write:x read:y", digest_key="two")).runs[0]
    assert told(found) == ">write =read"


@pytest.mark.parametrize("digests", [str, lambda at: "", lambda at: str(at % 7)])
def test_long_runs_are_aligned_too(digests: object) -> None:
    """2,000 calls, with one in ten left out: the rest is found again, in the same order."""
    assert callable(digests)
    words = [f"t{at % 3}:{digests(at)}" for at in range(2000)]
    kept = [word for at, word in enumerate(words) if at % 10]
    summary = compare(runs(words), runs(kept)).summary
    assert summary.calls == {"same": 1800, "removed": 200}


def _span(call: Call, span: str, *, above: str = "", status: str = "ok") -> Call:
    return call._replace(trace_id="t1", span_id=span, parent_id=above, run="", status=status)  # type: ignore[arg-type]


class TestCollecting:
    """What of a file is compared."""

    def test_the_order_is_that_of_the_starts(self) -> None:
        """A collector writes spans as they end, or as they arrive."""
        first, second = calls("list read:a")
        (run,) = collect([_span(second, "2"), _span(first, "1")], "f")
        assert [entry.tool for entry in run.entries] == ["list", "read"]

    def test_a_span_that_was_delivered_twice_counts_once(self) -> None:
        """OTLP delivers at least once."""
        first, second = calls("list read:a")
        (run,) = collect([_span(first, "1"), _span(second, "2"), _span(first, "1")], "f")
        assert len(run.entries) == 2

    def test_the_same_call_seen_by_another_instrumentor_counts_once(self) -> None:
        """A tool span of nobody's judgement, above or below the judged one of the same tool, is that call."""
        (judged,) = calls("read:a")
        foreign = judged._replace(arguments=())
        spans = [
            _span(judged, "2", above="1"),
            _span(foreign, "1", status="none"),
            _span(foreign, "3", above="2", status="none"),
            _span(foreign, "4", above="3", status="none"),
            _span(foreign, "5", above="2", status="within"),
        ]
        (run,) = collect(spans, "f")
        assert [entry.status for entry in run.entries] == ["ok"]

    def test_a_tool_span_that_nobody_judged_is_a_call(self) -> None:
        """An agent without a guard calls tools too."""
        (call,) = calls("read")
        (run,) = collect([_span(call, "1", status="none")], "f")
        assert [entry.status for entry in run.entries] == ["none"]

    def test_a_conversation_is_one_run_over_several_traces(self) -> None:
        """And a call of one of these traces that has no conversation belongs to it."""
        one, two, stray = calls("list read:a write:a")
        spans = [
            one._replace(trace_id="t1", span_id="1"),
            two._replace(trace_id="t2", span_id="2"),
            stray._replace(trace_id="t2", span_id="3", run=""),
        ]
        (run,) = collect(spans, "f")
        assert (run.id, len(run.entries)) == ("r", 3)

    def test_memory_is_bounded_by_parts_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Many leaves that are all different are refused like many calls; equal ones are kept once."""
        monkeypatch.setattr(sys.modules[collect.__module__], "MAX_PARTS", 100)
        assert len(collect(calls(["read:a"] * 500), "f")[0].entries) == 500
        with pytest.raises(UsageError, match=r"f: more than 100 different .* choose one run"):
            collect(calls([f"read:{at}" for at in range(500)]), "f")


class TestPairingOfRuns:
    """By id, else by agent, else by order; the rest is told apart."""

    def test_by_id(self) -> None:
        """Whatever the order in the files."""
        a = (*runs("list", run="one"), *runs("read:a", run="two"))
        b = (*runs("read:a", run="two"), *runs("list", run="one"))
        found = compare(a, b)
        assert [(run.a.id, run.b.id, run.paired_by) for run in found.runs] == [
            ("one", "one", "id"),
            ("two", "two", "id"),
        ]

    def test_by_agent_then_by_order(self) -> None:
        """Ids are new for each run as a rule; agents keep their names."""
        a = [runs("list", run=name)[0]._replace(agent=agent) for name, agent in (("1", "x"), ("2", "y"), ("3", "z"))]
        b = [runs("list", run=name)[0]._replace(agent=agent) for name, agent in (("4", "y"), ("5", "x"), ("6", "w"))]
        found = compare(a, b)
        assert [(run.a.id, run.b.id, run.paired_by) for run in found.runs] == [
            ("1", "5", "agent"),
            ("2", "4", "agent"),
            ("3", "6", "order"),
        ]

    def test_a_run_that_only_one_file_has_is_told_apart(self) -> None:
        """It is worse only if it holds a call with an uncited argument."""
        a, b = runs("list", run="1"), (*runs("list", run="1"), *runs("read:a!", run="2"), *runs("list", run="3"))
        found = compare(a, b)
        assert [run.id for run in found.only_b] == ["2", "3"]
        assert (found.summary.worse, found.summary.better) == (1, 0)
