"""A span as a trace file tells it: plain frozen values, whoever wrote the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

StatusCode: TypeAlias = Literal["UNSET", "OK", "ERROR"]


class EventRecord(NamedTuple):
    """One event; `time` in nanoseconds since 1970."""

    name: str
    time: int
    attributes: Mapping[str, Any]


class LinkRecord(NamedTuple):
    """One link; ids as in `SpanRecord`."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Any]


class SpanRecord(NamedTuple):
    """One span.

    Args:
        trace_id: 32 lower-case hex digits. span_id: 16 of them. parent_id: likewise, "" for a root.
        name: the span's name. kind: as in the protocol, 1 for INTERNAL. start, end: nanoseconds since 1970.
        attributes: Python values: str, bool, int, float, bytes, None, lists and dicts of them.
        status: code. message: its description, "" for none.
        resource: attributes of the resource. scope, scope_version: of the instrumentation scope.
        dropped: how many attributes, events and links the SDK had to drop.
        place: where it was read, `file:line`.
        remote: whether its flags say that its parent is in another process (False where they say nothing).
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    start: int
    end: int
    attributes: Mapping[str, Any]
    events: tuple[EventRecord, ...]
    links: tuple[LinkRecord, ...]
    status: StatusCode
    message: str
    resource: Mapping[str, Any]
    scope: str
    scope_version: str
    dropped: tuple[int, int, int]
    place: str
    remote: bool = False


#: bits of a span's flags: whether they say anything of the parent, and that it is in another process (OTLP)
_REMOTE: Final = 0x100 | 0x200


def is_remote(flags: int) -> bool:
    """Whether a span's flags say that its parent is in another process.

    Example:
        >>> is_remote(0x300), is_remote(0x100), is_remote(0)
        (True, False, False)
    """
    return flags & _REMOTE == _REMOTE
