"""Traces of somebody who wants a clean audit: an agent that writes its own spans, a collector that loses parts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.audit.traces import audited, call, cites, run, span

from citespan import semconv
from citespan.audit.store import MAX_VERSIONS
from citespan.traces.model import EventRecord, LinkRecord, SpanRecord

WITHIN = {semconv.WITHIN: True}
DENIED = {semconv.ERROR_TYPE: semconv.ERROR_DENIED}
GUESS = {semconv.KIND + "path": "assumed", semconv.COUNT + "assumed": 1, semconv.ASSUMED_FIELDS: ["path"]}
EVENT = EventRecord(semconv.EVENT_UNCITED, 1, {semconv.ARGUMENT_NAME: "path"})


class TestWithin:
    """`provenance.within` says that another span has the verdict. Anybody can say so."""

    @pytest.mark.parametrize(
        "around",
        [
            (),
            (call(2, "list", end=9),),
            (call(2, status=None, end=9),),
            (call(2, status="unguarded", end=9),),
            (call(2, status="blocked", end=9),),
            (call(2, end=9, said=WITHIN, status=None),),
        ],
        ids=["nothing", "another tool", "no verdict", "unguarded", "a refused call", "another that says so"],
    )
    def test_a_span_in_no_judged_call_of_its_tool_is_unguarded(self, around: tuple[SpanRecord, ...]) -> None:
        """And counts as a call."""
        spans = (run(), call(5), *around, call(3, parent=2 if around else 1, status=None, said=WITHIN))
        audit = audited(spans)
        assert [finding.rule for finding in audit.findings if finding.span_id.endswith("3")] == ["unguarded"]
        assert audit.exit_code == 1
        assert audit.calls == 2 + len(around)

    def test_another_agent_in_between_is_not_the_same_call(self) -> None:
        """The call of an agent that a tool runs is a call."""
        spans = (run(), call(2, end=9), run(3, parent=2, start=2.1, end=9), call(4, parent=3, status=None, said=WITHIN))
        assert dict(audited(spans).counts) == {"unguarded": 1}

    def test_spans_in_between_may_be_of_anything(self) -> None:
        """A client's span, and a server's in it."""
        spans = (run(), call(2, end=9), span(3, parent=2), call(4, parent=3, status=None, said=WITHIN))
        assert dict(audited(spans).counts) == {}

    def test_what_is_above_a_lost_span_cannot_be_known(self) -> None:
        """The loss is a finding; that a server's caller is elsewhere is none, and vouches for nothing."""
        lost = (run(), call(5), call(3, parent=2, status=None, said=WITHIN))
        assert dict(audited(lost).counts) == {"missing-parent": 1}
        served = (*lost[:2], lost[2]._replace(kind=2))
        assert dict(audited(served).counts) == {"remote-parent": 1, "unguarded": 1}

    @pytest.mark.parametrize("status", [["ok"], True, 1, "fine", "OK", None], ids=repr)
    def test_a_status_that_cannot_be_read_is_not_made_up_for(self, status: Any) -> None:
        """By the attribute beside it; nor by the judged call around."""
        spans = (run(), call(2, end=9), call(3, parent=2, status=None, said={**WITHIN, semconv.STATUS: status}))
        assert dict(audited(spans).counts) == {"inconsistent": 1}


@pytest.mark.parametrize(
    "forged",
    [
        call(2, said={**GUESS, semconv.BUDGET: None}),
        call(2, said={**GUESS, semconv.BUDGET: "0"}),
        call(2, said={semconv.KIND + "path": "assumed", semconv.COUNT + "assumed": 1}, events=(EVENT,)),
        call(2, said={semconv.BUDGET: None}, events=(EVENT,)),
        call(2, said=DENIED),
        call(2, said={semconv.KIND + "path": "observed", semconv.COUNT + "observed": 1}),
        call(2, said={semconv.VIOLATIONS: ["x"]}, dropped=(1, 0, 0)),
        call(2, said=GUESS, dropped=(1, 0, 0)),
    ],
    ids=[
        "counted without a budget",
        "counted with a budget of another type",
        "events of counted leaves, whose paths are gone",
        "events without a budget",
        "an error.type of a refusal",
        "observed in nothing",
        "violations, and lost attributes",
        "more than allowed, and lost attributes",
    ],
)
def test_a_call_that_passed_and_contradicts_itself(forged: SpanRecord) -> None:
    """Whatever was taken off its span, what is left of it is enough."""
    audit = audited((run(), forged))
    assert audit.counts["inconsistent"] == 1
    assert audit.exit_code == 1


@pytest.mark.parametrize("said", [{semconv.VIOLATIONS: ["x"]}, {semconv.ASSUMED_FIELDS: ["path"]}, DENIED], ids=str)
def test_a_verdict_that_was_taken_off(said: dict[str, Any]) -> None:
    """Inside a judged call of its tool it would pass for a framework's own span."""
    spans = (run(), call(2, end=9), call(3, parent=2, status=None, said=said))
    assert audited(spans).exit_code == 1


