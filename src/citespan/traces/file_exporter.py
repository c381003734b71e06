"""A span exporter that appends to a trace file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from citespan.core import locks
from citespan.errors import TraceFileError
from citespan.traces.otlp_json import encode_line


class OtlpJsonFileExporter(SpanExporter):
    """Appends each batch as one line, with one write: lines of several threads and processes do not mix.

    Args:
        path: the file; made if it is not there.

    Raises:
        TraceFileError: the file cannot be opened for writing.

    Example:
        `BatchSpanProcessor(OtlpJsonFileExporter("trace.jsonl"))`
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = locks.lock()
        self._torn = False
        try:
            self._file: int | None = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise TraceFileError(f"{self._path}: {error.strerror}") from error

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append one line. FAILURE after shutdown, and where the line could not be written whole."""
        if not spans:
            return SpanExportResult.SUCCESS
        line = encode_line(spans)
        with self._lock:
            if self._file is None:
                return SpanExportResult.FAILURE
            # what an earlier failure left unfinished must not swallow this line
            data = memoryview(b"\n" + line if self._torn else line)
            try:
                while data:
                    written = os.write(self._file, data)
                    data = data[written:]
                    self._torn = bool(data)
            except OSError:
                return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file; a second time is nothing."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                os.close(file)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is kept back."""
        return True
