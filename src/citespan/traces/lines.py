"""The raw documents of a trace file, for a reader that looks at bytes before it parses.

How to use it, also where the file turns out to be of another form, and on standard input, which opens once::

    with opened(source, progress) as recording:  # citespan.files
        found = json_lines(recording)
        if found is None:  # protobuf
            for span in read_spans(recording): ...
        else:
            for line in found:  # Document(number, text)
                if b'"blocked"' in line.text:
                    for span in spans_of_line(recording, line): ...

`opened` undoes gzip. A line is one document (a `TracesData`, or Jaeger's export) as a rule; where a document spans
several lines the file is cut by its brackets, so what comes here is whole. JSON may write any character as an escape
(backslash, u, four digits): bytes that are not found do not prove that a text is absent, unless the line has no
backslash followed by u.
"""

from __future__ import annotations

from collections.abc import Iterator

from citespan.errors import TraceFileError
from citespan.files import Document, Recording, Unreadable, documents, form_of
from citespan.traces.json_documents import spans_of_line

__all__ = ["json_lines", "spans_of_line"]


def json_lines(recording: Recording) -> Iterator[Document] | None:
    """The documents of an open file of JSON, unparsed, in its order; None where it is of another form.

    Blank lines are skipped. A document has at most `citespan.files.MAX_DOCUMENT` bytes. Progress is told on the way.

    Raises:
        TraceFileError: while it is iterated: the file cannot be read on; names file, line and reason. At once: it is of
            a form that is known and not read (zstd, UTF-16).

    Example:
        `with opened("trace.jsonl") as recording: lines = json_lines(recording)`
    """
    try:
        return _lines(recording) if form_of(recording.head) == "json" else None
    except Unreadable as error:
        raise TraceFileError(f"{recording.name}: {error.reason}") from None


def _lines(recording: Recording) -> Iterator[Document]:
    number = 0
    try:
        for document in documents(recording.file):
            number = document.number
            yield document
            recording.advance()
    except Unreadable as error:
        raise TraceFileError(f"{recording.name}:{error.number or number + 1}: {error.reason}") from None
    except OSError as error:
        raise TraceFileError(f"{recording.name}: {error.strerror or type(error).__name__}") from error
    recording.advance()
