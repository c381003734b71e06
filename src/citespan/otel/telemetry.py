"""What the guard tells OpenTelemetry: one span per call, one per run, events, metrics (design section 4).

Uses the OpenTelemetry API only. Without a provider the spans do not record and nothing else changes; a
provider that is set later is used from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import metadata
from typing import Any, Literal, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

from citespan import semconv
from citespan.core.decision import Decision
from citespan.guard.ports import CallSpan, RunSpan, ToolCall
from citespan.guard.registry import NoSpan
from citespan.otel.adopt import room_on, tell
from citespan.otel.attributes import Record, record
from citespan.otel.digest import Digester, default_digester
from citespan.otel.metrics import Metrics
from citespan.otel.names import MAX_SPAN_NAME, clean
from citespan.otel.posture import never_raises, nothing
from citespan.otel.recognise import is_agent, mark_judged, mark_told, take_told, tool_of
from citespan.otel.spans import AdoptedSpan, OwnSpan, adopted, reference, refuse

Events: TypeAlias = Literal["span", "log", "both"]


def _untold_call() -> CallSpan:
    return NoSpan()


def _untold_run() -> RunSpan:
    return NoSpan()


class OtelTelemetry:
    """Implements `citespan.guard.ports.Telemetry`. No method raises.

    Args:
        tracer_provider: None for the global one. meter_provider, logger_provider: likewise.
        events: where `provenance.uncited` goes: "span" events, "log" records, or "both".
        previews: whether redacted starts of arguments may go out.
        digester: makes the digests; by default with the user's key.

    Example:
        >>> OtelTelemetry(events="both").events
        'both'
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        logger_provider: Any = None,
        events: Events = "span",
        previews: bool = False,
        digester: Digester | None = None,
    ) -> None:
        self.events = events
        self.previews = previews
        self._tracer_provider = tracer_provider
        self._logger_provider = logger_provider
        self._given_digester = digester
        self._metrics = Metrics(meter_provider, scope_version())

    @cached_property
    def _tracer(self) -> Tracer:
        return trace.get_tracer(semconv.SCOPE, scope_version(), self._tracer_provider, schema_url=semconv.SCHEMA_URL)

    @cached_property
    def _digester(self) -> Digester:
        return self._given_digester or default_digester()

    @never_raises(_untold_call)
    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """Start the call's span, or describe the call on the framework's own span for it."""
        current = trace.get_current_span(context)
        if _is_for(current, call, context):
            mark_judged(current)
            self._describe(current, call, decision, context, guard_seconds, again=take_told(current))
            return AdoptedSpan(current, reference(current))
        told = record(call, decision, self._digester, previews=self.previews)
        if decision.deny:
            told.attributes[semconv.ERROR_TYPE] = semconv.ERROR_DENIED
        # positional, in the API's order; an exception event would hold the exception's text, hence the two False
        span = self._tracer.start_span(
            told.names.span, context, SpanKind.INTERNAL, told.attributes, told.links, None, False, False
        )
        self._conclude(span, told, decision, context, guard_seconds)
        return _own(span, current)

    @never_raises(nothing)
    def describe(
        self, span: Span, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float
    ) -> None:
        """Put what `start_call` would say of a call on a span that is there already."""
        mark_told(span)
        self._describe(span, call, decision, context, guard_seconds, again=False)

    def _describe(
        self, span: Span, call: ToolCall, decision: Decision, context: Context, guard_seconds: float, *, again: bool
    ) -> None:
        """Tell a verdict on a span of another's; `again` where it replaces one: nothing counts twice."""
        room = room_on(span)
        told = record(call, decision, self._digester, room=room, previews=self.previews)
        if decision.deny:
            told.attributes[semconv.ERROR_TYPE] = semconv.ERROR_DENIED
        tell(span, told, room)
        if again:
            if decision.deny:
                refuse(span, decision)
            return
        for link in told.links:
            span.add_link(link.context, link.attributes)
        self._conclude(span, told, decision, context, guard_seconds)

    @never_raises(nothing)
    def _conclude(self, span: Span, told: Record, decision: Decision, context: Context, guard_seconds: float) -> None:
        """What follows once the attributes are on the span: its status, events, metrics."""
        if decision.deny:
            refuse(span, decision)
        if told.events:
            self._emit(told, span, context)
        self._metrics.measure(decision, told.names, guard_seconds, context)

    @never_raises(_untold_run)
    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """Open `invoke_agent {name}` unless such a span is current."""
        current = trace.get_current_span(context)
        if current.is_recording() and is_agent(getattr(current, "attributes", None) or {}):
            return NoSpan()
        attributes = {semconv.OPERATION: semconv.INVOKE_AGENT}
        title = semconv.INVOKE_AGENT
        if run_id:
            attributes[semconv.CONVERSATION_ID] = clean(run_id)
        if name:
            attributes[semconv.AGENT_NAME] = clean(name, MAX_SPAN_NAME)
            title = f"{title} {attributes[semconv.AGENT_NAME]}"
        span = self._tracer.start_span(
            title, context, attributes=attributes, record_exception=False, set_status_on_exception=False
        )
        return _own(span, current)

    @never_raises(nothing)
    def _emit(self, told: Record, span: Span, context: Context) -> None:
        """Send one `provenance.uncited` per leaf that counted."""
        if self.events != "log" and span.is_recording():
            for attributes in told.events:
                span.add_event(semconv.EVENT_UNCITED, attributes)
        if self.events != "span":
            emit, where = self._log, trace.set_span_in_context(span, context)
            for attributes in told.events:
                emit(attributes, where)

    @cached_property
    def _log(self) -> Callable[[dict[str, Any], Context], None]:
        # the API's logs are still young: loaded only where they were asked for
        from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

        logger = get_logger(semconv.SCOPE, scope_version(), self._logger_provider, schema_url=semconv.SCHEMA_URL)

        def emit(attributes: dict[str, Any], context: Context) -> None:
            logger.emit(
                LogRecord(
                    context=context,
                    severity_number=SeverityNumber.WARN,
                    event_name=semconv.EVENT_UNCITED,
                    attributes=attributes,
                )
            )

        return emit


def scope_version() -> str:
    """The version of this package, "0" where it was not installed as one."""
    try:
        return metadata.version("citespan")
    except metadata.PackageNotFoundError:
        return "0"


def _own(span: Span, parent: Span) -> OwnSpan | NoSpan:
    """What the guard holds of a new span. A tracer that is off hands out the parent: that is no span."""
    if not span.is_recording():
        context = span.get_span_context()
        if not context.is_valid or context.span_id == parent.get_span_context().span_id:
            return NoSpan()
    return OwnSpan(span, reference(span))


def _is_for(span: Span, call: ToolCall, context: Context) -> bool:
    """Whether a framework opened this span for a call, and no other call has taken it.

    It may have another name for the tool (a prefix before an MCP server's); then the id of the call is the same.
    """
    if not span.is_recording():
        return False
    scope = getattr(span, "instrumentation_scope", None)
    if scope is not None and scope.name == semconv.SCOPE:
        return False
    attributes = getattr(span, "attributes", None)
    named = None if attributes is None else tool_of(getattr(span, "name", ""), attributes)
    if attributes is None or named is None:
        return False
    if named != call.tool and (call.call_id is None or attributes.get(semconv.TOOL_CALL_ID) != call.call_id):
        return False
    return adopted(context) is not span
