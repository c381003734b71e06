"""What is looked for, and what a screen shows of it: plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from citespan.calls import Call, Cited
from citespan.calls.model import TROUBLE, Verdict

#: calls that a screen holds at most, where nobody says another number
MOST_CALLS: Final = 100
#: other calls that had a source for the same argument, at most
MOST_ELSEWHERE: Final = 3
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


class Wanted(NamedTuple):
    """Which calls are looked for.

    Args:
        statuses: the verdicts that count, the worst first. An empty screen of the first makes way for the second.
        trace: what the trace id starts with, lower-case hex. run: a conversation's id or an agent's name. tool: a
            glob over `tool` or `server/tool`. "" leaves each open.
        limit: how many calls are shown, the newest first; None: the newest one of the first status that has any.
    """

    statuses: tuple[Verdict, ...] = TROUBLE
    trace: str = ""
    run: str = ""
    tool: str = ""
    limit: int | None = None


class Source(NamedTuple):
    """A call whose result was cited. start, end: nanoseconds since 1970, 0 where the file does not say."""

    tool: str
    start: int
    end: int


class Elsewhere(NamedTuple):
    """Another call of the same tool, whose same argument had a source. start as in `Call`."""

    start: int
    span_id: str
    cited: Cited
    projection: str


class Context(NamedTuple):
    """What the rest of its run says about one call.

    Args:
        statuses: how many calls of its trace have each verdict.
        sources: by span id, the calls that its arguments cite.
        elsewhere: by argument, what it cited in the last calls of the tool that ran, the last one first.
        other_runs: by argument of which `elsewhere` has nothing, what it cited in the last such call of another run.
    """

    statuses: Mapping[str, int] = _NOTHING
    sources: Mapping[str, Source] = MappingProxyType({})
    elsewhere: Mapping[str, tuple[Elsewhere, ...]] = MappingProxyType({})
    other_runs: Mapping[str, Elsewhere] = MappingProxyType({})


class Shown(NamedTuple):
    """One call of the screen, with what its run says about it."""

    call: Call
    context: Context


class Screen(NamedTuple):
    """The answer.

    Args:
        shown: the calls, the newest first. matching: how many calls have each wanted status, under the filters.
        calls: how many calls the filters let through, whatever their status. total: calls in all files.
    """

    shown: tuple[Shown, ...]
    matching: Mapping[Verdict, int]
    calls: int
    total: int
