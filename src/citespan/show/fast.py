"""The screen of large trace files of JSON lines: lines are looked at as bytes, and few of them are parsed.

Two sweeps. The first one counts verdicts by run and finds the newest calls in trouble; the second one looks through
their runs for the calls that they cite, and for others of the same tool. The answer is that of
`citespan.show.gather`, or there is none, and the caller goes that way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
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
from citespan.show.model import MOST_ELSEWHERE, Screen, Shown, Wanted
from citespan.traces.lines import spans_of_line

#: lines that had to be parsed and are remembered as such; runs that are counted
MOST_ODD: Final = 100_000
MOST_RUNS: Final = 250_000
#: lines between two words to the progress bar
_STEP: Final = 256


class _Place(NamedTuple):
    """Where a call is: source, line (1 for the first), offset of the line, the call's number in it."""

    source: int
    line: int
    offset: int
    number: int


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
        neighbours = _Second(calls, first).read(sources)
    except (_NotThisWay, OSError, TraceFileError):
        return None  # a line that was read as bytes alone does not parse: the other way says where
    shown = tuple(Shown(call, neighbours.context(call, first.statuses(run_of(call)))) for call in calls)
    return Screen(shown, first.newest.matching, first.matched(), first.total)


def _is_plain(source: str | Path) -> bool:
    """Whether a source is a regular file that begins as a trace file of JSON lines does."""
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(BEGIN)) == BEGIN


def _lines(recording: Recording) -> Iterator[bytes]:
    read = partial(recording.file.readline, MAX_DOCUMENT + 1)
    for number, line in enumerate(iter(read, b"")):
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
    if len(line) > MAX_DOCUMENT or not line.startswith(b"{") or not line.rstrip().endswith(b"}"):
        raise _NotThisWay
    found = spans_of_line(recording, Document(number, line))
    return [call for span in found if (call := call_of(span)) is not None]


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
                        self.newest.offer(status, start, order, _Place(index, number, offset, order - before - 1))
                offset += len(line)
                if not number % _STEP and len(counts) > MOST_RUNS:
                    raise _NotThisWay
        self.total = order

    def _note_odd(self, place: tuple[int, int]) -> None:
        if len(self.odd) == MOST_ODD:
            raise _NotThisWay
        self.odd.add(place)

    def spellings(self, run: str) -> set[bytes]:
        """How the id of a trace is written, in all its places."""
        return {trace for trace, _ in self._counts if trace.lower() == run.encode()}

    def statuses(self, run: str) -> dict[str, int]:
        """How many calls of a trace have each verdict."""
        found: dict[str, int] = {}
        for (trace, status), number in self._counts.items():
            if trace.lower() == run.encode():
                found[status] = found.get(status, 0) + number
        return found

    def matched(self) -> int:
        """How many calls the filters let through."""
        prefix = self._prefix.encode()
        return sum(number for (trace, _), number in self._counts.items() if trace.lower().startswith(prefix))


def _load(sources: Sequence[str | Path], place: _Place) -> Call:
    """The call at a place."""
    with opened(sources[place.source]) as recording, Path(sources[place.source]).open("rb") as file:
        file.seek(place.offset)
        calls = _parsed(recording, place.line, file.readline(MAX_DOCUMENT + 1))
    if place.number >= len(calls):
        raise _NotThisWay  # the bytes and the parser do not agree
    return calls[place.number]


class _Sought:
    """What one run is still looked through for.

    Args:
        spans: ids of the spans that are cited. tools: how many calls of a tool that ran are to be found yet.
    """

    def __init__(self) -> None:
        self.spans: set[str] = set()
        self.tools: dict[str, int] = {}

    def may_have(self, span: Span) -> bool:
        """Whether a span may be one of those; False is certain."""
        if span.span_id.decode() in self.spans:
            return True
        return any(may_have_run(span.piece, mark(tool)) for tool in self.tools)

    def takes(self, call: Call) -> bool:
        """Whether a call is one of those, which then is found."""
        taken = call.span_id in self.spans
        self.spans.discard(call.span_id)
        if call.status != "blocked" and (left := self.tools.get(call.tool)):
            taken = True
            self.tools[call.tool] = left - 1
            if left == 1:
                del self.tools[call.tool]
        return taken


class _Second:
    """The second sweep, from the end on: parses lines until all is found that the calls are to be compared with."""

    def __init__(self, calls: Sequence[Call], first: _First) -> None:
        self._odd = first.odd
        self._found: list[Call] = []
        self._sought: dict[str, _Sought] = {}
        for call in calls:
            run = self._sought.setdefault(run_of(call), _Sought())
            run.spans.update(cited_by(call))
            if uncited_of(call) and first.statuses(run_of(call)).keys() != {"blocked"}:
                run.tools[call.tool] = MOST_ELSEWHERE
        self._forget_done()
        self._spellings = {run: first.spellings(run) for run in self._sought}

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
        spellings = [self._spellings[run] for run in self._sought]
        return tuple(spellings[0]) if len(spellings) == 1 and not self._odd else ()

    def _take(self, recording: Recording, place: tuple[int, int], line: bytes) -> None:
        runs = {run.encode() for run in self._sought}
        odd = place in self._odd
        if not odd and not any(self._sought[span.trace_id.decode()].may_have(span) for span in spans(line, runs)):
            return
        for call in reversed(_parsed(recording, 0, line)):
            sought = self._sought.get(run_of(call))
            if sought is not None and sought.takes(call):
                self._found.append(call)
        self._forget_done()

    def _forget_done(self) -> None:
        self._sought = {run: sought for run, sought in self._sought.items() if sought.spans or sought.tools}
