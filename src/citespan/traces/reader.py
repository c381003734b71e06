"""Reading trace files of any size and of every form that they come in, told apart by content: nothing kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from citespan.errors import TraceFileError
from citespan.files import STANDARD_INPUT, Form, Progress, Recording, Unreadable, form_of, name_of, opened
from citespan.traces.lines import json_lines, spans_of_line
from citespan.traces.model import SpanRecord

__all__ = ["STANDARD_INPUT", "read_spans"]


def read_spans(source: str | Path | Recording, progress: Progress | None = None) -> Iterator[SpanRecord]:
    """The spans of a trace file, in its order.

    Read are OTLP/JSON (a document per line, over several lines, or several on one), OTLP protobuf (one message; or
    messages after their lengths, as a collector's `file` exporter writes `format: proto`), Jaeger's JSON export, and
    gzip of each.

    Args:
        source: a path, `-` for standard input, or a file that is open already (`citespan.files.opened`).
        progress: told on the way how many bytes more of the file were read.

    Raises:
        TraceFileError: the file cannot be read, or is no trace; names file, line (message or byte of a binary file) and
            reason.

    Example:
        `for span in read_spans("trace.jsonl"): ...`
    """
    name = source.name if isinstance(source, Recording) else name_of(source)
    try:
        with opened(source, progress) as recording:
            yield from _READERS[form_of(recording.head)](recording)
            recording.advance()
    except Unreadable as error:
        raise TraceFileError(f"{name}: {error.reason}") from None
    except OSError as error:
        raise TraceFileError(f"{name}: {error.strerror or type(error).__name__}") from error


def _read_json(recording: Recording) -> Iterator[SpanRecord]:
    for document in json_lines(recording) or ():
        yield from spans_of_line(recording, document)


def _read_framed(recording: Recording) -> Iterator[SpanRecord]:
    from citespan.traces.binary import read_framed  # importing protobuf takes longer than reading most files

    return read_framed(recording)


def _read_message(recording: Recording) -> Iterator[SpanRecord]:
    from citespan.traces.binary import read_message

    return read_message(recording)


_READERS: Final[Mapping[Form, Callable[[Recording], Iterator[SpanRecord]]]] = {
    "json": _read_json,
    "framed": _read_framed,
    "protobuf": _read_message,
}
