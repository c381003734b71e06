"""Reading trace files of any size: line by line, nothing kept."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from citespan.errors import TraceFileError
from citespan.traces.decode import Malformed, decode
from citespan.traces.model import SpanRecord

#: a line is one export batch; nobody writes larger ones
MAX_LINE: Final = 256 * 1024 * 1024
STANDARD_INPUT: Final = "-"


def read_spans(source: str | Path, progress: Callable[[int], object] | None = None) -> Iterator[SpanRecord]:
    """The spans of a trace file, in its order.

    Args:
        source: a path, or `-` for standard input.
        progress: told after each line how many bytes it had.

    Raises:
        TraceFileError: the file cannot be read, or a line is no OTLP/JSON; names file, line and reason.

    Example:
        `for span in read_spans("trace.jsonl"): ...`
    """
    name = "<stdin>" if source == STANDARD_INPUT else str(source)
    try:
        with _open(source) as file:
            yield from _read(file, name, progress)
    except OSError as error:
        raise TraceFileError(f"{name}: {error.strerror or type(error).__name__}") from error


def _open(source: str | Path) -> contextlib.AbstractContextManager[BinaryIO]:
    if source == STANDARD_INPUT:
        return contextlib.nullcontext(sys.stdin.buffer)
    return Path(source).open("rb")


def _read(file: BinaryIO, name: str, progress: Callable[[int], object] | None) -> Iterator[SpanRecord]:
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        place = f"{name}:{number}"
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            raise TraceFileError(f"{place}: a line of more than {MAX_LINE} bytes")
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not text.isspace():
            try:
                yield from decode(orjson.loads(text), place)
            except orjson.JSONDecodeError as error:
                cut = "" if line.endswith(b"\n") else " (the last line is unfinished)"
                raise TraceFileError(f"{place}: no JSON: {error.msg} at column {error.colno}{cut}") from error
            except Malformed as error:
                raise TraceFileError(f"{place}: {error}") from error
        if progress is not None:
            progress(len(line))
