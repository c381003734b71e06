"""The runs of some files, a line each: to choose one by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from citespan.calls import Call
from citespan.calls.model import TROUBLE
from citespan.calls.words import number
from citespan.show.gather import run_of
from citespan.show.page import counted
from citespan.show.text import Line, Part, short
from citespan.show.words import moment

#: runs that are listed; of further ones only the number is known
MOST_RUNS: Final = 10_000
#: tools that are named of one run
_MOST_TOOLS: Final = 4


class Listed(NamedTuple):
    """One run: its first call, how many calls have each verdict, and the tools of those in trouble."""

    first: Call
    statuses: dict[str, int]
    tools: dict[str, None]


def runs(calls: Iterable[Call]) -> tuple[list[Listed], int]:
    """The runs, by the start of their first call, and how many calls are of runs that were left out.

    Example:
        >>> found, left_out = runs([Call("patch_file", status="blocked", trace_id="a1"), Call("list", trace_id="a1")])
        >>> [(run.statuses, list(run.tools)) for run in found], left_out
        ([({'blocked': 1, 'none': 1}, ['patch_file'])], 0)
    """
    found: dict[str, Listed] = {}
    left_out = 0
    for call in calls:
        name = run_of(call)
        run = found.get(name)
        if run is None:
            if len(found) == MOST_RUNS:
                left_out += 1
                continue
            run = found[name] = Listed(call, {}, {})
        elif call.start < run.first.start:
            run = found[name] = run._replace(first=call)
        run.statuses[call.status] = run.statuses.get(call.status, 0) + 1
        if call.status in TROUBLE and len(run.tools) <= _MOST_TOOLS:
            run.tools[call.name] = None
    return sorted(found.values(), key=lambda run: run.first.start), left_out


def run_lines(found: Iterable[Listed], left_out: int) -> Iterator[Line]:
    """A line for each run: its id, when it began, whose it is, its calls by verdict, and the tools in trouble."""
    for run in found:
        first = run.first
        names = [short(name) for name in (first.agent, first.run) if name]
        tools = [short(name) for name in run.tools][:_MOST_TOOLS]
        more = ", ..." if len(run.tools) > _MOST_TOOLS else ""
        troubled = f" ({', '.join(tools)}{more})" if tools else ""
        parts = (first.trace_id or "-", moment(first.start), *names, counted(run.statuses) + troubled)
        yield (Part("  ".join(parts), "uncited" if tools else ""),)
    if left_out:
        yield (Part(f"{number(left_out, 'call')} of further runs, which are not listed"),)
