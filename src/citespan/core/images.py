"""Argument projections: what an observed text stands for under each (design section 2), and how an argument asks.

An image is a pair of small pure functions: the keys of a held text, and the key of an argument. Both must agree, and
then `fits` tests the pair exactly. The index keeps postings from keys to places for the images that some rule asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from citespan.core.equality import EXACT_FLOAT
from citespan.core.moments import MAX_TEXT, Moment, moment
from citespan.core.paths import MAX_PATH, dirname, normal_path, stem

MAX_NUMBER: Final = 20
MAX_DIGITS: Final = 15
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.(\d{1,15}))?", re.ASCII)


def number_of(text: str) -> int | float | None:
    """The number that a plain decimal text is: no sign but `-`, no grouping, no exponent, no leading zero.

    Example:
        >>> number_of("1100"), number_of("12.50"), number_of("1,100"), number_of("007")
        (1100, 12.5, None, None)
    """
    if len(text) > MAX_NUMBER:
        return None
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    if found[1] is None:
        return int(text)
    if len(text) > MAX_DIGITS + 2:
        return None  # more digits than a float keeps
    return float(text)


class Image(NamedTuple):
    """How one argument projection is indexed.

    Args:
        keys: of a held text; empty where the projection says nothing of it.
        key: of an argument; None where it can follow from nothing.
        fits: whether the argument follows from the held text; tested after the look-up.
    """

    keys: Callable[[str], tuple[Hashable, ...]]
    key: Callable[[Any], Hashable | None]
    fits: Callable[[Any, str], bool]


def _one(value: Any) -> tuple[Hashable, ...]:
    return () if value is None else (value,)


def _text(value: Any) -> Hashable | None:
    return value if type(value) is str and value else None


def _path(value: Any) -> Hashable | None:
    return normal_path(value) if type(value) is str else None


def _fold(text: str) -> str | None:
    folded = text.casefold() if 0 < len(text) <= MAX_PATH else None
    return text if folded == text else folded


def _number(value: Any) -> Hashable | None:
    if type(value) is int or (type(value) is float and abs(value) < EXACT_FLOAT):
        return value
    return None


def moment_keys(text: str) -> tuple[Hashable, ...]:
    """Keys of a date, a time, or a date-time, which is found by each of its parts and by its year too."""
    return _moment_keys(text) if text[:1].isdecimal() and len(text) <= MAX_TEXT else ()


@lru_cache(maxsize=4096)
def _moment_keys(text: str) -> tuple[Hashable, ...]:
    when = moment(text)
    if when is None:
        return ()
    year = None if when.day is None else ("year", when.day.year)
    return tuple(key for key in (_moment_key(when), _day_key(when), _clock_key(when), year) if key is not None)


def _moment_key(when: Moment) -> Hashable | None:
    return None if when.day is None or when.clock is None else ("both", when.day, when.clock)


def _day_key(when: Moment) -> Hashable | None:
    return None if when.day is None else ("day", when.day)


def _clock_key(when: Moment) -> Hashable | None:
    return None if when.clock is None else ("clock", when.clock)


def moment_key(when: Moment) -> Hashable | None:
    """The key under which a moment of its kind is found."""
    if when.year is not None:
        return ("year", when.year)
    return next((key for key in (_moment_key(when), _day_key(when), _clock_key(when)) if key is not None), None)


def _part(value: Any) -> Hashable | None:
    when = moment(value) if type(value) is str else None
    if when is None or when.zone or (when.day is not None and when.clock is not None):
        return None
    return moment_key(when)


def _is_part(value: Any, held: str) -> bool:
    whole = moment(held)
    return whole is not None and whole.day is not None and whole.clock is not None and _part(value) in moment_keys(held)


IMAGES: Final[dict[str, Image]] = {
    "dirname": Image(lambda text: _one(dirname(text)), _path, lambda value, held: dirname(held) == normal_path(value)),
    "stem": Image(lambda text: _one(stem(text)), _text, lambda value, held: stem(held) == value),
    "casefold": Image(
        lambda text: _one(_fold(text)),
        lambda value: _fold(value) if type(value) is str else None,
        lambda value, held: held != value and held.casefold() == value.casefold(),
    ),
    "number": Image(lambda text: _one(number_of(text)), _number, lambda value, held: number_of(held) == value),
    "date_part": Image(moment_keys, _part, _is_part),
}
