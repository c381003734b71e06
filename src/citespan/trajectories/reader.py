"""Reading trajectory files of any size: one line at a time, and no line half."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from citespan.errors import Problem, TraceFileError
from citespan.trajectories.model import Trajectory
from citespan.trajectories.parse import Malformed, parse

#: bytes of one line, its line break left out; a longer one is refused unread
MAX_LINE: Final = 256 * 1024 * 1024
#: ids that are remembered to find one that is used twice; in a longer file later ones are compared with these only
MAX_IDS: Final = 1_000_000
STANDARD_INPUT: Final = "-"
TRACE: Final = (
    "this is a trace; it holds no values and cannot be replayed. "
    "Try the policy on the agent: citespan run --policy FILE --mode tag -- ..."
)
EVIDENCE: Final = "this is an evidence file; record a trace (CITESPAN_TRACE_FILE) or a trajectory file"
_CHUNK: Final = 1024 * 1024
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

Progress = Callable[[int], object]


def read_trajectories(
    source: str | Path,
    *,
    progress: Progress | None = None,
    bad: Callable[[TraceFileError], object] | None = None,
) -> Iterator[Trajectory]:
    """The trajectories of a file, in its order. Blank lines are skipped.

    A trace or an evidence file is recognised by its first line, and not read on.

    Args:
        source: a path, or `-` for standard input.
        progress: told after each line how many bytes it had.
        bad: told of each line that is no trajectory, and of a file that cannot be read; reading then goes on. None:
            the first one is raised.

    Raises:
        TraceFileError: names file, line and reason.

    Example:
        `for trajectory in read_trajectories("runs.jsonl"): ...`
    """
    name = "<stdin>" if source == STANDARD_INPUT else str(source)
    try:
        with _open(source) as file:
            yield from _read(file, name, progress, bad)
    except OSError as error:
        unread = TraceFileError(f"{name}: cannot be read: {error.strerror or type(error).__name__}")
        if bad is None:
            raise unread from error
        bad(unread)


def _open(source: str | Path) -> contextlib.AbstractContextManager[BinaryIO]:
    if source == STANDARD_INPUT:
        return contextlib.nullcontext(sys.stdin.buffer)
    return Path(source).open("rb")


def _read(
    file: BinaryIO, name: str, progress: Progress | None, bad: Callable[[TraceFileError], object] | None
) -> Iterator[Trajectory]:
    number = 0
    seen: dict[bytes, int] = {}
    while line := file.readline(MAX_LINE + 1):
        number += 1
        size = len(line)
        trajectory: Trajectory | None = None
        try:
            if size > MAX_LINE and not line.endswith(b"\n"):
                line = b""
                size += _skip(file)
                raise Malformed("", f"a line of more than {MAX_LINE} bytes")
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if not line.isspace():
                trajectory = parse(line, f"{name}:{number}")
                _only_once(trajectory.id, number, seen)
        except Malformed as problem:
            trajectory = None
            other = None if seen else _other(line)
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
        if progress is not None:
            progress(size)


def _other(line: bytes) -> str | None:
    """What to say of the first line of a file that is easily taken for a trajectory file; None where it is no such."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(record) is not dict:
        return None
    if "resourceSpans" in record or "resource_spans" in record:
        return TRACE
    return EVIDENCE if str(record.get("schema")).startswith("citespan.evidence/") else None


def _skip(file: BinaryIO) -> int:
    """Read on to the next line; returns how many bytes that were."""
    size = 0
    while chunk := file.readline(_CHUNK):
        size += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return size


def _only_once(identity: str, number: int, seen: dict[bytes, int]) -> None:
    key = hashlib.blake2b(identity.encode(), digest_size=16).digest()
    first = seen.get(key)
    if first is not None:
        raise Malformed("id", f"the trajectory on line {first} has the same id")
    if len(seen) < MAX_IDS:
        seen[key] = number
