"""A decision's time must not grow with what the run has seen or heard (groups 2 and 6)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.data import Maker
from benchmarks.measure import Row, Scale, Side, Work, at_most, compared
from benchmarks.setting import PATIENT, inside, learn, registered
from citespan.core.user import UserText
from citespan.guard.examine import judge
from citespan.guard.ports import Tool
from citespan.guard.run import Run

GROUP = "2. a decision about 2 arguments, by leaves in the ledger"
USER_GROUP = "6. scaling"
SMALL, LARGE = 1_000, 1_000_000
FEW, MANY = 100, 10_000
RESULTS = 10

USE = Tool("open", schema={"type": "object", "properties": {"path": {"type": "string"}, "id": {"type": "string"}}})


def _path(number: int) -> str:
    return f"src/part_{number % 97}/module_{number}.py"


def _run(leaves: int) -> Run:
    """A run that has observed so many leaves, half of them paths, half of them ids, in `RESULTS` results."""
    with registered():
        run = Run(policy=PATIENT, kept=True)
        with run:
            each = max(1, leaves // RESULTS // 2)
            for start in range(0, each * RESULTS, each):
                numbers = range(start, start + each)
                learn("list", {"files": [_path(number) for number in numbers], "ids": [f"id-{n}-x" for n in numbers]})
    return run


def _decisions(name: str, run: Run, arguments: Sequence[dict[str, Any]]) -> Side:
    @contextmanager
    def opened() -> Iterator[Work]:
        with registered(), inside(run) as context:

            def work() -> None:
                for entry in arguments:
                    judge(USE, entry, context=context)

            judge(USE, arguments[0], context=context)
            yield work

    return Side(name, opened, len(arguments))


def rows(scale: Scale) -> Iterator[Row]:
    """Measure group 2."""
    sizes = [SMALL, max(SMALL, LARGE // scale.shrink)]
    runs = [_run(size) for size in sizes]
    pick = random.Random(3)
    for name, arguments_of in (("hit", _hits), ("miss", _misses)):
        few, many = (
            _decisions(f"{size:,} leaves", run, arguments_of(pick, size, scale.calls))
            for size, run in zip(sizes, runs, strict=True)
        )
        yield compared(GROUP, name, many, few, at_most(1.5), scale.rounds)


def _hits(pick: random.Random, leaves: int, calls: int) -> list[dict[str, Any]]:
    numbers = [pick.randrange(leaves // 2) for _ in range(calls)]
    return [{"path": _path(number), "id": f"id-{number}-x"} for number in numbers]


def _misses(pick: random.Random, leaves: int, calls: int) -> list[dict[str, Any]]:
    numbers = [pick.randrange(leaves) for _ in range(calls)]
    return [{"path": f"src/other/module_{number}.py", "id": f"id-{number}-y"} for number in numbers]


def user_rows(scale: Scale) -> Iterator[Row]:
    """Measure what a look-up in the user's messages costs, by how many there are."""
    counts = [scale.of(FEW), scale.of(MANY)]
    maker, pick = Maker(), random.Random(11)
    said = [_said(maker, count) for count in counts]
    looked_up: tuple[tuple[str, Callable[[int], Any]], ...] = (
        ("a name", lambda count: f"acme/web-{pick.randrange(count)}"),
        ("a number", lambda count: 51000 + pick.randrange(count)),
        ("an absent word", lambda count: f"gone-{pick.randrange(10**9)}"),
        ("an absent phrase of common words", lambda count: maker.common_phrase()),
    )
    for name, value in looked_up:
        few, many = (
            _lookups(f"{count:,} messages", text, [value(count) for _ in range(scale.calls // 2)])
            for count, text in zip(counts, said, strict=True)
        )
        label = f"a look-up in {counts[0]:,} and {counts[1]:,} messages: {name}"
        yield compared(USER_GROUP, label, many, few, at_most(1.5), scale.rounds)


def _said(maker: Maker, count: int) -> UserText:
    said = UserText()
    for number in range(count):
        said.say(maker.message(number))
    return said


def _lookups(name: str, said: UserText, values: Sequence[Any]) -> Side:
    def work() -> None:
        for value in values:
            said.cites(value)

    @contextmanager
    def opened() -> Iterator[Work]:
        said.say("")  # a new message makes it forget what it was asked
        yield work

    return Side(name, opened, len(values))
