"""The files that a command reads, as they are named on its command line."""

from __future__ import annotations

from collections.abc import Sequence

from citespan.errors import UsageError
from citespan.files import STANDARD_INPUT


def read_once(sources: Sequence[str]) -> None:
    """Refuse a command line that names standard input twice: the second reader would find it empty.

    Raises:
        UsageError: it does.

    Example:
        >>> read_once(["a.jsonl", "-"])
    """
    if sources.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once: give - only once")
