"""One trace, judged: what `citespan audit` finds in its spans, and what the page of a run shows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from citespan.audit import RULES, Audit, Auditor, render_json
from citespan.calls import Call, call_of
from citespan.core.policy import Policy
from citespan.errors import EXIT_INCOMPLETE, EXIT_VIOLATIONS
from citespan.serve.packed import Batch, unpack
from citespan.traces.model import SpanRecord

#: spans between two looks at the clock
_STRIDE: Final = 64


class TooSlow(Exception):
    """The time limit is over."""


class Judgement(NamedTuple):
    """The verdict on a trace as it was.

    Args:
        key: of what was judged, see `citespan.serve.desk`.
        incomplete: whether the spans alone show that something is missing. exit_code: of `citespan audit`.
        calls: tool calls. findings, violations: how many.
    """

    key: tuple[int, ...]
    incomplete: bool
    exit_code: int
    calls: int
    findings: int
    violations: int


def judge(
    batches: Sequence[Batch], cited: Sequence[Batch], policy: Policy | None, key: tuple[int, ...], deadline: float
) -> tuple[Judgement, bytes]:
    """Audit a trace.

    Args:
        batches: its spans. cited: spans of other traces that its citations lead to.
        policy: what calls are held against besides. key: goes into the judgement.
        deadline: on `time.monotonic`.

    Returns:
        The judgement, and the audit as `citespan audit --format json` writes it.

    Raises:
        TooSlow: the deadline has passed.
    """
    audit = _audit(spans_of(batches, deadline), policy)
    if cited:
        audit = _of_one(audit, _audit(spans_of([*batches, *cited], deadline), policy), batches[0].trace_id)
    violations = sum(count for rule, count in audit.counts.items() if RULES[rule].exit_code == EXIT_VIOLATIONS)
    findings = sum(audit.counts.values())
    return Judgement(key, audit.incomplete, audit.exit_code, audit.calls, findings, violations), render_json(audit)


def _audit(spans: Iterable[SpanRecord], policy: Policy | None) -> Audit:
    with Auditor(policy) as auditor:
        for span in spans:
            auditor.add(span)
        return auditor.finish()


def _of_one(alone: Audit, together: Audit, trace_id: str) -> Audit:
    """What an audit of several traces says of one of them."""
    if together.left_out:
        return alone  # which of all findings are the trace's is not known: a citation of another trace stays open
    own = tuple(each for each in together.findings if each.trace_id == trace_id)
    own += tuple(each for each in alone.findings if not each.trace_id)
    counts = Counter(each.rule for each in own)
    incomplete = any(RULES[rule].exit_code == EXIT_INCOMPLETE for rule in counts)
    return alone._replace(findings=own, left_out=0, counts=dict(counts), incomplete=incomplete)


def calls_of(batches: Sequence[Batch], deadline: float) -> list[Call]:
    """The tool calls of a trace, each span once, in order of time.

    Raises:
        TooSlow: the deadline has passed.
    """
    found: dict[str, Call] = {}
    for span in spans_of(batches, deadline):
        call = call_of(span)
        if call is not None:
            found.setdefault(span.span_id, call)
    return sorted(found.values(), key=lambda call: (call.start, call.span_id))


def spans_of(batches: Iterable[Batch], deadline: float) -> Iterator[SpanRecord]:
    """The spans of batches, one after the other.

    Raises:
        TooSlow: the deadline has passed.
    """
    number = 0
    for batch in batches:
        for span in unpack(batch):
            if not number % _STRIDE and time.monotonic() > deadline:
                raise TooSlow
            number += 1
            yield span
