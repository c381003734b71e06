"""The calls of two runs, aligned as sequences.

1. What both runs begin and end with is equal.
2. A stretch of at most `MAX_CELLS` pairs of calls is aligned by scores (Needleman-Wunsch without a cost for gaps).
3. A longer one is cut first: along a longest common subsequence of equal calls, then, in what is left between them and
   still too long, of equal tools.
4. Of what is left over, calls of the same tool with equal arguments are the same call at another place: moved.

The result is the same whichever run is called A, with its sides exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from citespan.diff.lcs import common
from citespan.diff.likeness import Likeness
from citespan.diff.model import Entry, Run

#: of one stretch; a second at most
MAX_CELLS: Final = 160_000


class Aligned(NamedTuple):
    """Index pairs, ascending in both runs, and those of calls that moved, ascending in B."""

    pairs: list[tuple[int, int]]
    moved: list[tuple[int, int]]


def align(a: Run, b: Run) -> Aligned:
    """Which call of B is which call of A. A call without a partner was removed, or added.

    Example:
        `align(good, bad).pairs` is `[(0, 0), (2, 1)]` where the second call of A is gone.
    """
    likeness = Likeness(a, b)
    keys_a = [likeness.key(entry) for entry in a.entries]
    keys_b = [likeness.key(entry) for entry in b.entries]
    if _order(a, keys_a) <= _order(b, keys_b):
        pairs = _Aligner(a.entries, keys_a, b.entries, keys_b, likeness).pairs()
    else:
        turned = _Aligner(b.entries, keys_b, a.entries, keys_a, likeness).pairs()
        pairs = [(i, j) for j, i in turned]
    return Aligned(pairs, _moved(pairs, keys_a, keys_b))


def _order(run: Run, keys: Sequence[Any]) -> tuple[Any, ...]:
    return len(keys), keys, [entry.status for entry in run.entries]


class _Aligner:
    def __init__(
        self, a: Sequence[Entry], keys_a: Sequence[Any], b: Sequence[Entry], keys_b: Sequence[Any], likeness: Likeness
    ) -> None:
        self._a, self._b, self._likeness = a, b, likeness
        numbers: dict[Any, int] = {}
        self._keys_a = [numbers.setdefault(key, len(numbers)) for key in keys_a]
        self._keys_b = [numbers.setdefault(key, len(numbers)) for key in keys_b]
        self._tools_a = [numbers.setdefault(likeness.tool(entry), len(numbers)) for entry in a]
        self._tools_b = [numbers.setdefault(likeness.tool(entry), len(numbers)) for entry in b]
        self._scores: dict[tuple[int, int, bool], int] = {}

    def pairs(self) -> list[tuple[int, int]]:
        rows = ((self._keys_a, self._keys_b), (self._tools_a, self._tools_b))
        return self._stretch((0, len(self._a)), (0, len(self._b)), rows)

    def _stretch(
        self, a: tuple[int, int], b: tuple[int, int], rows: tuple[tuple[list[int], list[int]], ...]
    ) -> list[tuple[int, int]]:
        """The pairs of a stretch of each run; `rows` by which it may still be cut."""
        (start_a, end_a), (start_b, end_b) = a, b
        if start_a == end_a or start_b == end_b:
            return []
        if (end_a - start_a) * (end_b - start_b) <= MAX_CELLS:
            return self._scored(a, b)
        if not rows:
            return []
        row_a, row_b = rows[0]
        anchors = [(start_a + i, start_b + j) for i, j in common(row_a[start_a:end_a], row_b[start_b:end_b])]
        found = []
        for i, j in [*anchors, (end_a, end_b)]:
            found += self._stretch((start_a, i), (start_b, j), rows[1:])
            if (i, j) != (end_a, end_b):
                found.append((i, j))
            start_a, start_b = i + 1, j + 1
        return found

    def _scored(self, a: tuple[int, int], b: tuple[int, int]) -> list[tuple[int, int]]:
        """The best total of scores; of equal ones that which pairs the earliest calls."""
        (start_a, end_a), (start_b, end_b) = a, b
        width = end_b - start_b
        row = [0] * (width + 1)
        rows = [row]
        for i in range(start_a, end_a):
            above, row, left = row, [0] * (width + 1), 0
            tool = self._tools_a[i]
            for column in range(width):
                best = left if left > above[column + 1] else above[column + 1]
                if self._tools_b[start_b + column] == tool:
                    best = max(best, above[column] + self._score(i, start_b + column))
                row[column + 1] = left = best
            rows.append(row)
        pairs = []
        i, j = end_a - start_a, width
        while i and j:
            if rows[i][j] == rows[i - 1][j]:
                i -= 1
            elif rows[i][j] == rows[i][j - 1]:
                j -= 1
            else:
                i, j = i - 1, j - 1
                pairs.append((start_a + i, start_b + j))
        return pairs[::-1]

    def _score(self, i: int, j: int) -> int:
        one, other = self._a[i], self._b[j]
        at = (self._keys_a[i], self._keys_b[j], one.status == other.status)
        found = self._scores.get(at)
        if found is None:
            if len(self._scores) > 2 * MAX_CELLS:
                self._scores.clear()
            found = self._scores[at] = self._likeness.score(one, other)
        return found


def _moved(pairs: list[tuple[int, int]], keys_a: Sequence[Any], keys_b: Sequence[Any]) -> list[tuple[int, int]]:
    ours, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
    left: dict[Any, list[int]] = {}
    for i in reversed(range(len(keys_a))):
        if i not in ours:
            left.setdefault(keys_a[i], []).append(i)
    return [(left[key].pop(), j) for j, key in enumerate(keys_b) if j not in theirs and left.get(key)]
