"""What is compared, and what a comparison finds: frozen values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from itertools import repeat
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.calls.model import TROUBLE, Verdict
from citespan.core.kinds import Kind

#: "same": neither, as where only a source is another one
Trend: TypeAlias = Literal["worse", "better", "same"]
What: TypeAlias = Literal["kind", "source_tool", "source_field", "projection", "weak", "status", "added", "removed"]
Op: TypeAlias = Literal["same", "changed", "added", "removed", "moved"]
PairedBy: TypeAlias = Literal["id", "agent", "order"]

#: verdicts, the best first; what lost its verdict stands between those that passed and those that did not
VERDICTS: Final[tuple[Verdict, ...]] = ("ok", "within", "none", "flagged", "unguarded", "error", "blocked")

#: the same from the other side
MIRRORED: Final[dict[Trend, Trend]] = {"worse": "better", "better": "worse", "same": "same"}


class LeafFacts(NamedTuple):
    """The leaves of an argument that share one pattern (`files.*`).

    Args:
        kind: of the worst of them. sources, projections: of those that cite a tool, sorted, each once; indexes as `*`.
    """

    path: str
    kind: Kind
    sources: tuple[str, ...]
    projections: tuple[str, ...]


class ArgumentFacts(NamedTuple):
    """One argument as it is compared.

    Args:
        source_tool: "" for kind `user`, and where nothing is known. source: tool and field, indexes as `*`.
        leaves: by pattern, where it has several leaves.
    """

    name: str
    kind: Kind
    source_tool: str
    source: str
    projection: str
    weak: bool
    leaves: tuple[LeafFacts, ...]


class Entry(NamedTuple):
    """One call as it is compared.

    Args:
        arguments: by name. digests: of each of them, "" for none; they compare within one `digest_key`.
        uncited: patterns of the leaves that took from the budget.
        partial: what the file had no room for: "arguments", "leaves", "sources".
        place: where it was read, `file:line`. ids: trace, span and parent span.
        start, end: nanoseconds since 1970.
    """

    tool: str
    server: str
    status: Verdict
    arguments: tuple[ArgumentFacts, ...]
    digests: tuple[str, ...]
    digest_key: str
    uncited: tuple[str, ...]
    partial: frozenset[str]
    place: str
    ids: tuple[str, str, str]
    start: int
    end: int = 0

    @property
    def name(self) -> str:
        """`server/tool` where the server is known."""
        return f"{self.server}/{self.tool}" if self.server else self.tool

    def is_bad(self, bad: Set[Verdict]) -> bool:
        """Whether it is worse to have the call than not: it took from the budget, or its verdict is one of `bad`."""
        return bool(self.uncited) or self.status in bad


class Run(NamedTuple):
    """The calls of one run, in order.

    Args:
        id: of the conversation, else of the trace; "" where the file has neither. agent: its name, "" where unknown.
    """

    id: str
    agent: str
    entries: tuple[Entry, ...]


class Change(NamedTuple):
    """One thing that is different about a call.

    Args:
        path: the argument, or pattern of its leaves; "" for the call itself (its status).
        before, after: in words: kinds, sources, projections, verdicts; "" for what is not there.
        before_source, after_source: where a kind changed, what it was cited from.
    """

    path: str
    what: What
    before: str
    after: str
    trend: Trend
    before_source: str = ""
    after_source: str = ""


class Step(NamedTuple):
    """One line of the comparison of two runs.

    Args:
        a, b: index of the call in its run, None for none.
        repeats: of a call that only one run has: index in that run of an earlier one with the same tool and arguments.
        trend: of the call as a whole: "worse" where anything got worse.
    """

    op: Op
    a: int | None
    b: int | None
    changes: tuple[Change, ...] = ()
    repeats: int | None = None
    trend: Trend = "same"


class RunDiff(NamedTuple):
    """Two runs that belong together; see `citespan.diff.pairing`."""

    a: Run
    b: Run
    paired_by: PairedBy
    steps: tuple[Step, ...]

    def entry(self, step: Step) -> Entry:
        """The call of a step, the one of B where there are two."""
        if step.b is not None:
            return self.b.entries[step.b]
        assert step.a is not None  # a step has one call at least
        return self.a.entries[step.a]


class Summary(NamedTuple):
    """Counts over all runs.

    Args:
        calls: how many of each `Op`. changes: how many of each `What`.
        worse, better: how many single things got so: changes, and calls with uncited arguments that came or went.
        runs: how many were compared. only_a, only_b: how many were not.
    """

    calls: dict[str, int]
    changes: dict[str, int]
    worse: int
    better: int
    runs: int
    only_a: int
    only_b: int


class Diff(NamedTuple):
    """All of a comparison: the runs that belong together, and those that only one file has.

    Args:
        bad: verdicts that make a call that came, or went, worse or better; `none` too, where other calls have one.
    """

    runs: tuple[RunDiff, ...]
    only_a: tuple[Run, ...]
    only_b: tuple[Run, ...]
    bad: Set[Verdict] = frozenset(TROUBLE)

    def trends(self) -> Iterator[Trend]:
        """The trend of each single finding: of changes, and of calls that only one side has."""
        for run in self.runs:
            for step in run.steps:
                if step.a is None or step.b is None:
                    yield step.trend
                for change in step.changes:
                    yield change.trend
        lost = sum(entry.is_bad(self.bad) for only in self.only_a for entry in only.entries)
        new = sum(entry.is_bad(self.bad) for only in self.only_b for entry in only.entries)
        yield from repeat("better", lost)
        yield from repeat("worse", new)

    @property
    def summary(self) -> Summary:
        """The counts."""
        steps = [step for run in self.runs for step in run.steps]
        trends = Counter(self.trends())
        return Summary(
            calls=dict(Counter(step.op for step in steps)),
            changes=dict(Counter(change.what for step in steps for change in step.changes)),
            worse=trends["worse"],
            better=trends["better"],
            runs=len(self.runs),
            only_a=len(self.only_a),
            only_b=len(self.only_b),
        )
