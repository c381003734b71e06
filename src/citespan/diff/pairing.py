"""Which run of B is which run of A: by its id, else the n-th of the same agent, else the n-th of what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from citespan.diff.model import PairedBy, Run


class Paired(NamedTuple):
    """Two runs that belong together, and why."""

    a: Run
    b: Run
    by: PairedBy


#: in this order; what has no name by one of them waits for the next
_NAMES: Final[tuple[tuple[PairedBy, Callable[[Run], str | None]], ...]] = (
    ("id", lambda run: run.id or None),
    ("agent", lambda run: run.agent or None),
    ("order", lambda run: ""),
)


def pair(a: Sequence[Run], b: Sequence[Run]) -> tuple[list[Paired], list[Run], list[Run]]:
    """The pairs in the order of A, then the runs that only A has, then those that only B has.

    Example:
        `pairs, only_a, only_b = pair(runs_a, runs_b)`
    """
    found: dict[int, Paired] = {}
    taken: set[int] = set()
    for by, name_of in _NAMES:
        waiting: dict[str, list[int]] = {}
        for j in reversed(range(len(b))):
            name = name_of(b[j])
            if j not in taken and name is not None:
                waiting.setdefault(name, []).append(j)
        for i, run in enumerate(a):
            name = name_of(run)
            if i not in found and name is not None and waiting.get(name):
                j = waiting[name].pop()
                found[i] = Paired(run, b[j], by)
                taken.add(j)
    return (
        [found[i] for i in sorted(found)],
        [run for i, run in enumerate(a) if i not in found],
        [run for j, run in enumerate(b) if j not in taken],
    )
