"""What calls of other runs cited for an argument, from the bytes of large trace files: few lines are parsed.

Part of `citespan.show.fast`; asked only where a call's own run has no such citation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from citespan import semconv
from citespan.calls import Call
from citespan.show.backward import lines_backward
from citespan.show.brief import mark, may_have_run
from citespan.show.gather import citations, run_of
from citespan.show.model import Elsewhere

_SPAN: Final = b'{"traceId":"'
_START: Final = b'"startTimeUnixNano":"'
#: a name that is written in one way only
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_.:\- ]+")

#: parses a line of a source (its number, the line's offset)
Parse: TypeAlias = Callable[[int, int, bytes], list[Call]]


class Need(NamedTuple):
    """An argument of a shown call that nothing in its run has a source for."""

    run: str
    tool: str
    argument: str


def last_of_other_runs(
    sources: Sequence[str | Path],
    needs: Iterable[Need],
    spellings: Mapping[str, Collection[bytes]],
    odd: Collection[tuple[int, int]],
    parse: Parse,
) -> dict[Need, Elsewhere]:
    """For each need, what the last call of another run cited, where one did.

    Args:
        spellings: of the runs' trace ids, as they are written in the files. odd: lines whose bytes may hide something,
            by source and offset; they are parsed.

    Raises:
        OSError: a file cannot be read. TraceFileError: a line does not parse.
    """
    left, found = set(needs), dict[Need, Elsewhere]()
    tools = {mark(need.tool) for need in left}
    arguments = {key for need in left for key in _keys(need.argument)}
    runs = {need.run for need in left}
    own = tuple(spellings.get(next(iter(runs)), ())) if len(runs) == 1 else ()
    marks = () if odd else tuple(arguments)
    for index, source in reversed(list(enumerate(sources))):
        for offset, line in lines_backward(source, marks):
            if not left:
                return found
            if (index, offset) not in odd and not _may_help(line, tools, arguments, own):
                continue
            for call in reversed(parse(index, offset, line)):
                _take(call, left, found)
    return found


def _may_help(line: bytes, tools: Collection[bytes], arguments: Collection[bytes], own: tuple[bytes, ...]) -> bool:
    """Whether a line may have such a call; False is certain.

    Args:
        own: how the one run is written that the call is not to be of; empty for several.
    """
    if not any(key in line for key in arguments):
        return False
    if line.count(_START) != 1:
        return True
    if own and line.startswith(own, line.find(_SPAN) + len(_SPAN)):
        return False
    return any(may_have_run(line, tool) for tool in tools)


def _keys(argument: str) -> tuple[bytes, ...]:
    """Bytes of which one stands in each call that cites something for an argument."""
    if not _SIMPLE.fullmatch(argument):
        return (semconv.SOURCE_TOOL.encode(), semconv.SOURCE_FIELD.encode())
    return tuple(f'"{key}{argument}"'.encode() for key in (semconv.SOURCE_TOOL, semconv.SOURCE_FIELD))


def _take(call: Call, left: set[Need], found: dict[Need, Elsewhere]) -> None:
    if call.status == "blocked":
        return
    run = run_of(call)
    cited = dict(citations(call))
    for need in [need for need in left if need.tool == call.tool and need.run != run and need.argument in cited]:
        found[need] = cited[need.argument]
        left.discard(need)
