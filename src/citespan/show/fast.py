"""The screen of large trace files of JSON lines: lines are looked at as bytes, and few of them are parsed.

Two sweeps. The first one counts verdicts by run and finds the newest calls in trouble; the second one looks through
their runs for the calls that they cite, and for others of the same tool. Where that finds nothing for an uncited
argument, a third one looks through other runs (`citespan.show.others`). The answer is that of
`citespan.show.gather`, or there is none, and the caller goes that way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from citespan.calls import Call, call_of
from citespan.calls.model import TROUBLE, Verdict
from citespan.errors import TraceFileError
from citespan.files import Document, Recording, opened
from citespan.files.documents import MAX_DOCUMENT
from citespan.show.backward import lines_backward
from citespan.show.brief import BEGIN, Span, briefs, mark, may_have_run, spans
from citespan.show.gather import Neighbours, Newest, cited_by, run_of, uncited_of
from citespan.show.model import MOST_ELSEWHERE, Elsewhere, Screen, Shown, Wanted
from citespan.show.others import Need, last_of_other_runs
from citespan.traces.lines import spans_of_line

#: lines that had to be parsed and are remembered as such; runs that are counted
MOST_ODD: Final = 100_000
MOST_RUNS: Final = 250_000
#: lines between two words to the progress bar
_STEP: Final = 256


class _Place(NamedTuple):
    """Where a call is: source, line (1 for the first), offset of the line, the call's number in it.

    brief: trace id, verdict and start, as its bytes say them.
    """

    source: int
    line: int
    offset: int
    number: int
    brief: tuple[bytes, Verdict, int]


class _NotThisWay(Exception):
    """The files, or what is asked of them, need the ordinary way."""


def fast_screen(
    sources: Sequence[str | Path], wanted: Wanted, progress: Callable[[int], object] | None = None
) -> Screen | None:
    """The screen of some trace files; None where they have to be read the ordinary way.

    Args:
        sources: paths. wanted: which calls. progress: told how many bytes more were read (once, in the first sweep).

    Raises:
        TraceFileError: a line that had to be parsed is no trace; names file, line and reason.
    """
    if wanted.tool or wanted.run or not set(wanted.statuses) <= set(TROUBLE):
        return None
    if not all(_is_plain(source) for source in sources):
        return None
    first = _First(wanted)
    try:
        for index, source in enumerate(sources):
            first.read(index, source, progress)
    except (_NotThisWay, OSError):
        return None
    try:
        calls = [_load(sources, place) for place in first.newest.chosen()]
        runs = first.runs({run_of(call) for call in calls})
        neighbours = _Second(calls, runs, first.odd).read(sources)
        contexts = [neighbours.context(call, runs[run_of(call)].statuses) for call in calls]
        shown = _with_others(sources, [*map(Shown, calls, contexts)], runs, first)
    except (_NotThisWay, OSError, TraceFileError):
        return None  # a line that was read as bytes alone does not parse: the other way says where
    return Screen(shown, first.newest.matching, first.matched(), first.total)


def _is_plain(source: str | Path) -> bool:
    """Whether a source is a regular file that begins as a trace file of JSON lines does."""
    path = Path(source)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(BEGIN)) == BEGIN
    except OSError:  # the ordinary way says why
        return False


def _lines(recording: Recording) -> Iterator[bytes]:
    read = partial(recording.file.readline, MAX_DOCUMENT + 1)
    for number, line in enumerate(iter(read, b"")):
        if len(line) > MAX_DOCUMENT:
            raise _NotThisWay  # the ordinary way refuses it, with its line
        if not number % _STEP:
            recording.advance()
        yield line
    recording.advance()


def _parsed(recording: Recording, number: int, line: bytes) -> list[Call]:
    """The calls of one line.

    Raises:
        _NotThisWay: it is a part of something over several lines. TraceFileError: it is no trace.
    """
    if not line.strip():
        return []
    if not line.startswith(b"{") or not line.rstrip().endswith(b"}"):
        raise _NotThisWay
    found = spans_of_line(recording, Document(number, line))
    return [call for span in found if (call := call_of(span)) is not None]


class _Run(NamedTuple):
    """How many calls of a trace have each verdict, and how its id is written."""

    statuses: dict[str, int]
    spellings: set[bytes]


class _First:
    """The first sweep."""

    def __init__(self, wanted: Wanted) -> None:
        self.newest: Newest[_Place] = Newest(wanted)
        self.total = 0
        self.odd: set[tuple[int, int]] = set()
        self._prefix = wanted.trace
        self._counts: defaultdict[tuple[bytes, Verdict], int] = defaultdict(int)

    def read(self, index: int, source: str | Path, progress: Callable[[int], object] | None) -> None:
        """Count the calls of a file, and find the newest in trouble."""
        counts, prefix, order, offset = self._counts, self._prefix.encode(), self.total, 0
        with opened(source, progress) as recording:
            for number, line in enumerate(_lines(recording), 1):
                found = briefs(line)
                if found is None:
                    self._note_odd((index, offset))
                    calls = _parsed(recording, number, line)
                    found = [(call.trace_id.encode(), call.status, call.start) for call in calls]
                before = order
                for trace, status, start in found:
                    counts[trace, status] += 1
                    order += 1
                    if status != "ok" and trace.lower().startswith(prefix):
                        self.newest.offer(
                            status,
                            start,
                            order,
                            _Place(index, number, offset, order - before - 1, (trace, status, start)),
                        )
                offset += len(line)
                if not number % _STEP and len(counts) > MOST_RUNS:
                    raise _NotThisWay
        self.total = order

    def _note_odd(self, place: tuple[int, int]) -> None:
        if len(self.odd) == MOST_ODD:
            raise _NotThisWay
        self.odd.add(place)

    def runs(self, wanted: Collection[str]) -> dict[str, _Run]:
        """What there is of some runs."""
        found = {run: _Run({}, set()) for run in wanted}
        by_id = {run.encode(): each for run, each in found.items()}
        for (trace, status), number in self._counts.items():
            run = by_id.get(trace.lower())
            if run is not None:
                run.spellings.add(trace)
                run.statuses[status] = run.statuses.get(status, 0) + number
        return found

    def ran_elsewhere(self, runs: Collection[str]) -> bool:
        """Whether a call that was not refused may be of another run than one of some."""
        known = {run.encode() for run in runs}
        ran = {trace.lower() for trace, status in self._counts if status != "blocked"}
        return bool(ran - known) or (len(known) > 1 and bool(ran))

    def matched(self) -> int:
        """How many calls the filters let through."""
        prefix = self._prefix.encode()
        return sum(number for (trace, _), number in self._counts.items() if trace.lower().startswith(prefix))


def _load(sources: Sequence[str | Path], place: _Place) -> Call:
    """The call at a place."""
    with opened(sources[place.source]) as recording, Path(sources[place.source]).open("rb") as file:
        file.seek(place.offset)
        calls = _parsed(recording, place.line, file.readline(MAX_DOCUMENT + 1))
    call = calls[place.number] if place.number < len(calls) else None
    trace, status, start = place.brief
    if call is None or (call.trace_id.encode(), call.status, call.start) != (trace.lower(), status, start):
        raise _NotThisWay  # the bytes and the parser do not agree
    return call


def _with_others(
    sources: Sequence[str | Path], shown: Sequence[Shown], runs: Mapping[str, _Run], first: _First
) -> tuple[Shown, ...]:
    """The same calls, with what other runs cited where their own run cited nothing: a third sweep, where need be."""
    needs = {
        Need(run_of(call), call.tool, name)
        for call, context in shown
        for name in uncited_of(call) - context.elsewhere.keys()
    }
    found: dict[Need, Elsewhere] = {}
    if needs and first.ran_elsewhere({need.run for need in needs}):
        spellings = {run: each.spellings for run, each in runs.items()}
        with ExitStack() as stack:
            recordings = [stack.enter_context(opened(source)) for source in sources]

            def parse(source: int, _: int, line: bytes) -> list[Call]:
                return _parsed(recordings[source], 0, line)

            found = last_of_other_runs(sources, needs, spellings, first.odd, parse)
    return tuple(
        Shown(
            call,
            context._replace(
                other_runs={
                    name: found[need]
                    for name in uncited_of(call)
                    if (need := Need(run_of(call), call.tool, name)) in found
                }
            ),
        )
        for call, context in shown
    )


class _Sought:
    """What one run is still looked through for.

    Args:
        spans: ids of the spans that are cited, lower-case hex. tools: how many calls of a tool that ran are to be found
            yet.
    """

    def __init__(self) -> None:
        self.spans: set[bytes] = set()
        self.tools: dict[str, int] = {}

    def may_have(self, span: Span) -> bool:
        """Whether a span may be one of those; False is certain."""
        return span.span_id in self.spans or any(may_have_run(span.piece, mark(tool)) for tool in self.tools)

    def takes(self, call: Call) -> bool:
        """Whether a call is one of those, which then is found."""
        span_id = call.span_id.encode()
        taken = span_id in self.spans
        self.spans.discard(span_id)
        if call.status != "blocked" and (left := self.tools.get(call.tool)):
            taken = True
            self.tools[call.tool] = left - 1
            if left == 1:
                del self.tools[call.tool]
        return taken


class _Second:
    """The second sweep, from the end on: parses lines until all is found that the calls are to be compared with."""

    def __init__(self, calls: Sequence[Call], runs: Mapping[str, _Run], odd: Collection[tuple[int, int]]) -> None:
        self._runs = runs
        self._odd = odd
        self._found: list[Call] = []
        #: by trace id
        self._sought: dict[bytes, _Sought] = {}
        for call in calls:
            run = self._sought.setdefault(run_of(call).encode(), _Sought())
            run.spans.update(each.encode() for each in cited_by(call))
            if uncited_of(call) and runs[run_of(call)].statuses.keys() != {"blocked"}:
                run.tools[call.tool] = MOST_ELSEWHERE
        for name in list(self._sought):
            self._forget_done(name)

    def read(self, sources: Sequence[str | Path]) -> Neighbours:
        """Look through all files, the last one first."""
        for index, source in reversed(list(enumerate(sources))):
            with opened(source) as recording:
                for offset, line in lines_backward(source, self._marks()):
                    if not self._sought:
                        break
                    self._take(recording, (index, offset), line)
        neighbours = Neighbours()
        for call in reversed(self._found):
            neighbours.note(call)
        return neighbours

    def _marks(self) -> tuple[bytes, ...]:
        """Bytes that lines must have.

        None for several runs, which are told faster from where the ids stand, nor where a line may hide an id.
        """
        if len(self._sought) != 1 or self._odd:
            return ()
        return tuple(self._runs[next(iter(self._sought)).decode()].spellings)

    def _take(self, recording: Recording, place: tuple[int, int], line: bytes) -> None:
        if place not in self._odd and not any(
            self._sought[span.trace_id].may_have(span) for span in spans(line, self._sought)
        ):
            return
        for call in reversed(_parsed(recording, 0, line)):
            name = run_of(call).encode()
            sought = self._sought.get(name)
            if sought is not None and sought.takes(call):
                self._found.append(call)
                self._forget_done(name)

    def _forget_done(self, name: bytes) -> None:
        sought = self._sought[name]
        if not sought.spans and not sought.tools:
            del self._sought[name]
