"""Times and lists in words."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

_SECOND: Final = 1_000_000_000
#: (below this many nanoseconds, nanoseconds in the unit, unit, decimals)
_SPANS: Final = (
    (1_000_000, 1_000, "us", 0),
    (_SECOND, 1_000_000, "ms", 0),
    (120 * _SECOND, _SECOND, "s", 1),
    (7200 * _SECOND, 60 * _SECOND, "min", 0),
    (172_800 * _SECOND, 3600 * _SECOND, "h", 1),
)
_DAY: Final = 86_400 * _SECOND
_LAST: Final = 253_402_300_800 * _SECOND
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def moment(nanoseconds: int) -> str:
    """A time in UTC, to the millisecond.

    Example:
        >>> moment(1_796_144_130_427_813_843)
        '2026-12-01 16:55:30.427 UTC'
    """
    if not 0 < nanoseconds < _LAST:
        return "at an unknown time"
    when = _EPOCH + datetime.timedelta(microseconds=nanoseconds // 1000)
    return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d} UTC"


def length(nanoseconds: int) -> str:
    """A length of time, 0 or more, in one unit.

    Example:
        >>> length(2_100_000_000), length(35_000_000), length(0)
        ('2.1 s', '35 ms', '0 us')
    """
    for bound, unit, name, decimals in _SPANS:
        if nanoseconds < bound:
            return f"{nanoseconds / unit:.{decimals}f} {name}"
    return f"{nanoseconds // _DAY} days"


def apart(before: int, now: int) -> str:
    """How long before, or after, a time another was; "" where one of them is not known.

    Example:
        >>> apart(5_000_000_000, 7_100_000_000), apart(2, 1), apart(0, 1)
        ('2.1 s before', '0 us after', '')
    """
    if before <= 0 or now <= 0:
        return ""
    return f"{length(now - before)} before" if before <= now else f"{length(before - now)} after"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(["a"])
        ('a, b and c', 'a')
    """
    return " ".join(part for part in (", ".join(names[:-1]), last if names[1:] else "", *names[-1:]) if part)
