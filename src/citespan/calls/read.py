"""The calls of any file that citespan reads: traces in every form, evidence files, recorded runs; gzip of each.

What a file is, is told from its content; its own reader says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from citespan.calls.from_evidence import read_evidence
from citespan.calls.from_replay import call_of_judged
from citespan.calls.from_span import call_of
from citespan.calls.model import Call
from citespan.core.policy import Policy
from citespan.errors import TraceFileError
from citespan.files import FileKind, Progress, Recording, Unreadable, kind_of_head, name_of, opened
from citespan.policy_file import find
from citespan.replay import Policies, replay
from citespan.traces.reader import read_spans
from citespan.trajectories import read_trajectories

#: keys of a trajectory that no other file has
_RECORDED: Final = frozenset({b"id", b"calls", b"user_messages", b"tools", b"policy"})
_TOKEN: Final = re.compile(rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)"(?P<colon>\s*:)?|[{}\[\]]', re.DOTALL)


def read_calls(
    source: str | Path | Recording,
    progress: Progress | None = None,
    *,
    policies: Policies | None = None,
) -> Iterator[Call]:
    """The tool calls that a file tells of, in its order, one at a time.

    Args:
        source: a path, `-` for standard input, or a file that is open already (`citespan.files.opened`).
        progress: told on the way how many bytes more of the file were read.
        policies: what judges the runs of a trajectory file; by default each run's own policy, else the one of the
            environment, else the defaults, as with `citespan replay`.

    Raises:
        TraceFileError: the file cannot be read; names file, line and reason.
        PolicyError: the policy of the environment has mistakes, or is not there.

    Example:
        `blocked = [call for call in read_calls("trace.jsonl") if call.status == "blocked"]`
    """
    name = source.name if isinstance(source, Recording) else name_of(source)
    try:
        with opened(source, progress) as recording:
            kind = kind_of_file(recording)
            if kind == "trajectory":
                yield from _recorded(recording, policies)
            else:
                yield from _READERS.get(kind, _traced)(recording)
    except Unreadable as error:
        raise TraceFileError(f"{name}: {error.reason}") from None
    except OSError as error:
        raise TraceFileError(f"{name}: {error.strerror or type(error).__name__}") from error


def _traced(recording: Recording) -> Iterator[Call]:
    for span in read_spans(recording):
        call = call_of(span)
        if call is not None:
            yield call


#: what reads a file of a kind; what is of no known kind goes to the reader of traces, which says so
_READERS: Final[Mapping[FileKind, Callable[[Recording], Iterator[Call]]]] = {
    "trace": _traced,
    "evidence": read_evidence,
}


def _recorded(recording: Recording, policies: Policies | None) -> Iterator[Call]:
    books = Policies(None, find() or Policy()) if policies is None else policies
    for trajectory in read_trajectories(recording):
        for judged in replay(trajectory, books.of(trajectory)):
            yield call_of_judged(judged)


def kind_of_file(recording: Recording) -> FileKind:
    """What an open file tells of, by its beginning, of which nothing is lost; "unknown" where that does not show.

    Raises:
        Unreadable: the compressed data is broken.

    Example:
        `kind_of_file(recording)` is "trajectory".
    """
    kind = kind_of_head(recording.head)
    return "trajectory" if kind == "unknown" and not _RECORDED.isdisjoint(_keys(recording.head)) else kind


def _keys(text: bytes) -> Iterator[bytes]:
    """The keys of the JSON object that a text starts with, as far as the text goes."""
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in {b"{", b"["}:
            depth += 1
        elif mark in {b"}", b"]"}:
            depth -= 1
            if depth <= 0:
                return
        elif depth == 1 and token["colon"]:
            yield token["text"]
