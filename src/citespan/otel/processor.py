"""The second gate: tool spans that nobody guards are judged when they start (design section 5.2).

What it does with a span, first match wins:

| a span that starts | what happens |
|---|---|
| is no tool call | nothing |
| carries the guard's token in its context | nothing: the guard tells the verdict itself |
| lies inside the body of the same tool's judged call | nothing: it is the same call, seen further in |
| is of a scope whose tool calls an active adapter guards | `unguarded`, until the guard overwrites it |
| has no arguments yet, or no context to judge it in | `unguarded` |
| anything else | judged; over budget it is ended and exported as `blocked`, and the start raises |

An over-budget call of a scope that swallows exceptions is `unguarded`, never `blocked`. A span cannot be
changed once it is ending, so `unguarded` is set at the start and stands if nothing replaces it.

When a span ends well, its result becomes an observation, if its arguments are known: an echo could not be
told otherwise. This needs a span that records; the guard (a tool's wrapper) does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from citespan import semconv
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.policy import Policy
from citespan.core.resolve import Rulebook
from citespan.guard.advice import advise
from citespan.guard.context import current_call, judged
from citespan.guard.examine import Judgement, examine, mark
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.reported import observe, started
from citespan.guard.trouble import broken
from citespan.otel.content import WHOLE, arguments_of, result_of
from citespan.otel.posture import never_raises, nothing, report
from citespan.otel.recognise import is_judged, tool_of
from citespan.otel.scopes import lets_through
from citespan.otel.spans import reference
from citespan.otel.telemetry import OtelTelemetry

#: tool spans that have not ended; beyond it the oldest is forgotten, and its result teaches nothing
MAX_OPEN: Final = 10_000


@dataclass(slots=True)
class _Open:
    """A tool span that has not ended. `arguments` is None where they are not known yet."""

    span: Span
    tool: Tool
    arguments: Mapping[str, Any] | None
    context: Context
    since: int
    nested: bool = False

    def mark_nested(self) -> None:
        """A run was opened inside: the result is a model's word."""
        self.nested = True


class _Seen(NamedTuple):
    """A tool span that starts, and what is to be known of it."""

    tool: Tool
    scope: str
    arguments: dict[str, Any] | None
    context: Context


def _not_seen() -> _Seen | None:
    return None


