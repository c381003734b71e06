"""What grows with a run must grow in proportion: calls, text, messages (group 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import citespan
from benchmarks import decisions
from benchmarks.data import Maker
from benchmarks.measure import Row, Scale, Side, Work, at_most, compared, medians, row
from benchmarks.setting import PATIENT, inside, registered
from citespan.core.decision import Decision
from citespan.core.policy import Policy, ToolRule
from citespan.guard.examine import judge
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

GROUP = decisions.USER_GROUP
#: calls in one run; each number is compared with the one before it
LENGTHS = (200, 500, 5_000)
SMALL_TEXT, LARGE_TEXT = 1_000_000, 8_000_000
PROJECTIONS = ("lines", "paths", "tokens")
USE = Tool("use", schema={"type": "object", "properties": {"value": {"type": "string"}}})


def work_on(item: str, repository: str, comment: str = "") -> dict[str, str]:
    """Return the next item, with the repository that every result repeats."""
    number = int(item.rpartition("-")[2]) + 1
    return {"item": f"item-{number}", "repository": repository, "state": "open"}


def refused(item: str) -> None:
    """Never runs: its argument is made up."""


def _conversation(calls: int, arguments: Callable[[str, int], dict[str, Any]]) -> Side:
    """One run in which each call cites the result of the call before it."""
    with registered():
        tool = citespan.tool(work_on)

    @contextmanager
    def opened() -> Iterator[Work]:
        run = Run(policy=PATIENT, kept=True)
        run.user("Please work on all items from item-1 on, in acme/web.")

        def work() -> Run:
            item = "item-1"
            for number in range(calls):
                item = tool(**arguments(item, number))["item"]
            return run

        with registered(), inside(run):
            yield work

    return Side(f"{calls:,} calls", opened, calls)


def _refusals(calls: int) -> Side:
    """One run in which every call is refused."""
    with registered():
        tool = citespan.tool(refused)

    @contextmanager
    def opened() -> Iterator[Work]:
        run = Run(policy=PATIENT, kept=True)

        def work() -> Run:
            for number in range(calls):
                try:
                    tool(item=f"made-up-{number}")
                except citespan.ProvenanceDenied:
                    continue
                raise RuntimeError("a made-up argument was let through")
            return run

        with registered(), inside(run):
            yield work

    return Side(f"{calls:,} calls", opened, calls)


def _text(text: str) -> Side:
    """Keep a text and decide about a call that cites one of its lines."""
    policy = Policy(tools={"read_log": ToolRule(text=PROJECTIONS)})
    line = text.splitlines()[-2]

    @contextmanager
    def opened() -> Iterator[Work]:
        run = Run(policy=policy, kept=True)
        with registered(), inside(run) as context:
            ticket = begin(Tool("read_log"), {})

            def work() -> Decision:
                ticket.finish({"text": text})
                decision = judge(USE, {"value": line}, context=context)
                if decision.deny:
                    raise RuntimeError("a line of the text is not cited")
                return decision

            yield work

    return Side(f"{len(text) / 1e6:.2g} MB", opened, len(text) / 1000)


def rows(scale: Scale) -> Iterator[Row]:
    """Measure group 6."""
    lengths = [max(5, length // min(scale.shrink, 10)) for length in LENGTHS]
    kinds: tuple[tuple[str, Callable[[int], Side]], ...] = (
        ("each cites the one before", lambda calls: _conversation(calls, _cited)),
        ("the same, each with a comment", lambda calls: _conversation(calls, _commented)),
        ("each is refused", _refusals),
    )
    for name, side in kinds:
        sides = [side(length) for length in lengths]
        taken = [(entry.name, seconds) for entry, seconds in zip(sides, medians(sides, scale.few), strict=True)]
        for (few, many), (less, more) in zip(pairwise(lengths), pairwise(taken), strict=True):
            yield row(GROUP, f"a call in a run of {few:,} and {many:,}: {name}", more, less, at_most(1.3))
    maker = Maker()
    small, large = (_text(maker.log(scale.of(size))) for size in (SMALL_TEXT, LARGE_TEXT))
    yield compared(GROUP, "a kB of text: lines, paths, tokens", large, small, at_most(1.5), scale.few)
    yield from decisions.user_rows(scale)


def _cited(item: str, number: int) -> dict[str, Any]:
    return {"item": item, "repository": "acme/web"}


def _commented(item: str, number: int) -> dict[str, Any]:
    return {"item": item, "repository": "acme/web", "comment": f"step {number} of the work, nothing else was open"}
