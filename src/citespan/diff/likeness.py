"""How much two calls are alike: the tool first, then the arguments.

What only one side knows says nothing: a span names no server, a recording has no digests, and digests compare within
one key. So what is comparable is settled once for two runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from citespan.diff.model import ArgumentFacts, Entry, Run

#: what it is worth that two calls are of one tool, and, beyond that, that all of their arguments are alike: so that two
#: equal calls and a new one are worth more than three changed ones
TOOL: Final = 40
ARGUMENTS: Final = 80
STATUS: Final = 2
#: parts of one argument's likeness, of 10
_SAME_KIND, _SAME_SOURCE, _SAME_PROJECTION, _SAME_STRENGTH = 5, 3, 1, 1
#: at least, and at most, where the digests say whether the values are equal
_SAME_VALUE, _OTHER_VALUE = 7, 3
_SOURCED: Final = frozenset({"observed", "derived"})

Key = tuple[Hashable, ...]


class Likeness:
    """Compares calls of two runs.

    Args:
        a, b: the runs; which is which makes no difference.
    """

    def __init__(self, a: Run, b: Run) -> None:
        self._digest_keys = {each.digest_key for each in a.entries} & {each.digest_key for each in b.entries} - {""}
        self._servers = any(each.server for each in a.entries) and any(each.server for each in b.entries)

    def tool(self, entry: Entry) -> tuple[str, str]:
        """What two calls must share to be compared at all."""
        return entry.tool, entry.server if self._servers else ""

    def key(self, entry: Entry) -> Key:
        """The tool and its arguments: equal for calls that are told apart by nothing but when they were made."""
        digests = self._digests(entry)
        return (
            *self.tool(entry),
            tuple(
                (each.name, each.kind, each.weak, *_source(each), digest)
                for each, digest in zip(entry.arguments, digests, strict=True)
            ),
        )

    def score(self, a: Entry, b: Entry) -> int:
        """0 for calls of two tools, else from `TOOL` on."""
        if self.tool(a) != self.tool(b):
            return 0
        return TOOL + self._arguments(a, b) + (STATUS if a.status == b.status else 0)

    def _arguments(self, a: Entry, b: Entry) -> int:
        if not a.arguments and not b.arguments:
            return ARGUMENTS
        ours = {each.name: (each, digest) for each, digest in zip(a.arguments, self._digests(a), strict=True)}
        theirs = {each.name: (each, digest) for each, digest in zip(b.arguments, self._digests(b), strict=True)}
        names = ours.keys() | theirs.keys()
        total = sum(_alike(*ours[name], *theirs[name]) for name in ours.keys() & theirs.keys())
        return ARGUMENTS * total // (10 * len(names))

    def _digests(self, entry: Entry) -> tuple[str, ...]:
        return entry.digests if entry.digest_key in self._digest_keys else ("",) * len(entry.digests)


def _source(facts: ArgumentFacts) -> tuple[str, str]:
    """Where an observation is cited from. An evidence file does not say where a user's value stands."""
    return (facts.source, facts.projection) if facts.kind in _SOURCED else ("", "")


def _alike(a: ArgumentFacts, digest_a: str, b: ArgumentFacts, digest_b: str) -> int:
    alike = 0
    if a.kind == b.kind:
        (source_a, projection_a), (source_b, projection_b) = _source(a), _source(b)
        alike = _SAME_KIND
        alike += _SAME_SOURCE if source_a == source_b else 0
        alike += _SAME_PROJECTION if projection_a == projection_b else 0
        alike += _SAME_STRENGTH if a.weak == b.weak else 0
    if digest_a and digest_b:
        return max(alike, _SAME_VALUE) if digest_a == digest_b else min(alike, _OTHER_VALUE)
    return alike
