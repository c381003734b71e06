"""What is learned of dates: how they are computed, and which one is so constant that it may be declared.

A date is seldom repeated and easily made up, so its evidence is pooled by name: what the `end_time` of one tool needs,
that of another may need, and its `new_end_time` too. A date constant names no thing, unlike an id, but it ages: it is
declared only where nothing computes the date, and a person is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from citespan.core.dates import read
from citespan.learn.draft import Line
from citespan.learn.evidence import Evidence, Place, Runs
from citespan.learn.looks import identifies
from citespan.learn.probe import SAID_DATE, SAID_DATES
from citespan.learn.profiles import Profile

#: the share of an argument's values that must be dates before it takes part in what others of its name showed
MIN_DATES: Final = 0.5
OFFSET: Final = "date_offset "
DERIVE: Final = "derive"
#: `new_end_time` is an `end_time`
_PREFIX: Final = re.compile(r"(?:new|old|updated|original|current)(?:[_-](?=\w)|(?=[A-Z]))")
#: a day that tells who somebody is, or that proves it
_PERSONAL: Final = re.compile(r"(?:.*[_.-])?(?:dob|born)|.*birth.*|.*expir.*", re.IGNORECASE)

#: a line with the runs that it explains
Backed = list[tuple[Line, set[int]]]
#: (tool, argument) -> what was seen
Pool = dict[tuple[str, str], Place]


def kin(argument: str) -> str:
    """The name that an argument shares with its kin.

    Example:
        >>> kin("new_end_time"), kin("flights.*.newDate"), kin("newest"), kin("start_time")
        ('end_time', 'flights.*.date', 'newest', 'start_time')
    """
    head, dot, last = argument.rpartition(".")
    found = _PREFIX.match(last)
    if found is not None:
        last = last[found.end()].lower() + last[found.end() + 1 :]
    return f"{head}{dot}{last}"


def is_day(value: Any) -> bool:
    """Whether a value is a date with its year, month and day."""
    when = read(value) if type(value) is str else None
    return when is not None and when.date is not None and all(when.date)


class Dates:
    """The dates of all arguments.

    Args:
        evidence: of all runs. profile: the thresholds. count: distinct tasks of some runs.
    """

    def __init__(self, evidence: Evidence, profile: Profile, count: Callable[..., int]) -> None:
        self._profile = profile
        self._count = count
        self._pools: dict[str, Pool] = {}
        for where, place in evidence.places.items():
            if place.mutating and (place.explained or place.uncited.numbers):
                self._pools.setdefault(kin(where[1]), {})[where] = place
        #: what was found of a name, so that many tools with one argument are one search
        self._computed: dict[str, tuple[Backed, Backed]] = {}
        self._fixed: dict[str, list[Line]] = {}

    def computed(self, argument: str, place: Place | None) -> list[Line]:
        """The computations of dates that an argument may use.

        Args:
            place: what was seen of it; None of a tool that was never called.
        """
        if self._is_pooled(place):
            name = kin(argument)
            if name not in self._computed:
                self._computed[name] = self._explained(self._pools.get(name, {}))
            said, offsets = self._computed[name]
        else:
            said, offsets = self._explained({("", argument): place} if place is not None else {})
        if place is not None and any(is_of_dates(by.what) for by in place.explained):
            lines = [line for line, _ in needed(said + offsets)]
        else:
            backed = said + needed(offsets)
            lines = [line._replace(note=f"by its name; {line.note}") for line, _ in backed]
        return [one for line in lines for one in _written(line)]

    def constants(self, argument: str, place: Place | None) -> list[Line]:
        """The dates that an argument may be given from nowhere."""
        if self._profile.days is None or identifies(argument) or _PERSONAL.fullmatch(argument):
            return []
        if not self._is_pooled(place):
            return [] if place is None else self._repeated([place])
        if argument not in self._fixed:
            pool = self._pools.get(kin(argument), {})
            self._fixed[argument] = self._repeated([one for (_, name), one in pool.items() if name == argument])
        return self._fixed[argument]

    def _is_pooled(self, place: Place | None) -> bool:
        """Whether what was seen under its name counts for an argument: one that holds dates, or was never seen."""
        if self._profile.by_name == "own" or place is None:
            return self._profile.by_name != "own"
        dates = place.looks.get("date")
        return dates is not None and self._count(dates) >= MIN_DATES * self._count(*place.looks.values())

    def _explained(self, pool: Pool) -> tuple[Backed, Backed]:
        """What the user said in part, and offsets that a policy would declare."""
        offsets = {by.what: None for one in pool.values() for by in one.explained if by.what.startswith(OFFSET)}
        return (
            self._backed([SAID_DATE], pool, self._profile.said_dates),
            self._backed(offsets, pool, self._profile.derive),
        )

    def _backed(self, wanted: Iterable[str], pool: Pool, least: int) -> Backed:
        found: Backed = []
        for what in wanted:
            seen = [(one, by) for one in pool.values() for by in one.explained if (by.means, by.what) == (DERIVE, what)]
            runs = [one.explained[by] for one, by in seen]
            hits, tries = (sum(one.chance[by][at] for one, by in seen) for at in (0, 1))
            tasks = self._count(*runs)
            if tasks >= least and by_chance(hits, tries) <= self._profile.chance:
                note = f"explains {hits} of {tries} made-up values as well"
                numbers = set().union(*(one.numbers for one in runs))
                found.append((Line(what, tasks, sum(one.times for one in runs), note), numbers))
        return found

    def _repeated(self, pool: list[Place]) -> list[Line]:
        seen: dict[str, list[Runs]] = {}
        for one in pool:
            for (_, value), runs in one.values.items() if not one.full else ():
                if is_day(value):
                    seen.setdefault(value, []).append(runs)
        counts = {value: self._count(*runs) for value, runs in seen.items()}
        if sum(number == 1 for number in counts.values()) > self._profile.unseen * sum(counts.values()):
            return []  # most dates are new ones
        return [
            Line(value, number, sum(runs.times for runs in seen[value]), "a fixed date")
            for value, number in sorted(counts.items())
            if self._profile.days is not None and number >= self._profile.days
        ][: self._profile.vocabulary]


def by_chance(hits: int, tries: int) -> float:
    """How often a computation explains what nobody meant; a share of few tries is taken to be larger than it was."""
    return (hits + 1) / (tries + 2) if tries else 0.0


def needed(backed: Backed) -> Backed:
    """The lines that explain most, without those that explain no run that an earlier one does not."""
    lines: Backed = []
    explained: set[int] = set()
    for line, runs in sorted(backed, key=lambda entry: -entry[0].tasks):
        if not runs <= explained:
            explained |= runs
            lines.append((line, runs))
    return lines


def is_of_dates(what: str) -> bool:
    """Whether an explanation is a computation of dates."""
    return what == SAID_DATE or what.startswith(OFFSET)


def _written(line: Line) -> list[Line]:
    """The lines of the policy: who says a day in one task says an offset in the next."""
    if line.value == SAID_DATE:
        return [line._replace(value=name) for name in SAID_DATES]
    return [line._replace(value={"date_offset": line.value.removeprefix(OFFSET)})]
