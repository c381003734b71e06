"""What citespan keeps in the OTel Context, and nowhere else: the run, the call whose body is running, the token.

The Context is the only place, so a run is visible exactly where OpenTelemetry's own current span is (design
section 2: no ledger, no citation).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from opentelemetry import context as otel_context
from opentelemetry.context import Context

if TYPE_CHECKING:
    from citespan.guard.run import Run
    from citespan.guard.ticket import Ticket

RUN: Final = otel_context.create_key("citespan-run")
CALL: Final = otel_context.create_key("citespan-call")
STEP: Final = otel_context.create_key("citespan-step")
TOKEN: Final = otel_context.create_key("citespan-judged")


class JudgedToken:
    """Proof, inside this process only, that the guard judged the span that starts next.

    An attribute could be set by anyone; an object in the Context cannot be forged from outside. It is good for one
    span: the first tool span that starts under it claims it, so children of the body are not taken for judged.
    """

    __slots__ = ("_open", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self._open = True

    def claim(self) -> bool:
        """True the first time, False ever after."""
        was, self._open = self._open, False
        return was


def current_run(context: Context | None = None) -> Run | None:
    """The run that is open in a context, None outside any run.

    A run that is over vouches for nothing: a context that still carries it (a task that outlives it, a generator that
    was left) is outside any run.
    """
    run = cast("Run | None", otel_context.get_value(RUN, context))
    return None if run is None or run.state.closed else run


def current_call(context: Context | None = None) -> Ticket | None:
    """The call whose body is running in a context, None outside any tool body."""
    return cast("Ticket | None", otel_context.get_value(CALL, context))


def judged(context: Context | None = None) -> JudgedToken | None:
    """The token under which the guard starts a span, None where nobody judged."""
    return cast("JudgedToken | None", otel_context.get_value(TOKEN, context))


def current_step(context: Context | None = None) -> str | None:
    """The step that `with run.step():` opened around here, None outside any."""
    return cast("str | None", otel_context.get_value(STEP, context))


def with_value(key: str, value: Any, context: Context) -> Context:
    """`context` with one of our keys set."""
    return otel_context.set_value(key, value, context)
