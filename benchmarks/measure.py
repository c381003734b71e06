"""Ratios of two sides, measured in one run: A B A B, one sample of each side per round, medians over the rounds.

The garbage collector stays on, and the clock is the wall clock. A side prepares itself, and is cleared away, outside its
timed region.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, NamedTuple, TypeAlias

#: what is timed; what it returns is kept until the sample is over, so that freeing it is not timed
Work: TypeAlias = Callable[[], object]
Opened: TypeAlias = Callable[[], AbstractContextManager[Work]]


class Side(NamedTuple):
    """One of the things that are compared.

    Args:
        name: what it is, for the table.
        opened: prepares one sample; yields the work that is timed.
        per: by how much a sample is divided: calls made, bytes read.
    """

    name: str
    opened: Opened
    per: float = 1


class Target(NamedTuple):
    """What a ratio should be."""

    sense: Literal["<=", ">="]
    bound: float

    def met(self, ratio: float) -> bool:
        """Whether a ratio is as it should be."""
        return ratio <= self.bound if self.sense == "<=" else ratio >= self.bound

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}"


class Row(NamedTuple):
    """One line of the result.

    Args:
        name: what is measured; unit: of the two amounts, "us" or "bytes".
        ratio: `amount / against`, or the inverse where the target is ">=".
        amount: of `side`. against: of `other`. target: None where the row only informs.
    """

    group: str
    name: str
    ratio: float
    target: Target | None
    unit: Literal["us", "bytes"]
    side: str
    amount: float
    other: str
    against: float

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        return None if self.target is None else self.target.met(self.ratio)


class Scale(NamedTuple):
    """How much is measured.

    Args:
        rounds: samples of a side, of work that takes microseconds. few: likewise, of work that takes long.
        shrink: by how much smaller than stated everything is; 1 but for a smoke test.
        calls: calls in one sample, where one call is too short to be timed.
    """

    rounds: int
    few: int
    shrink: int
    calls: int

    def of(self, size: int) -> int:
        """A size, shrunk."""
        return max(8, size // self.shrink)


FULL = Scale(rounds=41, few=9, shrink=1, calls=200)
QUICK = Scale(rounds=3, few=3, shrink=100, calls=10)


def at_most(bound: float) -> Target:
    """A ratio that should not be over a bound."""
    return Target("<=", bound)


def at_least(bound: float) -> Target:
    """A ratio that should not be under a bound."""
    return Target(">=", bound)


def always(work: Work) -> Opened:
    """A side that needs no preparation."""

    @contextmanager
    def opened() -> Iterator[Work]:
        yield work

    return opened


def medians(sides: Sequence[Side], rounds: int) -> list[float]:
    """The median seconds of each side, divided by its `per`. One round before the first is not counted."""
    samples: list[list[float]] = [[] for _ in sides]
    gc.collect()
    for number in range(rounds + 1):
        for side, taken in zip(sides, samples, strict=True):
            with side.opened() as work:
                start = time.perf_counter()
                kept = work()
                seconds = time.perf_counter() - start
                del kept
            if number:
                taken.append(seconds / side.per)
    return [statistics.median(taken) for taken in samples]


def row(
    group: str,
    name: str,
    side: tuple[str, float],
    other: tuple[str, float],
    target: Target | None = None,
    unit: Literal["us", "bytes"] = "us",
) -> Row:
    """A line from two named amounts: seconds, or bytes."""
    amount, against = side[1], other[1]
    ratio = against / amount if target is not None and target.sense == ">=" else amount / against
    factor = 1e6 if unit == "us" else 1
    return Row(group, name, ratio, target, unit, side[0], amount * factor, other[0], against * factor)


def compared(group: str, name: str, side: Side, other: Side, target: Target | None, rounds: int) -> Row:
    """Measure two sides, and put them into one line."""
    amount, against = medians([side, other], rounds)
    return row(group, name, (side.name, amount), (other.name, against), target)
