"""Dates and times as ISO 8601 writes them, and quantities of time ("5 hours"), for `date_part` and `date_offset`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple

MAX_TEXT: Final = 40

_ISO = re.compile(
    r"""(?:(?P<date>\d{4}-\d\d-\d\d)(?:(?P<mark>[T\ ])(?=\d))?)?
        (?:(?P<time>\d\d:\d\d(?P<seconds>:\d\d)?)(?P<fraction>\.\d{1,6})?(?P<zone>Z|[+-]\d\d:?\d\d)?)?""",
    re.VERBOSE | re.ASCII,
)


class Moment(NamedTuple):
    """A date, a time, or both; or a year alone, to look for dates in it.

    Args:
        day, clock: None where the text has none. zone: as written, "" where none is. year: where it stands alone.
    """

    day: date | None
    clock: time | None
    zone: str = ""
    year: int | None = None


def moment(text: str) -> Moment | None:
    """Read a whole text as ISO date, time or date-time; None where it is none.

    Example:
        >>> moment("2031-05-18T08:00:00").clock, moment("18.5.2031")
        (datetime.time(8, 0), None)
    """
    if not 5 <= len(text) <= MAX_TEXT:
        return None
    found = _ISO.fullmatch(text)
    if found is None or (found["date"] and found["time"] and not found["mark"]):
        return None
    if not found["date"] and not found["time"]:
        return None
    try:
        day = date.fromisoformat(found["date"]) if found["date"] else None
        clock = time.fromisoformat(found["time"] + _micro(found["fraction"])) if found["time"] else None
    except ValueError:
        return None
    return Moment(day, clock, found["zone"] or "")


def _micro(fraction: str | None) -> str:
    return "" if fraction is None else fraction.ljust(7, "0")


class Offset(NamedTuple):
    """A quantity of time. Months are kept apart, since they have no fixed length."""

    months: int
    length: timedelta

    @property
    def whole_days(self) -> bool:
        """Whether it leaves the time of day alone."""
        return not self.length % timedelta(days=1)


_WORDS: Final = {
    name: number
    for number, names in enumerate(
        [
            "a|an|one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ],
        1,
    )
    for name in names.split("|")
} | {"twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90}
_UNITS: Final = {
    "second": timedelta(seconds=1),
    "sec": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "hr": timedelta(hours=1),
    "h": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
_MONTHS: Final = {"month": 1, "year": 12}
#: what a policy may name as the unit of a field's numbers
UNIT_NAMES: Final = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
_QUANTITY = re.compile(
    rf"""(?<![\w.,:/+-])(?:(?<!\band\s)(?<!\band\sa\s)(?P<half>half\s(?:an?\s)?)
        | (?P<number>-?\d{{1,4}}(?:\.\d{{1,2}})?|{"|".join(sorted(_WORDS, key=len, reverse=True))})[\s-]?\s?)
        (?P<unit>{"|".join(sorted((*_UNITS, *_MONTHS), key=len, reverse=True))})s?(?![\w/])
        (?:\s(?P<back>before|earlier|ago|prior|sooner)\b)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


