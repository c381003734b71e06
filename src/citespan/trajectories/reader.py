"""Reading trajectory files of any size: one line at a time, and no line half."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from citespan.errors import Problem, TraceFileError
from citespan.files import (
    STANDARD_INPUT,
    FileKind,
    Progress,
    Recording,
    Unreadable,
    form_of,
    kind_of_head,
    kind_of_record,
    name_of,
    opened,
)
from citespan.files.documents import MANY_BLANK, pass_blank_lines
from citespan.trajectories.model import Trajectory
from citespan.trajectories.parse import Malformed, parse

#: bytes of one line, its line break left out; a longer one is refused unread
MAX_LINE: Final = 256 * 1024 * 1024
#: ids that are remembered to find one that is used twice; in a longer file later ones are compared with these only
MAX_IDS: Final = 1_000_000
TRACE: Final = (
    "this is a trace; it holds no values and cannot be replayed. "
    "Try the policy on the agent: citespan run --policy FILE --mode tag -- ..."
)
EVIDENCE: Final = "this is an evidence file; record a trace (CITESPAN_TRACE_FILE) or a trajectory file"
_OTHERS: Final[Mapping[FileKind, str]] = {"trace": TRACE, "evidence": EVIDENCE}
_CHUNK: Final = 1024 * 1024
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

__all__ = ["MAX_LINE", "STANDARD_INPUT", "read_trajectories"]


def read_trajectories(
    source: str | Path | Recording,
    *,
    progress: Progress | None = None,
    bad: Callable[[TraceFileError], object] | None = None,
) -> Iterator[Trajectory]:
    """The trajectories of a file, gzipped or not, in its order. Blank lines are skipped.

    A trace (in each form that it has) or an evidence file is recognised by its beginning, and not read on.

    Args:
        source: a path, `-` for standard input, or a file that is open already (`citespan.files.opened`).
        progress: told on the way how many bytes more of the file were read.
        bad: told of each line that is no trajectory, and of a file that cannot be read; reading then goes on. None:
            the first one is raised.

    Raises:
        TraceFileError: names file, line and reason.

    Example:
        `for trajectory in read_trajectories("runs.jsonl"): ...`
    """
    name = source.name if isinstance(source, Recording) else name_of(source)
    try:
        with opened(source, progress) as recording:
            if form_of(recording.head) != "json":
                raise Unreadable(TRACE)
            yield from _read(recording, bad)
    except (OSError, Unreadable) as error:
        reason = error.reason if isinstance(error, Unreadable) else f"cannot be read: {_said(error)}"
        place = name if isinstance(error, OSError) or error.number is None else f"{name}:{error.number}"
        unread = TraceFileError(f"{place}: {reason}")
        if bad is None:
            raise unread from error
        bad(unread)


def _said(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _read(recording: Recording, bad: Callable[[TraceFileError], object] | None) -> Iterator[Trajectory]:
    file, name, head = recording.file, recording.name, recording.head
    number = blank = 0
    seen: dict[bytes, int] = {}
    while line := _line(file, number + 1):
        number += 1
        blank = blank + 1 if line.isspace() else 0
        if blank == MANY_BLANK:
            number, blank = number + pass_blank_lines(file), 0
        trajectory: Trajectory | None = None
        try:
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                line = b""
                _skip(file)
                raise Malformed("", f"a line of more than {MAX_LINE} bytes")
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if not line.isspace():
                trajectory = parse(line, f"{name}:{number}")
                _only_once(trajectory.id, number, seen)
        except Malformed as problem:
            trajectory = None
            other = None if seen else _other(line, head)
            found = Problem(problem.key, problem.message, number) if other is None else Problem("", other)
            error = TraceFileError(found.render(name))
            if bad is None:
                raise error from None
            bad(error)
            if other is not None:
                return
        line = b""  # a long one need not be kept while its calls are judged
        if trajectory is not None:
            yield trajectory
        recording.advance()


def _line(file: BinaryIO, number: int) -> bytes:
    try:
        return file.readline(MAX_LINE + 1)
    except Unreadable as error:
        raise Unreadable(error.reason, number) from None


def _other(line: bytes, head: bytes) -> str | None:
    """What to say of a file that is easily taken for a trajectory file; None where it is no such.

    Args:
        line: the first one that is no trajectory. head: the beginning of the file, for a document over several lines.
    """
    if not line:
        return None
    try:
        kind = kind_of_record(orjson.loads(line))
    except orjson.JSONDecodeError:
        kind = kind_of_head(head)
    return _OTHERS.get(kind)


def _skip(file: BinaryIO) -> None:
    """Read on to the next line."""
    while chunk := file.readline(_CHUNK):
        if chunk.endswith(b"\n"):
            break


def _only_once(identity: str, number: int, seen: dict[bytes, int]) -> None:
    key = hashlib.blake2b(identity.encode(), digest_size=16).digest()
    first = seen.get(key)
    if first is not None:
        raise Malformed("id", f"the trajectory on line {first} has the same id")
    if len(seen) < MAX_IDS:
        seen[key] = number
