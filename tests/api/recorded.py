"""What a set of tools told, read back from the file that it dumped."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import citespan
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans


def dumped(tools: citespan.TracedTools) -> list[SpanRecord]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        tools.dump(path)
        return list(read_spans(path))


def calls(tools: citespan.TracedTools, tool: str) -> list[dict[str, Any]]:
    """Attributes of the spans of a tool, in order."""
    return [dict(span.attributes) for span in dumped(tools) if span.name == f"execute_tool {tool}"]