#: one day, week, month or year, said without a number: `the day after`, `the following week`, `tomorrow`
_NEXT = re.compile(
    r"""(?<![\w.,:/+-])(?:the\s(?P<unit>day|week|month|year)\s(?P<side>after|before|prior)(?P<twice>\s(?:tomorrow|yesterday|next)\b)?
        | the\s(?:very\s)?(?P<next>next|following|subsequent|previous|preceding|prior)\s(?P<of>day|week|month|year)
        | (?P<deictic>tomorrow|yesterday))(?![\w/])""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_BACK: Final = frozenset({"before", "prior", "previous", "preceding", "yesterday"})

_JOINT = re.compile(r",?\s(?:and\s)?", re.IGNORECASE)
_AND_A_HALF = re.compile(r"\sand\sa\shalf\b", re.IGNORECASE)


def quantities(text: str) -> Iterator[Offset]:
    """Each quantity of time in a text, backwards where it is said so ("two days earlier").

    Quantities that stand together ("1 hour and 30 minutes", "an hour and a half") are one, and none of its parts. "The
    day after", "the following week" and "tomorrow" are quantities too: from which day they count is for a cited date to
    say. "Next week" without an article names no day.

    Example:
        >>> [str(found.length) for found in quantities("for one hour, or 90 minutes; two days earlier")]
        ['1:00:00', '1:30:00', '-2 days, 0:00:00']
    """
    together: list[re.Match[str]] = []
    for found in _QUANTITY.finditer(text):
        if together and not _JOINT.fullmatch(text, together[-1].end(), found.start()):
            yield from _together(together, text)
            together = []
        together.append(found)
    yield from _together(together, text)
    for found in _NEXT.finditer(text):
        yield _next(found)


def _next(found: re.Match[str]) -> Offset:
    unit = (found["unit"] or found["of"] or "day").lower()
    count = 2 if found["twice"] else 1
    if (found["side"] or found["next"] or found["deictic"]).lower() in _BACK:
        count = -count
    return Offset(count * _MONTHS[unit], timedelta()) if unit in _MONTHS else Offset(0, count * _UNITS[unit])


def _together(parts: list[re.Match[str]], text: str) -> Iterator[Offset]:
    offsets = [offset for part in parts if (offset := _offset(part)) is not None]
    if not parts or len(offsets) < len(parts):
        return
    months, length = sum(offset.months for offset in offsets), sum((offset.length for offset in offsets), timedelta())
    if _AND_A_HALF.match(text, parts[-1].end()):
        unit = _UNITS.get(parts[-1]["unit"].lower())
        if unit is None:
            return
        length += unit / 2
    if parts[-1]["back"]:
        months, length = -abs(months), -abs(length)
    if months or length:
        yield Offset(months, length)


def quantity(text: str) -> Offset | None:
    """A text that is one quantity of time as a whole, such as a policy's `"1 hour"` or `"-1 day"`."""
    found = _QUANTITY.fullmatch(text.strip()) if len(text) <= MAX_TEXT else None
    return None if found is None else _offset(found)


def _offset(found: re.Match[str]) -> Offset | None:
    number = 0.5 if found["half"] else _number(found["number"])
    unit = found["unit"].lower()
    if found["back"]:
        number = -number
    if unit in _MONTHS:
        return Offset(int(number) * _MONTHS[unit], timedelta()) if float(number).is_integer() else None
    return Offset(0, _UNITS[unit] * number)


def _number(text: str) -> float:
    return _WORDS[text.lower()] if text.lower() in _WORDS else float(text)


def unit_offset(number: int | float, unit: str) -> Offset | None:
    """So many of a unit of `UNIT_NAMES`; None for a part of a month, and for what no clock or calendar counts."""
    name = unit.removesuffix("s")
    if not -1e6 < number < 1e6:
        return None
    if name in _MONTHS:
        return Offset(int(number) * _MONTHS[name], timedelta()) if float(number).is_integer() else None
    return Offset(0, _UNITS[name] * number)


def before(when: Moment, offset: Offset) -> Moment | None:
    """The moment from which `offset` leads to `when`; None where there is none of the same kind.

    A date moves by whole days only. A time of day does not move past midnight. A day that its month does not have is
    none.
    """
    try:
        if when.day is None:
            if when.clock is None or offset.months:
                return None
            start = datetime.combine(date(2000, 1, 2), when.clock) - offset.length
            return Moment(None, start.time(), when.zone) if start.date() == date(2000, 1, 2) else None
        if when.clock is None:
            if not offset.whole_days:
                return None
            return Moment(_months_back(when.day - offset.length, offset.months), None)
        whole = datetime.combine(when.day, when.clock) - offset.length
        return Moment(_months_back(whole.date(), offset.months), whole.time(), when.zone)
    except (ValueError, OverflowError):
        return None


def _months_back(day: date, months: int) -> date:
    years, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return day.replace(year=years, month=month + 1)


def written(when: Moment) -> Iterator[str]:
    """The ways in which a moment may be written, for looking it up among what the user said; none of a year alone."""
    if when.year is not None:
        return
    clocks = [""]
    if when.clock is not None:
        whole = when.clock.isoformat()
        clocks = [whole, *([whole[:5]] if whole.endswith(":00") and len(whole) == 8 else [])]
    for clock in clocks:
        if when.day is None:
            yield f"{clock}{when.zone}"
        elif not clock:
            yield when.day.isoformat()
        else:
            yield f"{when.day.isoformat()} {clock}{when.zone}"
            yield f"{when.day.isoformat()}T{clock}{when.zone}"
