"""Which spans are tool calls, whoever opened them (GenAI and MCP conventions, OpenInference, OpenLLMetry)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from opentelemetry.trace import Span

from citespan import semconv

_PREFIX: Final = semconv.EXECUTE_TOOL + " "
_MARK: Final = "_citespan_judged"
_TOLD: Final = "_citespan_told"


def tool_of(name: str, attributes: Mapping[str, Any]) -> str | None:
    """The tool that a span says it calls, None for a span that is no tool call.

    Args:
        name: the span's name. attributes: the span's attributes.

    Example:
        >>> tool_of("execute_tool patch_file", {}), tool_of("chat", {})
        ('patch_file', None)
    """
    operation = attributes.get(semconv.OPERATION)
    if operation == semconv.EXECUTE_TOOL:
        return _text(attributes.get(semconv.TOOL_NAME)) or name.removeprefix(_PREFIX)
    if operation is not None:
        return None
    if attributes.get(semconv.MCP_METHOD) == semconv.MCP_TOOLS_CALL:
        return _text(attributes.get(semconv.TOOL_NAME)) or _called(name)
    if attributes.get(semconv.OPENINFERENCE_KIND) == "TOOL":
        return _text(attributes.get(semconv.OPENINFERENCE_TOOL_NAME)) or name
    if attributes.get(semconv.TRACELOOP_KIND) == "tool":
        return _text(attributes.get(semconv.TRACELOOP_NAME)) or name.removesuffix(".tool")
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


def _called(name: str) -> str:
    """The tool of an MCP call, whatever an SDK puts before the method: `MCP send tools/call git_add`."""
    return name.partition(semconv.MCP_TOOLS_CALL)[2].strip() or name


def is_agent(attributes: Mapping[str, Any]) -> bool:
    """Whether a span is the run of an agent."""
    return (
        attributes.get(semconv.OPERATION) == semconv.INVOKE_AGENT
        or attributes.get(semconv.OPENINFERENCE_KIND) == "AGENT"
        or attributes.get(semconv.TRACELOOP_KIND) == "agent"
    )


def mark_judged(span: Span) -> None:
    """Note on a span object, in this process only, that the guard judged its call.

    An attribute would say the same to everybody, and could be set by anybody.
    """
    with suppress(AttributeError):  # a foreign span that takes no attributes of ours
        setattr(span, _MARK, True)


def is_judged(span: Span) -> bool:
    """Whether the guard judged the call of this span object."""
    return getattr(span, _MARK, False) is True


def mark_told(span: Span) -> None:
    """Note on a span object that the second gate told a verdict on it."""
    with suppress(AttributeError):
        setattr(span, _TOLD, True)


def take_told(span: Span) -> bool:
    """Whether the second gate told a verdict that nobody has replaced yet; it is told once."""
    told = getattr(span, _TOLD, False) is True
    if told:
        delattr(span, _TOLD)
    return told


def _text(value: Any) -> str:
    return value if type(value) is str else ""
