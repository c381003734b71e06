"""Telling the provenance of a call on a span that somebody else opened (design section 4)."""

from __future__ import annotations

from typing import Final

from opentelemetry.trace import Span

from citespan import semconv
from citespan.otel.attributes import LIMIT, RESERVE, Record

#: kept on a framework's span whatever its limit: there they stand in for what was cut
_ALWAYS: Final = frozenset(
    {
        semconv.STATUS,
        semconv.MODE,
        semconv.POLICY,
        semconv.BUDGET,
        semconv.VIOLATIONS,
        semconv.ASSUMED_FIELDS,
        semconv.TOOL_NAME,
        semconv.ERROR_TYPE,
    }
)


def room_on(span: Span) -> int:
    """How many attributes a framework's span still takes before it drops its oldest ones."""
    limit = getattr(getattr(span, "_limits", None), "max_span_attributes", LIMIT)
    present = len(getattr(span, "attributes", None) or ())
    return min(LIMIT if limit is None else limit, LIMIT) - present - RESERVE


def tell(span: Span, told: Record, room: int) -> None:
    """Put a call's attributes on a framework's span.

    Its own GenAI attributes stay, but the tool's name is rewritten: a full span drops its oldest attribute, and
    the name becomes the newest.
    """
    present = getattr(span, "attributes", None) or {}
    attributes = {
        key: value
        for key, value in told.attributes.items()
        if key == semconv.TOOL_NAME or not key.startswith("gen_ai.") or key not in present
    }
    excess = sum(1 for key in attributes if key not in present) - room
    if excess > 0:
        droppable = [key for key in attributes if key not in _ALWAYS and key not in present]
        for key in droppable[:excess]:
            del attributes[key]
    attributes[semconv.TOOL_NAME] = attributes.pop(semconv.TOOL_NAME)
    span.set_attributes(attributes)
