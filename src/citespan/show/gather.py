"""One pass over calls: the newest of those that are wanted, and what their runs say about them. Memory is bounded.

`citespan.show.fast` does the same from the bytes of large files.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final, Generic, TypeAlias, TypeVar

from citespan.calls import Call
from citespan.calls.model import Verdict
from citespan.show.model import MOST_ELSEWHERE, Context, Elsewhere, Screen, Shown, Source, Wanted
from citespan.show.recent import Recent

#: what is kept at least of what was read last: runs, calls that may be cited, tools by run
MOST_RUNS: Final = 25_000
MOST_SPANS: Final = 100_000
MOST_TOOLS: Final = 1_000
#: of a call that others are compared with: arguments, characters of a name
_MOST_ARGUMENTS: Final = 16
_MOST_CHARACTERS: Final = 200

Citations: TypeAlias = tuple[tuple[str, Elsewhere], ...]
H = TypeVar("H")


class Newest(Generic[H]):
    """Chooses what a screen shows: by start, then by place, the newest.

    Args:
        wanted: which calls the screen shows.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.matching: dict[Verdict, int] = dict.fromkeys(wanted.statuses, 0)
        self._one_status = wanted.limit is None
        self._room = 1 if wanted.limit is None else wanted.limit
        self._heaps: dict[Verdict | None, list[tuple[int, int, H]]] = {}

    def offer(self, status: Verdict, start: int, order: int, held: H) -> None:
        """Take a call that passes the filters, or where to find it. order: its place among all calls, no two alike."""
        if status not in self.matching:
            return
        self.matching[status] += 1
        heap = self._heaps.setdefault(status if self._one_status else None, [])
        if len(heap) < self._room:
            heapq.heappush(heap, (start, order, held))
        elif heap and (start, order) > heap[0][:2]:
            heapq.heapreplace(heap, (start, order, held))

    def chosen(self) -> list[H]:
        """The newest first; of the first status that has any, where no number of calls was asked for."""
        for key in (None, *self.matching):
            if heap := self._heaps.get(key):
                return [held for _, _, held in sorted(heap, key=_age, reverse=True)]
        return []


class Neighbours:
    """What calls know of others in their run: when a source was, and what the last others of a tool cited.

    Memory is bounded. The calls of a run are taken in the order in which the files have them.
    """

    def __init__(self) -> None:
        self._spans: Recent[tuple[str, str], Source] = Recent(MOST_SPANS)
        self._ran: Recent[tuple[str, str], tuple[Citations, ...]] = Recent(MOST_TOOLS)
        #: by tool and argument, the last citation of each of the last two runs that have one
        self._anywhere: Recent[tuple[str, str], tuple[tuple[str, Elsewhere], ...]] = Recent(MOST_TOOLS)

    def note(self, call: Call) -> None:
        """Take one call."""
        run = run_of(call)
        self._spans.put((run, call.span_id), Source(call.tool, call.start, call.end))
        if call.status != "blocked":
            before = self._ran.get((run, call.tool)) or ()
            cited = citations(call)
            self._ran.put((run, call.tool), (*before[-MOST_ELSEWHERE + 1 :], cited))
            for name, other in cited:
                known = self._anywhere.get((call.tool, name)) or ()
                if not known or known[0][0] == run:
                    known = known[1:]
                self._anywhere.put((call.tool, name), ((run, other), *known[:1]))

    def context(self, call: Call, statuses: Mapping[str, int]) -> Context:
        """What they say about a call; statuses: how many calls of its run have each verdict."""
        run = run_of(call)
        found = {span_id: source for span_id in cited_by(call) if (source := self._spans.get((run, span_id)))}
        elsewhere: dict[str, tuple[Elsewhere, ...]] = {}
        uncited = uncited_of(call)
        ran = (self._ran.get((run, call.tool)) or ()) if uncited else ()
        for cited in reversed(ran):
            for name, other in cited:
                if name in uncited:
                    elsewhere[name] = (*elsewhere.get(name, ()), other)
        others: dict[str, Elsewhere] = {}
        for name in uncited - elsewhere.keys():
            for other_run, other in self._anywhere.get((call.tool, name)) or ():
                if other_run != run:
                    others.setdefault(name, other)
        return Context(statuses, found, elsewhere, others)


