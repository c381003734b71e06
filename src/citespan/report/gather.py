"""The rows of a page: the newest of them within two bounds, by run and by time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from citespan.calls import Call
from citespan.report.rows import Row, encode

#: the most calls of a page, and bytes of their data; the newest stay
MOST: Final = 20_000
MOST_BYTES: Final = 32 * 1024 * 1024


class Run(NamedTuple):
    """The calls of one run by time. start: nanoseconds since 1970 of the first, 0 where no call says."""

    start: int
    rows: tuple[Row, ...]


class Gathered(NamedTuple):
    """What the page shows.

    Args:
        runs: the oldest first. calls: how many there were, those that are left out included.
        left_out: how many did not fit. left_out_troubled: how many of these somebody should look at.
    """

    runs: tuple[Run, ...]
    calls: int
    left_out: int
    left_out_troubled: int


def gather(calls: Iterable[Call], most: int = MOST, most_bytes: int = MOST_BYTES) -> Gathered:
    """Read calls in any order and keep the last ones that fit.

    The span of a framework inside a judged call (status "within") is no call of its own and is dropped.

    Args:
        calls: read once. most, most_bytes: what is kept at most.

    Example:
        >>> gather([Call("a", start=2), Call("b", start=1)]).runs[0].rows[0].body
        b'{"t":"b","s":"none"}'
    """
    kept: deque[Row] = deque()
    size = number = troubled = 0
    for call in calls:
        if call.status == "within":
            continue
        number += 1
        row = encode(call)
        kept.append(row)
        size += len(row.body)
        while len(kept) > most or size > most_bytes:
            gone = kept.popleft()
            size -= len(gone.body)
            troubled += bool(gone.trouble)
    return Gathered(_runs(kept), number, number - len(kept), troubled)


def _runs(rows: Iterable[Row]) -> tuple[Run, ...]:
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row.run, []).append(row)
    runs = []
    for group in by_run.values():
        group.sort(key=lambda row: row.order)  # stable: the file's order where it is the same
        runs.append(Run(min((row.start for row in group if row.start), default=0), tuple(group)))
    return tuple(sorted(runs, key=lambda run: run.start))
