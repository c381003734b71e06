"""The other arguments of a call, as a computation of one of them may use them (`derive`, `total`).

Each is judged by itself, without its own computations: what is computed is no operand of anything else in its call,
so there is no order among arguments, and no circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from citespan.core.kinds import Provenance
from citespan.core.leaves import Leaf, Path, Step, wildcard
from citespan.core.places import Place

T = TypeVar("T")

#: arguments that one computation takes; of a call with more, nothing is computed
MAX_SIBLINGS: Final = 64


class Siblings:
    """The leaves of a call, by pattern, and what each of them cites. Everything is found once, when it is asked for.

    Args:
        leaves: those that vouch for something: no commentary, no keys.
        judge: the kind of a leaf, its computations left out. citing: the places that a leaf cites.
    """

    __slots__ = ("_citing", "_judge", "_judged", "_leaves", "_patterns", "_remembered")

    def __init__(
        self,
        leaves: Iterable[Leaf],
        judge: Callable[[Leaf], Provenance],
        citing: Callable[[Leaf], list[Place]],
    ) -> None:
        self._leaves = leaves
        self._judge = judge
        self._citing = citing
        self._patterns: dict[str, list[Leaf]] | None = None
        self._judged: dict[Path, Provenance] = {}
        self._remembered: dict[Any, Any] = {}

    def named(self, pattern: str) -> list[Leaf]:
        """The leaves of a pattern (`flights.*.number`), in order."""
        return self._by_pattern().get(pattern, [])

    def judged(self, leaf: Leaf) -> Provenance:
        """The kind of a leaf by itself."""
        found = self._judged.get(leaf.path)
        if found is None:
            found = self._judged[leaf.path] = self._judge(leaf)
        return found

    def vouched(self, leaf: Leaf) -> bool:
        """Whether a result or the user vouches for a leaf by itself."""
        return self.judged(leaf).kind in {"observed", "user"}

    def places(self, leaf: Leaf) -> list[Place]:
        """The places that a leaf cites, oldest first."""
        return self._citing(leaf)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What is the same for every leaf of the call, made when it is first asked for."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: T = self._remembered[key]
        return found

    def members(self, name: str) -> list[list[Leaf]]:
        """The leaves of each member of a list; none where no argument of this name is a list with members."""
        depth = name.count(".") + 1
        found: dict[Step, list[Leaf]] = {}
        for pattern, leaves in self._by_pattern().items():
            if pattern == f"{name}.*" or pattern.startswith(f"{name}.*."):
                for leaf in leaves:
                    if len(leaf.path) > depth and type(leaf.path[depth]) is int:
                        found.setdefault(leaf.path[depth], []).append(leaf)
        return list(found.values())

    def patterns(self) -> Iterable[str]:
        """All patterns."""
        return self._by_pattern()

    def _by_pattern(self) -> dict[str, list[Leaf]]:
        if self._patterns is None:
            self._patterns = {}
            for leaf in self._leaves:
                self._patterns.setdefault(wildcard(leaf.path), []).append(leaf)
        return self._patterns


class Others(NamedTuple):
    """The siblings of one leaf."""

    siblings: Siblings
    path: Path

    def named(self, pattern: str) -> list[Leaf] | None:
        """The other leaves of a pattern; None where there are more than `MAX_SIBLINGS`."""
        leaves = self.siblings.named(pattern)
        if len(leaves) > MAX_SIBLINGS:
            return None
        return [leaf for leaf in leaves if leaf.path != self.path]

    def all(self, pattern: str) -> bool:
        """Whether a pattern has leaves, not too many, and none of them is this one."""
        leaves = self.siblings.named(pattern)
        return 0 < len(leaves) <= MAX_SIBLINGS and all(leaf.path != self.path for leaf in leaves)