class ProvenanceSpanProcessor(SpanProcessor):
    """Judges the tool spans of others. Add it to the program's tracer provider, before any exporter.

    Args:
        policy: None for the run's, else the one that `citespan.configure` set.
        tools: what is known of the tools, by name: a schema makes argument names and enum values known.
        telemetry: how a verdict is told; None for the configured one.

    Raises (from the start of a span):
        ProvenanceDenied: the call is over its budget, and its scope lets the exception through.

    Example:
        `provider.add_span_processor(ProvenanceSpanProcessor())`
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        tools: Iterable[Tool] = (),
        telemetry: OtelTelemetry | None = None,
    ) -> None:
        self._rulebook = None if policy is None else Rulebook(policy)
        self._tools = {tool.name: tool for tool in tools}
        self._telemetry = telemetry
        self._open: dict[int, _Open] = {}
        registry.gates.add(self)

    def open_call(self, context: Context) -> _Open | None:
        """The unguarded call whose span is current in a context; see `citespan.guard.ports.Gate`."""
        return self._open.get(trace.get_current_span(context).get_span_context().span_id)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Judge a tool span that nobody judges.

        Raises:
            ProvenanceDenied: the call is over its budget, and its scope lets the exception through.
        """
        seen = self._see(span, parent_context)
        if seen is None:
            return
        self._set_unguarded(span)
        if seen.arguments is None or seen.scope in registry.enforced_scopes:
            self._remember(span, seen)
        elif not _is_blind(span, parent_context):
            self._judge(span, seen)

    def on_end(self, span: ReadableSpan) -> None:
        """Learn from the result of a call that the guard did not see."""
        self._learn(span)

    def shutdown(self) -> None:
        """Forget the spans that have not ended."""
        self._open.clear()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is kept back."""
        return True

    @never_raises(_not_seen)
    def _see(self, span: Span, parent_context: Context | None) -> _Seen | None:
        """What there is to judge; None for what is no tool span, and for one that the guard judged."""
        attributes = span.attributes or {}
        context = otel_context.get_current() if parent_context is None else parent_context
        name = tool_of(span.name, attributes)
        if name is None:
            # some say only later that they are a tool's span, and have nothing but its name by now
            outer = current_call(context)
            if outer is not None and outer.tool == span.name:
                span.set_attribute(semconv.WITHIN, True)
            return None
        token = judged(context)
        if token is not None and token.claim():
            return None
        call, arguments = current_call(context), _arguments(attributes)
        if call is not None and call.tool == name and (arguments is None or call.matches(arguments)):
            span.set_attribute(semconv.WITHIN, True)
            return None
        scope = span.instrumentation_scope
        return _Seen(
            self._tools.get(name) or _tool(name, attributes),
            "" if scope is None else scope.name,
            arguments,
            context,
        )

    @never_raises(nothing)
    def _set_unguarded(self, span: Span) -> None:
        span.set_attribute(semconv.STATUS, "unguarded")

    def _remember(self, span: Span, seen: _Seen) -> None:
        if len(self._open) >= MAX_OPEN:
            self._open.pop(next(iter(self._open)), None)
        self._open[span.get_span_context().span_id] = _Open(
            span, seen.tool, seen.arguments, seen.context, started(seen.context)
        )

    def _judge(self, span: Span, seen: _Seen) -> None:
        started = time.perf_counter()
        judgement = examine(seen.tool, seen.arguments, seen.context, rulebook=self._rulebook)
        decision = judgement.decision
        if registry.evidence is not None:
            try:
                registry.evidence.append(judgement.call, decision, reference(span))
            except Exception as error:
                decision = broken(decision, f"evidence could not be written ({type(error).__name__})")
        stops = lets_through(seen.scope)
        # a call that cannot be stopped will run: what is uncited in it is marked as well
        if not (decision.deny and stops) and mark(judgement, decision) is None:
            decision = broken(decision, "the call's uncited values could not be marked")
        if decision.deny and not stops:
            decision = decision._replace(deny=False, status="unguarded")
        self._tell(span, judgement, decision, seen.context, time.perf_counter() - started)
        registry.tally.add(decision)
        if not decision.deny:
            self._remember(span, seen)
            return
        try:
            span.end()  # a start that raises loses its span, unless it was ended
        except Exception as error:  # another processor's
            report("ending a refused span", error)
        hint = advise(judgement.run, judgement.rules, decision, judgement.call.offers)
        raise ProvenanceDenied(decision, hint) from None

    @never_raises(nothing)
    def _tell(self, span: Span, judgement: Judgement, decision: Decision, context: Context, seconds: float) -> None:
        if self._telemetry is None:
            configured = registry.telemetry
            self._telemetry = configured if isinstance(configured, OtelTelemetry) else OtelTelemetry()
        self._telemetry.describe(span, judgement.call, decision, context, guard_seconds=seconds)

    @never_raises(nothing)
    def _learn(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        known = None if context is None else self._open.pop(context.span_id, None)
        if known is None or is_judged(known.span):
            return  # the guard records the results of the calls that it judged
        attributes = span.attributes or {}
        arguments = arguments_of(attributes) if known.arguments is None else known.arguments
        if arguments is None:
            return
        failed = span.status.status_code is StatusCode.ERROR or semconv.ERROR_TYPE in attributes
        # a failed call teaches nothing, but an uncited value that went into it may have been stored
        result = None if failed or known.nested else result_of(attributes)
        observe(
            known.tool,
            arguments,
            result,
            context=known.context,
            span=reference(known.span),
            since=known.since,
            rulebook=self._rulebook,
        )


def _tool(name: str, attributes: Mapping[str, Any]) -> Tool:
    """What a span says of its tool."""
    description = attributes.get(semconv.TOOL_DESCRIPTION)
    kind = attributes.get(semconv.TOOL_TYPE)
    extension = attributes.get(semconv.MCP_METHOD) is not None
    return Tool(
        name,
        description=description if type(description) is str else None,
        type=kind if type(kind) is str else "extension" if extension else "function",
    )


def _arguments(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments that a span carries; what cannot even be read is something that nobody can cite."""
    try:
        return arguments_of(attributes)
    except Exception as error:
        report("reading a span's arguments", error)
        return {WHOLE: error}


def _is_blind(span: Span, parent_context: Context | None) -> bool:
    """Whether this hook runs where the caller's context is not, and so no ledger is.

    The concurrent multi-processor calls hooks in threads of its own. There the current span is not the new
    span's parent, which it is wherever no context was passed.
    """
    if parent_context is not None:
        return False
    if isinstance(getattr(span, "_span_processor", None), ConcurrentMultiSpanProcessor):
        return True
    current = trace.get_current_span().get_span_context()
    return span.parent is not None and span.parent.span_id != current.span_id