def test_a_framework_span_that_was_nearly_full_is_no_contradiction() -> None:
    """The guard leaves away what does not fit: kinds first, then counts."""
    refused = call(2, status="blocked")
    kept = {
        key: value for key, value in refused.attributes.items() if not key.startswith((semconv.KIND, semconv.COUNT))
    }
    assert dict(audited((run(), refused._replace(attributes=kept))).counts) == {"blocked": 1}


def test_a_budget_in_tag_mode_is_no_contradiction() -> None:
    """What is within it took from it."""
    spans = (run(), call(2, said={**GUESS, semconv.BUDGET: 1}, events=(EVENT,)))
    assert dict(audited(spans).counts) == {}


class TestTimes:
    """Times are what their writer says they are."""

    def test_a_source_that_ends_before_it_starts(self) -> None:
        """It cannot be had before its start."""
        spans = (run(), call(4, end=1), call(3, said=cites(4), start=2))
        assert dict(audited(spans).counts) == {"later-citation": 1}

    @pytest.mark.parametrize("start", [0, -5])
    def test_a_call_without_a_start(self, start: int) -> None:
        """When it was made cannot be known."""
        spans = (run(), call(4), call(3, said=cites(4))._replace(start=start))
        audit = audited(spans)
        assert dict(audit.counts) == {"unended-span": 1}
        assert audit.findings[0].message == "has no start"

    def test_a_clock_that_was_set_back_by_little(self) -> None:
        """It is no finding by itself."""
        assert dict(audited((run(), call(2, end=1.9), call(3, said=cites(2)))).counts) == {}


class TestOneIdSeveralSpans:
    """Copies of a span that say something else."""

    @pytest.mark.parametrize("worse", ["blocked", "flagged", None])
    @pytest.mark.parametrize("last", [True, False])
    def test_a_clean_copy_hides_nothing(self, worse: str | None, last: bool) -> None:
        """Whichever comes first."""
        copies = [call(2), call(2, status=worse)]
        audit = audited((run(), *(copies if last else copies[::-1])))
        assert audit.counts["conflicting-spans"] == 1
        assert audit.exit_code == 1
        assert audit.calls == 1

    def test_a_call_does_not_choose_which_copy_is_above_it(self) -> None:
        """A span that is one thing and another covers nothing."""
        for number in range(8):
            other = call(2, "list", end=9, said={"salt": number})
            spans = (run(), call(2, end=9), other, call(3, parent=2, status=None))
            assert audited(spans).counts["unguarded"] == 1

    def test_copies_that_differ_in_something_else_are_the_same_span(self) -> None:
        """A framework's span that a collector changed on one of two ways is covered in both."""
        outer = call(2, status=None, end=9)
        changed = outer._replace(attributes={**outer.attributes, "cluster": "a"})
        assert dict(audited((run(), outer, changed, call(3, parent=2))).counts) == {"conflicting-spans": 1}

    def test_too_many_copies_are_a_violation(self) -> None:
        """Since not all of them are looked at."""
        copies = [span(2, f"work {number}") for number in range(MAX_VERSIONS + 1)]
        assert dict(audited((run(), call(3), *copies[:-1])).counts) == {"conflicting-spans": 1}
        audit = audited((run(), call(3), *copies, *copies))
        assert dict(audit.counts) == {"inconsistent": 1}
        assert audit.spans == 3

    def test_of_copies_the_place_is_that_of_the_first_file(self) -> None:
        """In whichever order the files were read."""
        copies = [call(2, status="blocked", place=f"{name}.jsonl:{line}") for name, line in (("b", 1), ("a", 2))]
        for spans in (copies, copies[::-1]):
            (finding,) = audited((run(), *spans)).findings
            assert finding.place == "a.jsonl:2"


def test_the_trace_of_a_source_is_that_of_its_link() -> None:
    """A span of the same id in the citing call's own trace is another one."""
    there = (run(trace=2), call(5, trace=2, start=1))
    citing = call(6, said={**cites(5), "links": cites(5, trace=2)["links"]})
    assert dict(audited((run(), citing, *there)).counts) == {}
    both = (*cites(5, trace=2)["links"], LinkRecord("0" * 31 + "1", "0" * 15 + "5", {semconv.LINK_ARGUMENTS: ["path"]}))
    audit = audited((run(), call(5, status="blocked"), call(6, said={**cites(5), "links": both}), *there))
    assert dict(audit.counts) == {"blocked": 1, "failed-source": 1}


def test_what_a_run_closes_is_its_own_trace() -> None:
    """An ended run of another trace is no end of this one."""
    assert dict(audited((run(), call(2), call(3, trace=2, parent=None))).counts) == {"unclosed-run": 1}
