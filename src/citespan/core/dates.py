"""Dates and times as people write them: what was said of each, and no part that was not (design section 2).

`find` reads a message, `read` an argument; both yield the same parts, so that `2024-05-26` follows from `May 26th,
2024` and not from `May 26th`. Nothing is guessed: no year, no half of the day, no order of `5/6/2024`. The names of
months are the English ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

#: longer arguments are no date
MAX_VALUE: Final = 64
#: the year of a day that was said without one, among what an expression says: see `granted`
NO_YEAR: Final = -1
#: the day of a month that was said without one: `12/28` is that month where no day of it was said
NO_DAY: Final = 0

Date: TypeAlias = tuple[int | None, int, int | None]
"""Year, month, day; None for what was not said."""
Time: TypeAlias = tuple[int, int, int | None]
"""Hour from 0, minute, second; an hour alone says minute 0 (`1 pm`), and None stands for seconds that were not said."""

_FULL: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS: Final = {name[:3]: number for number, name in enumerate(_FULL, 1)}
_HOURS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

_MONTH = rf"(?:(?:{'|'.join(_FULL)})\b|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
#: blanks, but no line break: two lines are two expressions
_S = r"[^\S\r\n]{1,4}"
_O = r"[^\S\r\n]{0,4}"
_ORDINAL = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)\b"
_DAY = rf"(?:{_ORDINAL}|(?:0?[1-9]|[12]\d|3[01])\b(?![.:]\d|,\d{{3}}(?!\d)))"
_YEAR = r"(?:1[89]|2[01])\d\d\b(?![.,:]\d)"
#: `, 2024`, ` 2024`, ` of the year 2024`
_OF_YEAR = rf"(?:,|(?=[^\S\r\n])){_O}(?:(?:in|of|this|the|year){_S}){{0,3}}{_YEAR}"
_DASH = rf"{_O}[-\u2013\u2014]{_O}"
_TO = rf"(?:{_DASH}|{_O}(?:\b(?:to|through|until|till|and)\b|&){_O})"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
_HALF = r"[ap](?:m\b|\.m\.?)"

#: run over lower-case text; the name of the outer group says how its numbers are to be read
_EXPRESSION = re.compile(
    rf"""\b(?=[\djfmasondte])(?:
      (?P<ymd>\d{{4}}([-/])\d{{1,2}}\2\d{{1,2}}(?:t{_CLOCK}(?:z|[+-]\d\d:?\d\d)?)?\b)
    | (?P<numeric>\d{{1,2}}([/.-])\d{{1,2}}[/.-](?:\d{{4}}|\d{{2}})\b)
    | (?P<month>(?:0[1-9]|1[0-2])/{_YEAR})
    | (?P<time>{_CLOCK}(?:{_O}{_HALF})? | \d{{1,2}}{_O}(?:{_HALF}|o.?clock\b)
        | (?:{"|".join(_HOURS)}){_S}(?:{_HALF}|o.?clock\b) | noon\b | midnight\b)
    | (?P<spelt>{_MONTH}{_O}(?:
          (?<=[\s.]){_DAY}(?: (?:(?:{_TO}|{_O},{_O}){_DAY}){{0,3}}{_OF_YEAR}
                            | (?:{_DASH}{_DAY}|(?:{_TO}|{_O},{_O}){_ORDINAL}){{0,3}})
        | (?:(?<=[\s.])|,{_O}|of{_S}){_YEAR} )
      | {_DAY}(?:{_TO}{_DAY}){{0,3}}{_S}(?:of{_S})?{_MONTH}(?:{_OF_YEAR})?)
    )""",
    re.VERBOSE,
)
#: a month of a year as forms have it, in an argument: `12/28`, `2028-12` (`12/2028` is read in messages too)
_SHORT_MONTH = re.compile(r"(0[1-9]|1[0-2])/(\d\d)|((?:1[89]|2[01])\d\d)-(0[1-9]|1[0-2])", re.ASCII)
#: what makes a day one of another year than that of the run's dates: `May 20 of next year`, `May 20, a year from now`,
#: `next year, on May 20`, `in 2032, on May 20`
_RELATED = rf"(?:next|last|following|previous|coming){_S}year\b"
_OTHER_YEAR = re.compile(
    rf",?{_S}(?:(?:of|in|the|that){_S}){{0,2}}(?:{_RELATED}|(?:an?|one|two|three|\d{{1,2}}){_S}years?\b)|,?{_O}['\u2019]\d\d\b"
)
_YEAR_BEFORE = re.compile(rf"\b(?:{_RELATED}|(?:1[89]|2[01])\d\d\b)[^.!?;\r\n]*$")
#: how far before a day such a year may stand in its sentence
MAX_BEFORE: Final = 48
_WORDS = re.compile(r"\d+|[a-z]+")
_CLOCK_PARTS = re.compile(r"(\d+|[a-z]+)(?::(\d+))?(?::(\d+))?(?:\.\d+)?")
_FINER = re.compile(r"\d\.\d|\d(?:z|[+-]\d)")
_NAMED_TIMES: Final[dict[str, Time]] = {"noon": (12, 0, None), "midnight": (0, 0, None)}
#: an expression inside a longer token says nothing: `report-2024-05-26.md`, `/logs/2024-05-26`, `10.0.0.1:80`
_GLUED_BEFORE = re.compile(r"[\w@/\\~%&+$#.:]$|(?<=[^\d\W])(?<![ap]m)-$")
_GLUED_AFTER = re.compile(r"[\w@/\\~%&+]|[.:-][^\W\d]|[.:]\d")
_BETWEEN = re.compile(r"\s*(?:,|\bat\b|t)?\s*")


class Expression(NamedTuple):
    """One date or time in a text.

    Args:
        start, end: where it stands in the lower-case text; no number in there is a token of its own.
        dates: what it says; several for `May 26-28, 2024`, none where it is ambiguous or part of a longer token.
        time: the time that it says.
        finer: whether a time zone or a fraction of a second was given with it, which `time` leaves out.
        elsewhen: whether it is a day of another year that was named in relation to one: `May 20 next year`.
    """

    start: int
    end: int
    dates: tuple[Date, ...] = ()
    time: Time | None = None
    finer: bool = False
    elsewhen: bool = False


class Moment(NamedTuple):
    """What an argument says: a date, a time, or both."""

    date: Date | None
    time: Time | None


def find(lowered: str) -> Iterator[Expression]:
    """Every date or time in a lower-case text, in order; linear in its length.

    Example:
        >>> [found.dates for found in find("may 26th, 2024 or 5/6/2024 or 5/26/2024")]
        [((2024, 5, 26),), (), ((2024, 5, 26),)]
    """
    last = end = 0
    for found in _EXPRESSION.finditer(lowered):
        last, (start, end) = end, found.span()
        if _GLUED_BEFORE.search(lowered[max(0, start - 3) : start]) or _GLUED_AFTER.match(lowered[end : end + 2]):
            yield Expression(start, end)
            continue
        kind = found.lastgroup
        text = found.group()
        if found.group("ymd"):
            day, _, clock = text.partition("t")
            year, month, number = (int(word) for word in _WORDS.findall(day))
            date, time = _valid(year, month, number), _time(clock)
            if date is None or (clock and time is None):
                yield Expression(start, end)
            else:
                yield Expression(start, end, (date,), time, _FINER.search(clock) is not None)
        elif kind == "time":
            yield Expression(start, end, (), _time(text), _FINER.search(text) is not None)
        elif kind == "spelt":
            before = lowered[max(last, start - MAX_BEFORE) : start]  # the year of another date is that date's
            elsewhen = _OTHER_YEAR.match(lowered, end) is not None or _YEAR_BEFORE.search(before) is not None
            yield Expression(start, end, _spelt(text), elsewhen=elsewhen)
        elif kind == "month":
            yield Expression(start, end, ((int(text[3:]), int(text[:2]), None),))
        else:
            yield Expression(start, end, _numeric(text))


def read(value: str) -> Moment | None:
    """What an argument says if it is a date, a time, or a date and a time, and nothing else; None otherwise.

    The month of a year may be written in short, as cards have it: `12/28` is December 2028. It is never read so in a
    message, where it may as well be a day; and since an argument may be taken for a day too, it follows only from a
    month that was said without one.

    Example:
        >>> read("2024-05-26T13:00"), read("1 PM"), read("5/6/2024"), read("2024-05-26T13:00Z")
        (Moment(date=(2024, 5, 26), time=(13, 0, None)), Moment(date=None, time=(13, 0, None)), None, None)
        >>> read("12/2028") == read("2028-12") == read("December 2028"), read("12/28").date
        (True, (2028, 12, 0))
    """
    if len(value) > MAX_VALUE:
        return None
    short = _SHORT_MONTH.fullmatch(value)
    if short is not None:
        if short[1]:
            return Moment((2000 + int(short[2]), int(short[1]), NO_DAY), None)
        return Moment((int(short[3]), int(short[4]), None), None)
    lowered = value.lower()
    date: Date | None = None
    time: Time | None = None
    end = 0
    for found in find(lowered):
        gap = lowered[end : found.start]
        if (gap if end == 0 else not _BETWEEN.fullmatch(gap)) or found.finer or len(found.dates) > 1:
            return None
        if (found.dates and date is not None) or (found.time is not None and time is not None):
            return None
        if not found.dates and found.time is None:
            return None
        date = found.dates[0] if found.dates else date
        time = found.time if found.time is not None else time
        end = found.end
    return Moment(date, time) if end and end == len(lowered) else None


def granted(expression: Expression) -> Iterator[Date | Time]:
    """Every form of a date or time that an expression says: with and without its year, its day, its zero seconds.

    A day that was said without a year is granted as one of `NO_YEAR` too: that it stands alone is for a computation to
    know; a month of a year that was said without a day as one of `NO_DAY` too. Dates and times do not collide: an hour
    is below 24 and not negative, a year is None, `NO_YEAR` or above 1000 (see `find`).
    """
    for year, month, day in expression.dates:
        yield (year, month, day)
        if year is None and not expression.elsewhen:
            yield (NO_YEAR, month, day)
        if year is not None and day is None:
            yield (year, month, NO_DAY)
        if year is not None and day is not None:
            yield (None, month, day)
            yield (year, month, None)
    if expression.time is not None:
        hour, minute, second = expression.time
        yield (hour, minute, None)
        yield (hour, minute, second or 0)


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with some spans blanked, given in order: what stood in them is no neighbour, and no place moves."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], " " * (end - start))
        at = end
    return "".join((*pieces, text[at:])) if pieces else text


def _valid(year: int | None, month: int, day: int | None) -> Date | None:
    good = 1 <= month <= 12 and (day is None or 1 <= day <= 31) and (year is None or year >= 1000)
    return (year, month, day) if good else None


def _numeric(text: str) -> tuple[Date, ...]:
    first, second, year = (int(word) for word in _WORDS.findall(text))
    if year < 1000 or len(set(_WORDS.sub("", text))) != 1:
        return ()
    if first == second or (first <= 12 < second):
        date = _valid(year, first, second)
    elif second <= 12 < first:
        date = _valid(year, second, first)
    else:
        return ()
    return (date,) if date else ()


def _spelt(text: str) -> tuple[Date, ...]:
    month = 0
    year: int | None = None
    days: list[int] = []
    for word in _WORDS.findall(text):
        if not word.isdecimal():
            month = _MONTHS.get(word[:3], month)
        elif len(word) == 4:
            year = int(word)
        else:
            days.append(int(word))
    if not days:
        return ((year, month, None),)
    return tuple((year, month, day) for day in days)


def _time(text: str) -> Time | None:
    found = _CLOCK_PARTS.match(text)
    if found is None or text in _NAMED_TIMES:
        return _NAMED_TIMES.get(text)
    first, minutes, seconds = found.groups()
    hour = int(first) if first.isdecimal() else _HOURS[first]
    minute = int(minutes or 0)
    half = text[found.end() :].strip()[:1]
    if half in {"a", "p"} and half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or int(seconds or 0) > 59:
        return None
    return (hour, minute, None if seconds is None else int(seconds))
