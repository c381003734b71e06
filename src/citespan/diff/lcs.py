"""A longest common subsequence, quick for long sequences.

The bit-vector algorithm of Hyyrö (2004): one row of the table is one integer, so a row costs a few operations on
m bits. Where all rows do not fit into memory, the table is split as Hirschberg (1975) does. 5,000 x 5,000 takes tens
of milliseconds, 200,000 x 200,000 some tens of seconds; memory stays below some 40 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

#: bits of a table whose rows are all kept: 32 MB
MAX_BITS: Final = 1 << 28


def common(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Index pairs of a longest common subsequence, ascending.

    Example:
        >>> common([1, 2, 3, 4], [9, 2, 4])
        [(1, 1), (3, 2)]
    """
    return _common(a, b, 0, 0, MAX_BITS)


def _common(a: Sequence[int], b: Sequence[int], at: int, bt: int, room: int) -> list[tuple[int, int]]:
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[len(a) - 1 - end] == b[len(b) - 1 - end]:
        end += 1
    head = [(at + index, bt + index) for index in range(start)]
    tail = [(at + len(a) - end + index, bt + len(b) - end + index) for index in range(end)]
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    at, bt = at + start, bt + start
    if not a or not b:
        return head + tail
    if len(a) * len(b) <= room or len(a) == 1:
        return head + [(at + i, bt + j) for i, j in _table(a, b)] + tail
    half = len(a) // 2
    before = _lengths(a[:half], b)
    after = _lengths(a[half:][::-1], b[::-1])[::-1]
    cut = max(range(len(b) + 1), key=lambda j: before[j] + after[j])
    return [
        *head,
        *_common(a[:half], b[:cut], at, bt, room),
        *_common(a[half:], b[cut:], at + half, bt + cut, room),
        *tail,
    ]


class _Masks:
    """For each symbol the bits of the places where it stands in a sequence; made when asked for."""

    def __init__(self, sequence: Sequence[int]) -> None:
        self._places: dict[int, list[int]] = {}
        for place, symbol in enumerate(sequence):
            self._places.setdefault(symbol, []).append(place)
        self._kept: dict[int, int] = {}
        self._size = len(sequence) // 8 + 1
        self._room = MAX_BITS // 8 // self._size

    def of(self, symbol: int) -> int:
        if symbol in self._kept:
            return self._kept[symbol]
        places = self._places.get(symbol, ())
        if len(places) <= 1:
            return 1 << places[0] if places else 0
        bits = bytearray(self._size)
        for place in places:
            bits[place >> 3] |= 1 << (place & 7)
        mask = int.from_bytes(bits, "little")
        if len(self._kept) < self._room:
            self._kept[symbol] = mask
        return mask


def _table(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """All rows, then the way back. A bit that is 0 says: up to here one more than up to the place before."""
    size = len(b) // 8 + 1
    full = (1 << len(b)) - 1
    masks = _Masks(b)
    row = full
    rows = [row.to_bytes(size, "little")]
    for symbol in a:
        hit = row & masks.of(symbol)
        row = ((row + hit) | (row - hit)) & full
        rows.append(row.to_bytes(size, "little"))
    pairs = []
    i, j = len(a), len(b)
    while i and j:
        byte, bit = (j - 1) >> 3, 1 << ((j - 1) & 7)
        if rows[i][byte] & bit:
            j -= 1
        elif not rows[i - 1][byte] & bit:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _lengths(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Length of the longest common subsequence of `a` and `b[:j]`, for each j."""
    full = (1 << len(b)) - 1
    masks = _Masks(b)
    row = full
    for symbol in a:
        hit = row & masks.of(symbol)
        row = ((row + hit) | (row - hit)) & full
    bits = format(row, f"0{len(b)}b")[::-1]
    return [0, *accumulate(bit == "0" for bit in bits)]
