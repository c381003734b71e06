"""Ratios of two sides, measured in one run: A B A B, one sample of each per round, medians over the rounds.

The garbage collector stays on. The clock is the process's CPU time, all threads and the kernel's part included: on a
busy machine wall-clock time favours whatever is short enough to fit into one slice of the scheduler. A side prepares
itself, and is cleared away, outside its timed region.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Literal, NamedTuple, TypeAlias

#: what is timed; what it returns is kept until the sample is over, so that freeing it is not timed
Work: TypeAlias = Callable[[], object]
Opened: TypeAlias = Callable[[], AbstractContextManager[Work]]

FEWEST: Final = 3
LONGEST: Final = 15.0


class Side(NamedTuple):
    """One of the things that are compared.

    Args:
        name: what it is, for the table.
        opened: prepares one sample; yields the work that is timed.
        per: by how much a sample is divided: calls made, kilobytes read.
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
        name: what is measured. target: None where the row only informs.
        unit: of `amount`, which is `side`'s, and of `against`, which is `other`'s: "us" or "bytes".
    """

    group: str
    name: str
    target: Target | None
    unit: Literal["us", "bytes"]
    side: str
    amount: float
    other: str
    against: float

    @property
    def ratio(self) -> float:
        """How many times `against` the amount is."""
        return self.amount / self.against

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


FULL = Scale(rounds=41, few=7, shrink=1, calls=200)
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
    """The median CPU seconds of each side, divided by its `per`.

    One round before the first is not counted. What takes long stops after `LONGEST` seconds, but not before `FEWEST`
    rounds.
    """
    samples: list[list[float]] = [[] for _ in sides]
    gc.collect()
    begun = time.perf_counter()
    for number in range(rounds + 1):
        if number > FEWEST and time.perf_counter() - begun > LONGEST:
            break
        for side, taken in zip(sides, samples, strict=True):
            with side.opened() as work:
                start = time.process_time()
                kept = work()
                seconds = time.process_time() - start
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
    factor = 1e6 if unit == "us" else 1
    return Row(group, name, target, unit, side[0], side[1] * factor, other[0], other[1] * factor)


def compared(group: str, name: str, side: Side, other: Side, target: Target | None, rounds: int) -> Row:
    """Measure two sides, and put them into one line."""
    amount, against = medians([side, other], rounds)
    return row(group, name, (side.name, amount), (other.name, against), target)
