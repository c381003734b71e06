"""From `file:line` to a file and a line, for formats that link them."""

from __future__ import annotations


def split(place: str) -> tuple[str, int]:
    """The file and the line of a place; line 1 where it names none, "" where there is no file.

    Example:
        >>> split("runs/trace.jsonl:12"), split("<stdin>:3"), split("")
        (('runs/trace.jsonl', 12), ('<stdin>', 3), ('', 1))
    """
    file, colon, line = place.rpartition(":")
    if colon and line.isascii() and line.isdecimal() and 0 < len(line) < 10:
        return file, max(1, int(line))
    return place, 1
