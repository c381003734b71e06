"""All that the tables hold, as counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy import attacks, wrong
from benchmarks.accuracy.data import ATTACKS, SUITES, Attack, Recorded, Suite, attacked, correct
from benchmarks.accuracy.judge import moments, refused
from benchmarks.accuracy.right import is_right, is_unseen_date
from benchmarks.accuracy.rows import BARE, Row, collect, rows
from citespan.core.decision import Tag
from citespan.core.leaves import wildcard

#: sources of attacks and of attackers' tools
ATTACKED = SUITES[0]


class Refusals(NamedTuple):
    """Correct calls of mutating tools, and those that are refused.

    Args:
        right: refused for a name that the run never saw. dates: of the others, for a day that it never saw.
        reads, read: correct calls of tools that only read, and those that would be refused were they enforced.
        arguments: what was refused, by argument, whether rightly, and by reason.
    """

    calls: int
    refused: int
    right: int
    dates: int
    reads: int
    read: int
    arguments: Counter[tuple[str, str, str]]


class Measured(NamedTuple):
    """Everything about one suite, by row."""

    suite: Suite
    runs: int
    tasks: int
    refusals: dict[str, Refusals]
    changes: dict[str, dict[str, Counter[str]]]


class Attacked(NamedTuple):
    """Everything about one way of attacking, by row."""

    attack: Attack
    outcomes: dict[str, attacks.Outcome]


def measure(where: Path, say: Callable[[str], None]) -> tuple[list[Measured], list[Attacked]]:
    """Learn and judge, suite by suite. Suites whose file is not there are left out."""
    suites: list[Measured] = []
    attacked_suites: list[Attacked] = []
    for suite in SUITES:
        runs = correct(where, suite)
        if not runs:
            say(f"{suite.file}: not there")
            continue
        say(f"{suite.title}: {len(runs)} runs")
        made = rows(collect(runs))
        judged = [run for run in runs if run.correct]
        suites.append(
            Measured(
                suite,
                len(judged),
                len({run.task for run in judged}),
                {row.title: refusals(judged, row) for row in made},
                {row.title: changes(judged, row) for row in made if row.title != BARE},
            )
        )
        if suite is ATTACKED:
            for attack in ATTACKS:
                found = attacked(where, attack, runs)
                if found:
                    say(f"{attack.title}: {len(found)} runs")
                    attacked_suites.append(Attacked(attack, {row.title: attacks.judge(found, row) for row in made}))
    return suites, attacked_suites


def refusals(runs: list[Recorded], row: Row) -> Refusals:
    """Judge the correct calls of a suite."""
    calls = refused_calls = right = dates = reads = read = 0
    arguments: Counter[tuple[str, str, str]] = Counter()
    for run in runs:
        for moment in moments(run.trajectory, row.books[run.fold]):
            bad = refused(moment.decision, bare=row.bare)
            if not moment.decision.mutating:
                reads += 1
                read += bool(bad)
                continue
            calls += 1
            if not bad:
                continue
            refused_calls += 1
            rights = [is_right(tag.leaf.value, run.trajectory, moment.position) for tag in bad]
            right += any(rights)
            dates += not any(rights) and any(
                is_unseen_date(tag.leaf.value, run.trajectory, moment.position) for tag in bad
            )
            for tag, is_so in zip(bad, rights, strict=True):
                name = f"{moment.call.tool}.{wildcard(tag.leaf.path)}"
                arguments[name, "rightly" if is_so else "", _why(tag)] += 1
    return Refusals(calls, refused_calls, right, dates, reads, read, arguments)


def changes(runs: list[Recorded], row: Row) -> dict[str, Counter[str]]:
    """Judge wrong arguments in the place of correct ones."""
    counts: dict[str, Counter[str]] = {one.title: Counter() for one in (wrong.GUESSES, *wrong.CHANGES)}
    for run in runs:
        for moment in moments(run.trajectory, row.books[run.fold]):
            wrong.measure(moment, (wrong.GUESSES, *wrong.CHANGES), counts)
    return counts


def _why(tag: Tag) -> str:
    found = tag.provenance
    return found.why if found.kind == "assumed" else f"kind {found.kind}"
