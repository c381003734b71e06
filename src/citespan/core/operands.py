"""What a computation may take as operands: what the run has cited, and what the user said, newest first and bounded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

from citespan.core import dates
from citespan.core.computation import USER
from citespan.core.equality import is_weak
from citespan.core.images import number_of
from citespan.core.kinds import FromUser, Source
from citespan.core.ledger import View
from citespan.core.moments import Moment, Offset, quantity, unit_offset, written
from citespan.core.places import Place, field_of, path_of
from citespan.core.siblings import Others
from citespan.core.user import UserText

#: operands of one computation, and how many of them the user may have said
MAX_OPERANDS: Final = 64
MAX_SAID: Final = 32
#: numbers of the ledger that are looked at for operands, and values of a field that are added up
MAX_SCANNED: Final = 512
MAX_TOTAL: Final = 2_000
#: the same value at so many places: an operand is never the same place twice
MAX_ALIKE: Final = 2
#: what the user said, newest first, in which quantities of time are looked for
MAX_SAID_CHARS: Final = 100_000
MAX_OFFSETS: Final = 32

T = TypeVar("T")
Test = Callable[[Place], Source | None]


class Operand(NamedTuple):
    """One cited value that takes part.

    Args:
        value: the number or text. sources: where it is cited, none for what the user said or the policy supplies.
        spot: what tells two operands apart that have the same value.
    """

    value: Any
    sources: tuple[Source, ...]
    weak: bool
    spot: Hashable


class Operands:
    """The operands of one leaf's computations.

    Args:
        view: the ledger. given: inputs and host context. said: the user's messages.
        tests: the test of a place as source of an operand, made for (value, declared fields).
        user: whether the user declared or said a value.
        texts: whether numbers that are text count (projection `number`).
        others: the other arguments of the call; None where the leaf is not one of a call's.
    """

    __slots__ = ("_given", "_said", "_texts", "_user", "_view", "others", "tests")

    def __init__(
        self,
        view: View,
        given: View,
        said: UserText,
        tests: Callable[[Any, tuple[str, ...] | None], Test],
        user: Callable[[Any], FromUser | None],
        *,
        texts: bool,
        others: Others | None = None,
    ) -> None:
        self._view = view
        self._given = given
        self._said = said
        self.tests = tests
        self._user = user
        self._texts = texts
        self.others = others

    def locked(self, question: Callable[[], T]) -> T:
        """Ask something of places that were found, while nothing is added to the ledger."""
        return self._view.ledger.ask(lambda _: question())

    def numbers(self, field: str | None = None) -> list[Operand]:
        """Cited numbers, newest first: of one field, of the user (`"user"`), or, without a field, of both."""
        if field == USER:
            return list(_distinct(self._said_numbers(), MAX_OPERANDS))
        if field is None:
            said = list(_distinct(self._said_numbers(), MAX_SAID))
            seen = self._tested(self._view.numbers(MAX_SCANNED, texts=self._texts), None)
            return list(_distinct(chain(said, seen), MAX_OPERANDS))
        return list(_distinct(self._tested(self._view.field(field, MAX_SCANNED), (field,)), MAX_OPERANDS))

    def totals(self, field: str) -> list[Operand]:
        """The values of a field in each of the newest results that have two or more, all of them, each as one operand.

        The value is the tuple of the numbers. A result in which one of them is no number, or cannot be cited, has none.
        """
        groups: dict[int, list[Place]] = {}
        places = self._view.field(field, MAX_TOTAL + 1)
        for place in places:
            groups.setdefault(place.node.owner.ordinal, []).append(place)
        if len(places) > MAX_TOTAL:
            groups.popitem()  # cut off: not all of its values are known
        found: list[Operand] = []
        for ordinal, group in groups.items():
            operands = list(self._tested(group, (field,)))
            if 1 < len(operands) == len(group):
                values = tuple(operand.value for operand in operands)
                sources = tuple(chain.from_iterable(operand.sources for operand in reversed(operands)))
                found.append(
                    Operand(values, sources, all(operand.weak for operand in operands), ("all", field, ordinal))
                )
        return found

    def number(self, value: int | float) -> Operand | None:
        """A number that is cited, or that the user said."""
        places = self._view.find(value)
        if self._texts:
            places += self._view.image("number", value)
        test = self.tests(value, None)
        return self._first(value, places, test) or self._said_value(value)

    def text(self, text: str, name: str) -> Operand | None:
        """A text that stands for a placeholder.

        Args:
            name: a field (with a dot), "user", or the last step of whatever field it comes from.
        """
        if name == USER:
            return self._said_value(text)
        number = number_of(text)
        places = self._view.find(text) + ([] if number is None else self._view.find(number))
        if "." in name:
            return self._first(text, places, self.tests(text, (name,)))
        named = [place for place in places if field_of(place).rpartition(".")[2].casefold() == name.casefold()]
        return self._first(text, named, self.tests(text, None)) or self._said_value(text)

    def moment(self, when: Moment, fields: tuple[str, ...]) -> Operand | None:
        """A date, a time, or a date-time that is cited, or that the user said.

        What is taken of a place must be citable as the place itself is: a year, or the date of a date-time, that its
        call was given uncited is an echo.
        """
        named = tuple(field for field in fields if field != USER)
        if named or not fields:
            taken = (str(when.year),) if when.year is not None else tuple(written(when))
            tests: dict[str, list[Test]] = {}
            for place in _ends(self._view.moments(when), MAX_SCANNED):
                if place.value not in tests:
                    tests[place.value] = [self.tests(value, named or None) for value in (place.value, *taken)]
                sources = [test(place) for test in tests[place.value]]
                source = sources[0]
                if source is not None and None not in sources and _same_zone(place.value, when):
                    return Operand(place.value, (source,), source.weak, ("moment", place.value))
        if fields and USER not in fields:
            return None
        return next((said for form in written(when) if (said := self._said_value(form)) is not None), None)

    def day(self, when: dates.Moment) -> Operand | None:
        """A day of a month, with its time if it has one, that the user said without a year."""
        said = self._said.day(when)
        return None if said is None else Operand(str(when), (), said.weak, ("day", when))

    def offsets(self, by: tuple[str, ...], unit: str) -> Iterator[tuple[Offset, Operand | None]]:
        """Quantities of time: those that the policy declares (without an operand), and those of its fields.

        Where it has neither, those that the user said, newest first.
        """
        for declared in by:
            constant = quantity(declared)
            if constant is not None:
                yield constant, None
                continue
            for place in self._view.field(declared, MAX_OPERANDS):
                source = self.tests(place.value, (declared,))(place)
                offset = _of_field(place.value, unit) if source is not None else None
                if source is not None and offset is not None:
                    yield offset, Operand(place.value, (source,), source.weak, ("offset", place.value))
        if not by:
            for offset in self._said.offsets(MAX_SAID_CHARS, MAX_OFFSETS):
                yield offset, Operand(str(offset), (), False, ("offset", offset))

    def _first(self, value: Any, places: Iterable[Place], test: Test) -> Operand | None:
        weak: Operand | None = None
        for place in places:
            source = test(place)
            if source is not None:
                found = Operand(value, (source,), source.weak, spot_of(place))
                if not source.weak:
                    return found
                weak = weak or found
        return weak

    def _said_value(self, value: Any) -> Operand | None:
        said = self._user(value)
        return None if said is None else Operand(value, (), said.weak, ("user", value))

    def _said_numbers(self) -> Iterator[Operand]:
        for value in self._said.numbers(MAX_OPERANDS):
            yield Operand(value, (), is_weak(value), ("user", value))
        if self._given.upto:
            for place in self._given.numbers(MAX_OPERANDS, texts=self._texts):
                value = _number(place)
                yield Operand(value, (), is_weak(value), ("given", *spot_of(place)))

    def _tested(self, places: Iterable[Place], fields: tuple[str, ...] | None) -> Iterator[Operand]:
        for place in places:
            value = _number(place) if type(place.value) is not str or self._texts else None
            source = None if value is None else self.tests(value, fields)(place)
            if source is not None:
                yield Operand(value, (source,), source.weak, spot_of(place))


def _number(place: Place) -> Any:
    held = place.value
    if type(held) is str:
        return number_of(held)
    return held if type(held) is int or type(held) is float else None


def spot_of(place: Place) -> tuple[Hashable, ...]:
    """What tells a place from every other one."""
    return (place.node.owner.ordinal, path_of(place), place.value if place.node.via else None)


def _ends(places: list[Place], most: int) -> list[Place]:
    """Of very many places the oldest and the newest."""
    return places if len(places) <= most else places[: most // 2] + places[-(most // 2) :]


def _same_zone(held: str, when: Moment) -> bool:
    """Whether a moment with a zone is cited from one with the same; one without is whatever the wall clock says."""
    return not when.zone or held.endswith(when.zone)


def _of_field(value: Any, unit: str) -> Offset | None:
    if type(value) is str:
        return quantity(value)
    if (type(value) is int or type(value) is float) and unit:
        return unit_offset(value, unit)
    return None


def _distinct(operands: Iterable[Operand], most: int) -> Iterator[Operand]:
    """The first operands, of each value only so many."""
    counts: dict[Any, int] = {}
    for operand in operands:
        counts[operand.value] = counts.get(operand.value, 0) + 1
        if counts[operand.value] <= MAX_ALIKE:
            yield operand
            most -= 1
            if not most:
                return