class Gathering:
    """Takes calls one by one, in any order.

    Of very large inputs the oldest runs, calls and tools are forgotten (`MOST_*`): the counts of a run begin anew after
    25,000 others, and a source further back than 100,000 calls has no time.

    Args:
        wanted: which calls the screen shows.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._newest: Newest[Call] = Newest(wanted)
        self._matches = matcher(wanted)
        self._neighbours = Neighbours()
        self._runs: Recent[str, dict[str, int]] = Recent(MOST_RUNS)
        self._matched = 0
        self._total = 0

    def add(self, call: Call) -> None:
        """Take one call."""
        self._total += 1
        counts = self._runs.get(run_of(call))
        if counts is None:
            self._runs.put(run_of(call), {call.status: 1})
        else:
            counts[call.status] = counts.get(call.status, 0) + 1
        self._neighbours.note(call)
        if self._matches(call):
            self._matched += 1
            self._newest.offer(call.status, call.start, self._total, call)

    def screen(self) -> Screen:
        """What the calls taken so far show."""
        shown = tuple(Shown(call, self.context(call)) for call in self._newest.chosen())
        return Screen(shown, self._newest.matching, self._matched, self._total)

    def context(self, call: Call) -> Context:
        """What the calls taken so far say about one of them."""
        return self._neighbours.context(call, dict(self._runs.get(run_of(call)) or {}))


def gather(calls: Iterable[Call], wanted: Wanted) -> Screen:
    """The screen of some calls, each read once.

    Example:
        >>> [shown.call.tool for shown in gather([Call("patch_file", status="blocked")], Wanted()).shown]
        ['patch_file']
    """
    gathering = Gathering(wanted)
    for call in calls:
        gathering.add(call)
    return gathering.screen()


def run_of(call: Call) -> str:
    """What the calls of one run have in common: the trace, or the conversation where nothing was traced."""
    return call.trace_id or f"run {call.run}"


def matcher(wanted: Wanted) -> Callable[[Call], bool]:
    """Whether a call passes the filters, its status aside."""

    def matches(call: Call) -> bool:
        return (
            call.trace_id.startswith(wanted.trace)
            and (not wanted.run or wanted.run in {call.run, call.agent})
            and (not wanted.tool or fnmatchcase(call.tool, wanted.tool) or fnmatchcase(call.name, wanted.tool))
        )

    return matches


def cited_by(call: Call) -> set[str]:
    """Ids of the spans that a call's arguments cite."""
    return {argument.cited.span_id for argument in call.arguments if argument.cited and argument.cited.span_id}


def uncited_of(call: Call) -> set[str]:
    """Names of the arguments that took from the budget."""
    return {argument.name for argument in call.arguments if argument.counted}


def citations(call: Call) -> Citations:
    """What the arguments of a call cited, in bounded memory."""
    found: list[tuple[str, Elsewhere]] = []
    for argument in call.arguments:
        cited = argument.cited
        if cited is None or argument.counted or len(found) == _MOST_ARGUMENTS:
            continue
        cut = cited._replace(tool=cited.tool[:_MOST_CHARACTERS], field=cited.field[:_MOST_CHARACTERS])
        other = Elsewhere(call.start, call.span_id, cut, argument.projection[:_MOST_CHARACTERS])
        found.append((argument.name[:_MOST_CHARACTERS], other))
    return tuple(found)


def names_of(calls: Iterable[Call], most: int = 500) -> Mapping[str, tuple[str, ...]]:
    """Tools, runs (and agents) and traces that there are, for whom a filter found nothing; at most `most` of each."""
    found: dict[str, dict[str, None]] = {"tool": {}, "run": {}, "trace": {}}
    for call in calls:
        for sort, name in (("tool", call.name), ("run", call.run), ("run", call.agent), ("trace", call.trace_id)):
            if name and len(found[sort]) < most:
                found[sort][name[:_MOST_CHARACTERS]] = None
    return {sort: tuple(names) for sort, names in found.items()}


def _age(entry: tuple[int, int, object]) -> tuple[int, int]:
    return entry[:2]
