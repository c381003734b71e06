"""Which recorded runs are near-copies: a value seen in four runs of one task was seen once.

Two runs are of one task if they share any of these: the `task` that the recording names (with its `suite`), a user's
message of `MIN_WORDS` words or more after folding, most of the words of everything that the user said, or the whole
sequence of calls with their arguments. Sharing is transitive. The time is linear in the text: runs are joined by keys.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from citespan.trajectories import Trajectory

#: shorter messages ("yes, please go ahead") are said in many tasks
MIN_WORDS: Final = 12
#: what the user said in a whole run is telling from so many words on
MIN_SAID: Final = 5
#: bands and rows of the sketch of all that the user said: texts that share four words out of five are joined
BANDS: Final = 8
ROWS: Final = 8
MIN_SKETCHED: Final = 12
MAX_CHARS: Final = 100_000
#: calls that a sequence must have to be telling
MIN_CALLS: Final = 3
#: keys that are kept; runs that come later are told apart by what was kept
MAX_KEYS: Final = 4_000_000
_WORDS = re.compile(r"\w+")


class Tasks:
    """Numbers runs as they come; `task` gives the same number to near-copies, and is final once all have come.

    Example:
        `number = tasks.add(trajectory)` ... `tasks.task(number)`
    """

    __slots__ = ("_keys", "_parents")

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._keys: dict[bytes, int] = {}

    def add(self, trajectory: Trajectory) -> int:
        """Take a run in; returns its own number."""
        return self.join(keys(trajectory))

    def join(self, shared: Iterable[bytes]) -> int:
        """Take a run in by its keys."""
        number = len(self._parents)
        self._parents.append(number)
        for key in shared:
            other = self._keys.get(key)
            if other is not None:
                self.same(number, other)
            elif len(self._keys) < MAX_KEYS:
                self._keys[key] = number
        return number

    def same(self, number: int, other: int) -> None:
        """Take two runs for near-copies."""
        self._parents[self.task(number)] = self.task(other)

    def task(self, number: int) -> int:
        """The task of a run, as known by now."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def __len__(self) -> int:
        """How many tasks there are."""
        return sum(self.task(number) == number for number in range(len(self._parents)))


def keys(trajectory: Trajectory) -> Iterator[bytes]:
    """What a run shares with its near-copies, hashed."""
    raw = trajectory.raw
    task = raw.get("task")
    if type(task) is str or type(task) is int:
        yield _key("task", f"{raw.get('suite')}/{task}")
    texts = [_WORDS.findall(text[:MAX_CHARS].casefold()) for text in trajectory.user_messages]
    for words in texts:
        if len(words) >= MIN_WORDS:
            yield _key("message", " ".join(words))
    if sum(map(len, texts)) >= MIN_SAID:
        yield _key("said", " ".join(word for words in texts for word in words))
    yield from _sketch([word for words in texts for word in words])
    if len(trajectory.calls) >= MIN_CALLS:
        calls = [[call.tool, call.arguments] for call in trajectory.calls]
        try:
            yield _key("calls", orjson.dumps(calls, option=orjson.OPT_SORT_KEYS))
        except TypeError:
            return


def _sketch(words: list[str]) -> Iterator[bytes]:
    """A min-hash sketch of the words: texts that share most of them agree in a band."""
    distinct = set(words)
    if len(distinct) < MIN_SKETCHED:
        return
    hashes = [int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big") for word in distinct]
    for band in range(BANDS):
        rows = [min(_mix(number, band * ROWS + row) for number in hashes) for row in range(ROWS)]
        yield _key(f"words{band}", repr(rows))


_MASK: Final = (1 << 64) - 1


def _mix(number: int, seed: int) -> int:
    number = (number ^ (seed * 0x9E3779B97F4A7C15)) & _MASK
    return ((number ^ (number >> 29)) * 0xBF58476D1CE4E5B9) & _MASK


def _key(kind: str, text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=12, person=kind.encode()).digest()
