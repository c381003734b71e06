"""Spans kept in memory for `TracedTools.dump`, whatever provider the program has."""

from __future__ import annotations

from collections import deque
from functools import cached_property

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.guard.ports import CallSpan, Late, RunSpan, Telemetry, ToolCall
from citespan.guard.registry import registry
from citespan.otel.telemetry import OtelTelemetry


class _KeptSpan:
    """A call's or run's span that is put into `kept` when it ends."""

    __slots__ = ("_inner", "_kept", "ref")

    def __init__(self, inner: CallSpan, kept: deque[ReadableSpan]) -> None:
        self._inner = inner
        self._kept = kept
        self.ref: SpanRef | None = inner.ref

    def context(self, context: Context) -> Context:
        return self._inner.context(context)

    def amend(self, decision: Decision) -> None:
        self._inner.amend(decision)

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        self._inner.end(error=error, note=note, failed=failed)
        span = getattr(self._inner, "span", None)
        if isinstance(span, ReadableSpan) and span.end_time is not None:
            self._kept.append(span)


class CollectingTelemetry:
    """Telemetry to the program's provider if it has one when the first span starts, else to a private one.

    Args:
        kept: where ended spans go; its `maxlen` is the bound. asked: a telemetry to use in place of a provider.
    """

    def __init__(self, kept: deque[ReadableSpan], asked: Telemetry | None = None) -> None:
        self._kept = kept
        self._asked = asked

    def within(self, telemetry: Telemetry) -> CollectingTelemetry:
        """The same for calls of a run whose spans go elsewhere, such as a test's: they are kept here too."""
        return CollectingTelemetry(self._kept, telemetry)

    @cached_property
    def _inner(self) -> Telemetry:
        if self._asked is not None:
            return self._asked
        if isinstance(registry.telemetry, Late):
            registry.telemetry.settled()  # it may have a provider to set
        provider = trace.get_tracer_provider()
        return OtelTelemetry(tracer_provider=provider if isinstance(provider, TracerProvider) else TracerProvider())

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """See `OtelTelemetry.start_call`."""
        return _KeptSpan(self._inner.start_call(call, decision, context, guard_seconds=guard_seconds), self._kept)

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """See `OtelTelemetry.start_run`."""
        run = self._inner.start_run(name, run_id, context)
        return _KeptSpan(run, self._kept)  # type: ignore[arg-type]  # a run's span is a call's without `amend`
