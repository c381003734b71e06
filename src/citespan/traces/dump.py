"""A trace file written at once: it appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan

from citespan.traces.otlp_json import encode_line


def write_spans(spans: list[ReadableSpan], path: Path) -> int:
    """Write spans as OTLP/JSON lines, one `TracesData` each run of this function; the file appears whole or not at all.

    Returns:
        How many spans were written.

    Raises:
        OSError: the file cannot be written.
    """
    data = encode_line(spans) if spans else b""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return len(spans)
