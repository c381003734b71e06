"""The spans that the guard holds on to: of a call or a run, ours or a framework's. No method raises."""

from __future__ import annotations

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, StatusCode

from citespan import semconv
from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.otel.names import MAX_SPAN_NAME, clean
from citespan.otel.posture import never_raises, nothing

_ADOPTED = otel_context.create_key("citespan-adopted")


def reference(span: Span) -> SpanRef | None:
    """A span by its ids, None where it has none."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return SpanRef(format(context.trace_id, "032x"), format(context.span_id, "016x"))


def adopted(context: Context) -> Span | None:
    """The framework's span that already tells of the call whose body runs in a context."""
    span = otel_context.get_value(_ADOPTED, context)
    return span if isinstance(span, Span) else None


def error_type(error: BaseException) -> str:
    """What `error.type` says of an exception: its class, never its text."""
    return clean(type(error).__qualname__, MAX_SPAN_NAME)


class OwnSpan:
    """A span that citespan opened, and ends.

    Args:
        span: the span. ref: its ids, as others cite it.
    """

    __slots__ = ("_ended", "ref", "span")

    def __init__(self, span: Span, ref: SpanRef | None) -> None:
        self.span = span
        self.ref = ref
        self._ended = False

    def context(self, context: Context) -> Context:
        """`context` with this span current."""
        return trace.set_span_in_context(self.span, context)

    def amend(self, decision: Decision) -> None:
        """Replace the verdict."""
        _amend(self.span, decision)

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        """Note how it ended, then end it; a second time is nothing."""
        if self._ended:
            return
        self._ended = True
        if error is not None or note or failed:
            _note(self.span, error, note, failed)
        _end(self.span)


class AdoptedSpan:
    """A span that a framework opened for this very call: it tells the provenance, and is not ours to end."""

    __slots__ = ("ref", "span")

    def __init__(self, span: Span, ref: SpanRef | None) -> None:
        self.span = span
        self.ref = ref

    def context(self, context: Context) -> Context:
        """`context` with the span current, and known to be taken: a call inside the body opens its own."""
        return otel_context.set_value(_ADOPTED, self.span, trace.set_span_in_context(self.span, context))

    def amend(self, decision: Decision) -> None:
        """Replace the verdict."""
        _amend(self.span, decision)

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        """Say why the result became no observation; the rest, the exception included, is the framework's."""
        if note:
            _note(self.span, None, note, False)


@never_raises(nothing)
def _note(span: Span, error: BaseException | None, note: str | None, failed: bool) -> None:
    if not span.is_recording():
        return
    if note:
        span.set_attribute(semconv.UNRECORDED, clean(note, MAX_SPAN_NAME))
    if error is not None and not isinstance(error, GeneratorExit):  # a generator that was left is no error
        span.set_attribute(semconv.ERROR_TYPE, error_type(error))
        span.set_status(StatusCode.ERROR)
    elif failed:
        span.set_attribute(semconv.ERROR_TYPE, semconv.ERROR_TOOL)
        span.set_status(StatusCode.ERROR)


@never_raises(nothing)
def _amend(span: Span, decision: Decision) -> None:
    if not span.is_recording():
        return
    span.set_attribute(semconv.STATUS, decision.status)
    span.set_attribute(semconv.VIOLATIONS, [clean(violation.text) for violation in decision.violations])
    if decision.deny:
        span.set_attribute(semconv.ERROR_TYPE, semconv.ERROR_DENIED)
        refuse(span, decision)


def refuse(span: Span, decision: Decision) -> None:
    """Give a span the status of a refused call; the description names paths and no value."""
    why = "; ".join(violation.text for violation in decision.violations)
    span.set_status(StatusCode.ERROR, clean(f"refused: {why}", MAX_SPAN_NAME))


@never_raises(nothing)
def _end(span: Span) -> None:
    span.end()
