"""The lines of a file from its end on, those that hold one of some byte strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_BLOCK: Final = 1024 * 1024


def lines_backward(source: str | Path, marks: Sequence[bytes] = (), block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """Each line with its offset, its line break included, the last one first.

    Args:
        marks: lines without any of them are passed over; empty: none is. block: bytes that are read at once.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(source).open("rb") as file:
        position = file.seek(0, 2)
        rest = b""
        while position:
            size = min(block, position)
            position -= size
            file.seek(position)
            data = file.read(size) + rest
            whole = data.find(b"\n") + 1 if position else 0
            if position and not whole:
                rest = data
                continue
            rest = data[:whole]
            if marks and not any(mark in data for mark in marks):
                continue
            end = len(data)
            while end > whole:
                begin = data.rfind(b"\n", whole, end - 1) + 1 or whole
                line = data[begin:end]
                end = begin
                if not marks or any(mark in line for mark in marks):
                    yield position + begin, line
