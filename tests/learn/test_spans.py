"""Traces: kinds, sources and projections are learned from; values are neither there nor needed."""

from __future__ import annotations

from typing import Any

import pytest

from citespan import semconv
from citespan.calls import call_of
from citespan.core.resolve import resolve
from citespan.learn import Learner, render
from citespan.policy_file import loads
from citespan.traces.model import EventRecord, SpanRecord


def span(
    trace: int, tool: str = "cancel", status: Any = "ok", events: tuple[EventRecord, ...] = (), **more: Any
) -> SpanRecord:
    named = {semconv.OPERATION: semconv.EXECUTE_TOOL, semconv.TOOL_NAME: tool}
    attributes = {**named, semconv.STATUS: status, **more}
    return SpanRecord(
        f"{trace:032x}", f"{trace:016x}", "", "execute_tool", 1, 0, 1, attributes, events, (), "OK", "", {}, "citespan",
        "1", (0, 0, 0), "trace.jsonl:1",
    )  # fmt: skip


def cited(trace: int) -> SpanRecord:
    named = {semconv.KIND: "observed", semconv.SOURCE_TOOL: "list_orders", semconv.SOURCE_FIELD: "orders.3.id"}
    named |= {semconv.DIGEST: f"{trace:016x}"}
    return span(trace, **{f"{key}order": value for key, value in named.items()})


def policy_of(*spans: SpanRecord) -> tuple[Any, str]:
    learner = Learner()
    for call in filter(None, map(call_of, spans)):
        learner.add_call(call)
    text = render(learner.draft("strict"))
    return loads(text), text


def test_a_field_that_all_citations_name_closes_nothing_without_knowing_what_it_holds() -> None:
    policy, text = policy_of(*map(cited, range(12)))
    assert "Traces hold no values" in text
    assert resolve(policy, "cancel", None).arguments == {}


def test_a_text_projection_that_was_used_is_kept() -> None:
    keys = {semconv.KIND: "observed", semconv.SOURCE_TOOL: "ls", semconv.SOURCE_FIELD: "result"}
    keys |= {semconv.PROJECTION: "lines"}
    used = [
        span(trace, "cut", **{f"{key}name": value for key, value in (keys | {semconv.DIGEST: str(trace)}).items()})
        for trace in range(4)
    ]
    policy, _ = policy_of(*used)
    assert resolve(policy, "ls", None).text == ("lines",)


def test_what_was_uncited_is_listed_for_a_person() -> None:
    _, text = policy_of(span(1, **{f"{semconv.KIND}note": "assumed"}))
    assert "#   cancel.note: 1 time in 1 task" in text


def test_a_tool_known_to_read_only_is_tagged() -> None:
    event = EventRecord(semconv.EVENT_UNCITED, 0, {semconv.TOOL_MUTATING: False})
    policy, _ = policy_of(span(1, "find", "flagged", (event,), **{f"{semconv.KIND}text": "assumed"}))
    assert resolve(policy, "find", None).mode == "tag"


def test_spans_that_nobody_judged_say_nothing() -> None:
    _, text = policy_of(span(1, status="unguarded", **{f"{semconv.KIND}note": "assumed"}))
    assert "0 recorded runs" in text


@pytest.mark.parametrize("text", ["7", "{}", "[7]", '[{"path": "note.0", "kind": ["user"]}]'])
def test_leaves_of_another_form_are_none(text: str) -> None:
    """And whatever the other attributes are made of."""
    odd = {f"{key}note": ["x"] for key in (semconv.SOURCE_TOOL, semconv.SOURCE_FIELD, semconv.PROJECTION)}
    odd |= {semconv.LEAVES: text, f"{semconv.DIGEST}note": b"x", f"{semconv.KIND}other": ["user"]}
    event = EventRecord(semconv.EVENT_UNCITED, 0, {semconv.TOOL_MUTATING: ["x"]})
    _, learned = policy_of(span(1, events=(event,), **{f"{semconv.KIND}note": "assumed"}, **odd))
    assert "#   cancel.note: 1 time in 1 task" in learned


def test_a_status_that_is_no_text_says_nothing() -> None:
    _, text = policy_of(span(1, status=["ok"], **{f"{semconv.KIND}note": "assumed"}))
    assert "0 recorded runs" in text
