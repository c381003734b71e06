"""Dates that the user said in part, and that a cited date completes (design section 2, kind `derived`).

A message that says `May 20` grants no year: `dates` keeps to that. Where a policy declares `date_in_year`, a date that
a tool returned may supply it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from citespan.core import dates
from citespan.core.computation import Computation
from citespan.core.moments import Moment
from citespan.core.operands import Operand, Operands


def in_year(value: Any, declared: Computation, operands: Operands, texts: bool) -> Iterator[tuple[list[Operand], bool]]:
    """The day that the user said and the cited date whose year it takes; never weak, since no date is.

    Args:
        declared: its fields are those of the date that supplies the year.
    """
    when = dates.read(value) if type(value) is str else None
    if when is None or when.date is None or not _is_day(*when.date):
        return
    said = operands.day(when)
    year = None if said is None else operands.moment(Moment(None, None, year=when.date[0]), declared.of)
    if said is not None and year is not None:
        yield [said, year], False


def _is_day(year: int | None, month: int, day: int | None) -> bool:
    if year is None or day is None:
        return False
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
