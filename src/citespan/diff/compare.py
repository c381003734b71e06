"""Two files' runs in, the whole comparison out."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from citespan.calls.model import TROUBLE, Verdict
from citespan.diff.align import align
from citespan.diff.changes import changes
from citespan.diff.likeness import Likeness
from citespan.diff.model import Change, Diff, Entry, Op, Run, RunDiff, Step, Trend
from citespan.diff.pairing import Paired, pair


def compare(a: Sequence[Run], b: Sequence[Run]) -> Diff:
    """Pair the runs, align the calls of each pair, and compare call with call.

    Example:
        `compare(collect(read_calls("good.jsonl"), "A"), collect(read_calls("bad.jsonl"), "B")).summary.worse`
    """
    pairs, only_a, only_b = pair(a, b)
    bad = _bad([*a, *b])
    return Diff(tuple(_run(paired, bad) for paired in pairs), tuple(only_a), tuple(only_b), bad)


def _bad(runs: Sequence[Run]) -> frozenset[Verdict]:
    """The verdicts of calls that should not be there; that nobody judged a call is one where others were judged."""
    judged = any(entry.status != "none" for run in runs for entry in run.entries)
    return frozenset(TROUBLE) | ({"none"} if judged else set())


def _run(paired: Paired, bad: Set[Verdict]) -> RunDiff:
    a, b = paired.a, paired.b
    pairs, moved = align(a, b)
    likeness = Likeness(a, b)
    partner = {j: i for i, j in pairs}
    elsewhere = {j: i for i, j in moved}
    gone = iter(sorted(set(range(len(a.entries))) - set(partner.values()) - set(elsewhere.values())))
    again_a, again_b = _Repeats(likeness, a), _Repeats(likeness, b)
    steps: list[Step] = []
    waiting = next(gone, None)
    for j, entry in enumerate(b.entries):
        i = partner.get(j)
        if i is None:
            if j in elsewhere:
                steps.append(_moved(elsewhere[j], j, a, b))
            else:
                steps.append(Step("added", None, j, (), again_b.of(j), "worse" if entry.is_bad(bad) else "same"))
            continue
        # what is gone stands before the pair that it stood before, and before what came in its place
        at = len(steps)
        while at and steps[at - 1].op in {"added", "moved"}:
            at -= 1
        lost = []
        while waiting is not None and waiting < i:
            lost.append(_removed(waiting, a, again_a, bad))
            waiting = next(gone, None)
        steps[at:at] = lost
        found = changes(a.entries[i], entry)
        steps.append(Step("changed" if found else "same", i, j, found, None, _worst(found)))
    at = len(steps)
    while at and steps[at - 1].op in {"added", "moved"}:
        at -= 1
    steps[at:at] = [_removed(i, a, again_a, bad) for i in ([] if waiting is None else [waiting, *gone])]
    return RunDiff(a, b, paired.by, tuple(steps))


def _removed(i: int, run: Run, again: _Repeats, bad: Set[Verdict]) -> Step:
    trend: Trend = "better" if run.entries[i].is_bad(bad) else "same"
    return Step("removed", i, None, (), again.of(i), trend)


def _moved(i: int, j: int, a: Run, b: Run) -> Step:
    found = changes(a.entries[i], b.entries[j])
    op: Op = "moved"
    return Step(op, i, j, found, None, _worst(found))


def _worst(found: tuple[Change, ...]) -> Trend:
    trends = {change.trend for change in found}
    return "worse" if "worse" in trends else "better" if "better" in trends else "same"


class _Repeats:
    """For each call the first one of its run with the same tool and arguments."""

    def __init__(self, likeness: Likeness, run: Run) -> None:
        self._likeness = likeness
        self._entries: tuple[Entry, ...] = run.entries
        self._first: dict[Any, int] = {}
        for index, entry in enumerate(run.entries):
            self._first.setdefault(likeness.key(entry), index)

    def of(self, index: int) -> int | None:
        first = self._first[self._likeness.key(self._entries[index])]
        return first if first != index else None
