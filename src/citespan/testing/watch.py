"""What the tools of one test did: every decision, whoever asked for it, and the spans that tell of it.

The decisions come from the registry's evidence and tally, which hear of each one, whatever telemetry the program has.
The spans come from a provider of the test's own, and, for calls that a framework opened a span for, from that span.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from citespan import semconv
from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.guard.context import RUN, current_run
from citespan.guard.conversations import Conversations
from citespan.guard.ports import CallSpan, Evidence, RunSpan, ToolCall
from citespan.guard.registry import Tally, registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.recognise import tool_of
from citespan.otel.telemetry import OtelTelemetry
from citespan.testing.journal import Entry, Journal


class _Told:
    """A call's span, whose changes of verdict the journal hears of."""

    __slots__ = ("_entry", "_journal", "_span", "ref")

    def __init__(self, span: CallSpan, entry: Entry, journal: Journal) -> None:
        self._span = span
        self._entry = entry
        self._journal = journal
        self.ref = span.ref

    @property
    def span(self) -> object:
        """The span itself, None where there is none."""
        return getattr(self._span, "span", None)

    def context(self, context: Context) -> Context:
        return self._span.context(context)

    def amend(self, decision: Decision) -> None:
        self._span.amend(decision)
        self._journal.amended(self._entry, decision)

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        self._span.end(error=error, note=note, failed=failed)


class _Telemetry:
    """Telemetry to the test's own provider; see `citespan.guard.ports.Telemetry`."""

    def __init__(self, provider: TracerProvider, policy: Policy, journal: Journal) -> None:
        self._inner = OtelTelemetry(provider, NoOpMeterProvider(), previews=policy.previews)
        self._journal = journal

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        span = self._inner.start_call(call, decision, context, guard_seconds=guard_seconds)
        return _Told(span, self._journal.told(decision, getattr(span, "span", None)), self._journal)

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        return self._inner.start_run(name, run_id, context)


class _Evidence:
    """Hears of every decision before the body runs, and passes it on; see `citespan.guard.ports.Evidence`."""

    def __init__(self, before: Evidence | None, journal: Journal) -> None:
        self._before = before
        self._journal = journal

    def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
        self._journal.written(call, decision, span)
        if self._before is not None:
            self._before.append(call, decision, span)


class _Tally(Tally):
    """Hears of every decision of the process, and passes it on."""

    def __init__(self, before: Tally, journal: Journal) -> None:
        super().__init__()
        self._before = before
        self._journal = journal

    def add(self, decision: Decision) -> None:
        self._before.add(decision)
        outside = current_run() is None
        self._journal.judged(decision, outside=outside, late=outside and otel_context.get_value(RUN) is not None)


class _Keep(SpanProcessor):
    """Keeps the spans of the test's own provider."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def on_end(self, span: ReadableSpan) -> None:
        self._journal.ended(span)


class _Probe(SpanProcessor):
    """On the program's own provider while the test runs: the second gate where there is none, an eye on tool spans.

    Args:
        gate: judges tool spans that nobody guards; None where the provider has one.
    """

    def __init__(self, journal: Journal, gate: ProvenanceSpanProcessor | None) -> None:
        self._journal = journal
        self._gate = gate
        self.active = True

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self.active and self._gate is not None:
            self._gate.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        if not self.active:
            return
        if self._gate is not None:
            self._gate.on_end(span)
        attributes = span.attributes or {}
        if semconv.STATUS in attributes and tool_of(span.name, attributes) is not None:
            self._journal.seen(span)


@contextmanager
def watched(policy: Policy) -> Iterator[tuple[Journal, _Telemetry]]:
    """Hear of every decision and span of the process, under a policy, until the end of the block.

    The registry's defaults are the test's meanwhile, and then what they were; what the program changed itself stays.
    The program's tracer provider is never replaced.
    """
    journal = Journal()
    provider = _provider(journal)
    telemetry = _Telemetry(provider, policy, journal)
    before = dict(vars(registry))
    registry.policy = policy
    ours: Mapping[str, Any] = {
        "rulebook": registry.rulebook,
        "telemetry": telemetry,
        "evidence": _Evidence(registry.evidence, journal),
        "tally": _Tally(registry.tally, journal),
        "conversations": Conversations(),  # a thread of an earlier test is another conversation
    }
    vars(registry).update(ours)
    try:
        with _probed(journal):
            yield journal, telemetry
    finally:
        for name, value in ours.items():
            if getattr(registry, name) is value:
                setattr(registry, name, before[name])
        provider.shutdown()


def _provider(journal: Journal) -> TracerProvider:
    with _sdk_enabled():
        provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(_Keep(journal))
    return provider


@contextmanager
def _sdk_enabled() -> Iterator[None]:
    """Many test suites switch the SDK off, which is read where a provider is made. This one is only the test's own."""
    said = os.environ.pop(OTEL_SDK_DISABLED, None)
    try:
        yield
    finally:
        if said is not None:
            os.environ[OTEL_SDK_DISABLED] = said


@contextmanager
def _probed(journal: Journal) -> Iterator[None]:
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        yield
        return
    gated = any(isinstance(one, ProvenanceSpanProcessor) for one in _processors(provider))
    probe = _Probe(journal, None if gated else ProvenanceSpanProcessor())
    provider.add_span_processor(probe)
    try:
        yield
    finally:
        probe.active = False
        _remove(provider, probe)


def _processors(provider: TracerProvider) -> tuple[SpanProcessor, ...]:
    return tuple(getattr(provider._active_span_processor, "_span_processors", ()))


def _remove(provider: TracerProvider, probe: SpanProcessor) -> None:
    """Take a processor away. The SDK has no way to; where its inside changes, an inert processor stays."""
    active: Any = provider._active_span_processor
    with suppress(AttributeError, TypeError), active._lock:
        active._span_processors = tuple(one for one in active._span_processors if one is not probe)
