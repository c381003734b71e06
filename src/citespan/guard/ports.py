"""What the guard needs from the outside, as protocols. Layers above implement them; the guard never imports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from opentelemetry.context import Context

from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.core.leaves import Snapshot
from citespan.core.nearest import Offer
from citespan.core.policy import Output


class ToolCall(NamedTuple):
    """One judged call, as telemetry and evidence see it.

    Args:
        tool: the tool's name; server: its MCP server or None.
        snapshot: the private copy of the arguments and their leaves.
        declared: names of top-level arguments that the tool's schema declares (they may become attribute keys).
        description: the tool's description, None where unknown.
        call_id: the framework's tool call id, None where there is none.
        run_id: `gen_ai.conversation.id` where the host named one, else None; run_name likewise the agent's name.
        type: `gen_ai.tool.type`: "function" or "extension" (MCP).
        offers: what could have vouched for what counted; empty where there are no violations.
    """

    tool: str
    server: str | None
    snapshot: Snapshot
    declared: frozenset[str]
    description: str | None
    call_id: str | None
    run_id: str | None
    run_name: str | None
    type: str = "function"
    offers: tuple[Offer, ...] = ()


class CallSpan(Protocol):
    """The telemetry of one call. No method raises (design section 5: telemetry never breaks a tool)."""

    ref: SpanRef | None

    def context(self, context: Context) -> Context:
        """`context` with this call's span current: what the tool's body runs under."""
        ...

    def amend(self, decision: Decision) -> None:
        """Replace what the span says of the decision: the guard found out later that it must deny."""
        ...

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        """End the span: clean, with the body's own exception, or noting why a result was not recorded.

        Args:
            failed: the body returned its framework's own error result.
        """
        ...


class RunSpan(Protocol):
    """The telemetry of one run (`invoke_agent`)."""

    def context(self, context: Context) -> Context:
        """`context` with the run's span current."""
        ...

    def end(self, *, error: BaseException | None = None) -> None:
        """End the span; its end is what "closed" means."""
        ...


class Telemetry(Protocol):
    """Spans and metrics. No method raises."""

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """Start the call's span with all its attributes, links and events, status included.

        For a denied call the caller ends it at once; status ERROR, no exception event. `context` carries the
        token that tells the span processor that this span is judged.
        """
        ...

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """Open `invoke_agent {name}` unless a span of such a kind is current."""
        ...


@runtime_checkable
class Late(Protocol):
    """Telemetry that has waited for the program to set OpenTelemetry up (`citespan run`)."""

    def settled(self) -> Telemetry:
        """Wait no longer: what spans go to now. Never raises."""
        ...


class OpenCall(Protocol):
    """A call whose body is running, whoever opened its span."""

    def mark_nested(self) -> None:
        """A run was opened inside the body: what it returns is a model's word."""
        ...


class Gate(Protocol):
    """Knows the open tool spans that nobody guards."""

    def open_call(self, context: Context) -> OpenCall | None:
        """The call whose span is current in a context, None where there is none. Never raises."""
        ...


class Evidence(Protocol):
    """Where decisions are written before the body runs."""

    def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
        """Append one line; raises OSError when it cannot (the guard then denies in enforce mode)."""
        ...


class Tool(NamedTuple):
    """What is known of a tool before it is called.

    Args:
        schema: JSON Schema of its parameters, None where unknown.
        read_only: the host or its own code vouches for it; hint: its own annotation, believed by policy only.
        output: "data", "computed", "model" or None. confirms: result fields.
    """

    name: str
    server: str | None = None
    schema: Mapping[str, Any] | None = None
    description: str | None = None
    read_only: bool | None = None
    hint: bool | None = None
    output: Output | None = None
    confirms: tuple[str, ...] = ()
    type: str = "function"
