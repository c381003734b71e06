"""What a replay found, for a person: one table for all files, then the reasons for refusals, most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from citespan.core.decision import Tag, count_kinds
from citespan.core.kinds import KINDS, REASONS
from citespan.core.leaves import wildcard
from citespan.replay.judge import Judged

#: reasons shown per file
MAX_SHOWN: Final = 20
#: reasons counted apart per file; tools and arguments that come later are counted together
MAX_REASONS: Final = 10_000
_MAX_NAME: Final = 80
_ELSEWHERE: Final = ("", "in further tools and arguments")


class First(NamedTuple):
    """Where a reason was met first."""

    trajectory: str
    call: int


class Tally:
    """Counts over one file.

    Args:
        name: of the file, as it was given.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.trajectories = 0
        self.bad = 0
        self.stopped = 0
        self._stopped = False
        self.statuses: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.mutating = 0
        self.mutating_refused = 0
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], First] = {}

    @property
    def calls(self) -> int:
        """All judged calls."""
        return self.statuses.total()

    @property
    def blocked(self) -> int:
        """Calls that would not have run."""
        return self.statuses["blocked"]

    def begin(self) -> None:
        """Count a trajectory; its calls follow."""
        self.trajectories += 1
        self._stopped = False

    def add(self, judged: Judged) -> None:
        """Count a call of the trajectory that was begun last."""
        decision = judged.decision
        self.statuses[decision.status] += 1
        self.kinds.update(count_kinds(decision.tags))
        if decision.mutating:
            self.mutating += 1
            self.mutating_refused += decision.deny
        if decision.deny:
            self._count_reasons(judged)
            if decision.abort and not self._stopped:
                self._stopped = True
                self.stopped += 1

    def _count_reasons(self, judged: Judged) -> None:
        decision = judged.decision
        tool = judged.call.tool
        found = {(f"{tool}.{wildcard(tag.leaf.exported)}", why(tag)): None for tag in decision.counted}
        for violation in decision.violations:
            if violation.rule in {"guard", "run_budget"}:
                found[tool, violation.text] = None
        for reason in found:
            key = reason if reason in self.first or len(self.first) < MAX_REASONS else _ELSEWHERE
            self.reasons[key] += 1
            self.first.setdefault(key, First(judged.trajectory.id, judged.position))


def why(tag: Tag) -> str:
    """Why a leaf counted, in words; carries no value."""
    provenance = tag.provenance
    if provenance.kind == "assumed":
        return REASONS[provenance.why]
    return f"its kind, {provenance.kind}, is not accepted here"


def render(tallies: Sequence[Tally]) -> str:
    """The whole summary as text that ends with a line break.

    Args:
        tallies: one per file, in order.
    """
    optional: dict[str, bool] = {
        "bad lines": any(tally.bad for tally in tallies),
        "errors": any(tally.statuses["error"] for tally in tallies),
        **{kind: any(tally.kinds[kind] for tally in tallies) for kind in KINDS},
    }
    rows = [_row(tally) for tally in tallies]
    if len(tallies) > 1:
        rows.append(_row(_total(tallies)))
    shown = [heading for heading in rows[0] if optional.get(heading, True)]
    blocks = [_aligned([shown, *([row[heading] for heading in shown] for row in rows)])]
    blocks.extend(_refusals(tally) for tally in tallies if tally.reasons)
    return "\n".join(blocks)


def _row(tally: Tally) -> dict[str, str]:
    """One row by its headings."""
    refused = f"{tally.mutating_refused}/{tally.mutating}"
    if tally.mutating:
        refused += f" {100 * tally.mutating_refused / tally.mutating:5.1f} %"
    return {
        "file": printable(tally.name),
        "runs": str(tally.trajectories),
        "bad lines": str(tally.bad),
        "calls": str(tally.calls),
        "blocked": str(tally.blocked),
        "flagged": str(tally.statuses["flagged"]),
        "errors": str(tally.statuses["error"]),
        "mutating refused": refused,
        **{kind: str(tally.kinds[kind]) for kind in KINDS},
    }


def _total(tallies: Sequence[Tally]) -> Tally:
    total = Tally("total")
    for tally in tallies:
        total.trajectories += tally.trajectories
        total.bad += tally.bad
        total.statuses.update(tally.statuses)
        total.kinds.update(tally.kinds)
        total.mutating += tally.mutating
        total.mutating_refused += tally.mutating_refused
    return total


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _refusals(tally: Tally) -> str:
    lines = [f"Refused in {printable(tally.name)}, by reason (a call may have several):"]
    for (where, reason), number in tally.reasons.most_common(MAX_SHOWN):
        first = tally.first[where, reason]
        place = f"{printable(where)}: " if where else ""
        lines.append(
            f"{number:7} x {place}{printable(reason)} (first: {printable(first.trajectory)}, call {first.call})"
        )
    hidden = len(tally.reasons) - MAX_SHOWN
    if hidden > 0:
        left = tally.reasons.total() - sum(number for _, number in tally.reasons.most_common(MAX_SHOWN))
        lines.append(f"{left:7} x for {hidden} further reasons")
    if tally.stopped:
        runs = "1 run" if tally.stopped == 1 else f"{tally.stopped} runs"
        lines.append(f'{runs} would have been stopped by a refusal (max_refused, or on_violation = "abort")')
    return "\n".join(lines) + "\n"


def printable(text: str) -> str:
    """A text out of the file, cut and fit for a terminal.

    Example:
        >>> printable("a\\x1b[31m")
        'a?[31m'
    """
    cut = text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 3]}..."
    return "".join(char if char.isprintable() else "?" for char in cut)
