"""The cells of a text that holds a table: aligned columns, or cells between `|`, tabs or commas (projection `table`).

A table is at least two rows that agree on their columns; anything else has no cells. Time is linear in the text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

#: a longer line is no row of an aligned table
MAX_ROW: Final = 1024
_BARS: Final = str.maketrans("│┃║", "|||")
_RULE = re.compile(r"(?=.*[-=─━═])[-=+|:\s─-╿]+")
_GAP = re.compile(r" {2,}")


def table(text: str) -> Iterator[str]:
    """Each cell, outer blanks removed; empty cells left out.

    Example:
        >>> list(table("NAME      READY\\nweb-1     1/1"))
        ['NAME', 'READY', 'web-1', '1/1']
        >>> list(table("| id | bird |\\n|----|------|\\n| 7  | heron |"))
        ['id', 'bird', '7', 'heron']
    """
    rows = text.splitlines()
    whole = _comma_separated(rows)
    cells: Iterable[str] = chain.from_iterable(whole) if whole is not None else _blocks(rows)
    return (stripped for cell in cells if (stripped := cell.strip()))


def _comma_separated(rows: list[str]) -> list[list[str]] | None:
    """The rows of a text that is comma-separated values and nothing else, quotes as RFC 4180 has them."""
    filled = [row for row in rows if row.strip()]
    if len(filled) < 2 or "," not in filled[0]:
        return None
    read: list[list[str]] = []
    try:
        for row in csv.reader(filled, strict=True, skipinitialspace=True):
            if read and len(row) != len(read[0]):
                return None
            read.append(row)
    except csv.Error:
        return None
    return read if len(read) > 1 and len(read[0]) > 1 else None


def _blocks(rows: list[str]) -> Iterator[str]:
    """Runs of rows that agree on their delimiter and on how many cells they have."""
    kind: tuple[str, int] | None = None
    held: list[str] = []
    for row in rows:
        if len(row) <= MAX_ROW and _RULE.fullmatch(row) and row.strip():
            continue  # a line drawn between rows
        delimiter = _delimiter(row)
        now = (delimiter, len(_split(row, delimiter)) if delimiter.strip(" ") else 0)
        if now != kind:
            yield from _cells(held, kind)
            held, kind = [], now
        if delimiter:
            held.append(row)
    yield from _cells(held, kind)


def _delimiter(row: str) -> str:
    """What may separate the cells of a row: a tab, a bar, blanks; "" where nothing does."""
    if "\t" in row.strip():
        return "\t"
    if "|" in row or "│" in row or "┃" in row or "║" in row:
        return "|"
    return " " if len(row) <= MAX_ROW and "  " in row.strip() else ""


def _split(row: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        return row.split("\t")
    cells = row.translate(_BARS).strip().split("|")
    # bars at both ends frame the row, and bound no cell
    return cells[1 if cells[0] == "" else 0 : -1 if cells[-1] == "" else None]


def _cells(held: list[str], kind: tuple[str, int] | None) -> Iterator[str]:
    if kind is None or len(held) < 2:
        return
    delimiter, width = kind
    if delimiter == " ":
        yield from _aligned(held)
    elif width > 1:
        for row in held:
            yield from _split(row, delimiter)


def _aligned(held: list[str]) -> Iterator[str]:
    """Cells between columns of at least two blanks that go through all rows."""
    shared = -1
    for row in held:
        blank = -1 << len(row)
        for gap in _GAP.finditer(row):
            blank |= (1 << gap.end()) - (1 << gap.start())
        shared &= blank
    longest = max(map(len, held))
    gaps = [found.span() for found in re.finditer("1{2,}", f"{shared & ((1 << longest) - 1):0{longest}b}"[::-1])]
    inner = [(start, end) for start, end in gaps if start > 0]
    if not any(end < longest for _, end in inner):
        return
    for row in held:
        at = 0
        for start, end in inner:
            yield row[at:start]
            at = end
        yield row[at:]
