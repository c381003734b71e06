"""The rows of the tables: the bare rule, the defaults, and what each profile learns without the fold that it judges."""

from __future__ import annotations

from typing import Final, NamedTuple

from benchmarks.accuracy.data import FOLDS, Recorded
from citespan.core.policy import Policy
from citespan.learn import Collector, Learner, Seen, render
from citespan.learn.profiles import PROFILES
from citespan.learn.tasks import keys
from citespan.policy_file import loads
from citespan.replay import AsRecorded

#: budget 0, and no run is stopped, so that every call is judged
_BOUNDS: Final = "[run]\nmax_assumed = 0\nmax_refused = 1_000_000\n"
BARE: Final = "bare rule"
NONE: Final = "no learning"
#: the profile that is judged once more with the agent's tools known
LISTED: Final = "balanced"


class Row(NamedTuple):
    """One row: its rulebook for each fold. `bare`: only a leaf that equals an observed one is accepted."""

    title: str
    books: tuple[AsRecorded, ...]
    bare: bool = False


class Learned(NamedTuple):
    """What the correct runs of a suite showed, collected once and learned from by fold."""

    runs: list[Recorded]
    seen: list[Seen]
    shared: list[list[bytes]]


def collect(runs: list[Recorded]) -> Learned:
    """Judge every correct run once."""
    collector = Collector()
    return Learned(runs, [collector.see(run.trajectory) for run in runs], [list(keys(run.trajectory)) for run in runs])


def policy_text(learned: Learned, profile: str, fold: int | None, *, listed: bool = False) -> str:
    """The policy that all runs but those of a fold teach.

    Args:
        listed: whether the learner is shown which tools the runs of the fold have, too: their schemas, no call.
    """
    learner = Learner()
    for run, seen, shared in zip(learned.runs, learned.seen, learned.shared, strict=True):
        if run.fold != fold:
            learner.take(seen, learner.tasks.join(shared))
        elif listed:
            learner.offer(seen)
    return render(learner.draft(profile))  # type: ignore[arg-type]


def rows(learned: Learned) -> list[Row]:
    """All rows for a suite."""
    bare = AsRecorded(
        Policy(accept=frozenset({"observed"}), allow=frozenset(), run_max_assumed=0, run_max_refused=10**9)
    )
    none = AsRecorded(loads(f"version = 1\n{_BOUNDS}"))
    found = [Row(BARE, (bare,) * FOLDS, True), Row(NONE, (none,) * FOLDS)]
    found.extend(_row(learned, profile) for profile in PROFILES)
    found.append(_row(learned, LISTED, listed=True))
    return found


def _row(learned: Learned, profile: str, *, listed: bool = False) -> Row:
    books = []
    for fold in range(FOLDS):
        text = policy_text(learned, profile, fold, listed=listed)
        text = text.replace("version = 1\n", f"version = 1\n{_BOUNDS}", 1)
        books.append(AsRecorded(loads(text, f"learned without fold {fold}")))
    return Row(f"{profile}, tools listed" if listed else profile, tuple(books))
