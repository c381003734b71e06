"""Made-up tool results that look like real ones. The same on every machine: the generator is seeded."""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

_SYLLABLES: Final = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]


def _words(count: int) -> list[str]:
    pick = random.Random(1)
    return ["".join(pick.choices(_SYLLABLES, k=pick.choice((1, 2, 2, 3, 3, 4)))) for _ in range(count)]


_WORDS: Final = _words(400)
_NAMES: Final = [word.title() for word in _words(460)[400:] if len(word) > 3]
_FAMILIES: Final = [*_NAMES, "Díaz", "Müller", "Novák", "Sjöberg"]


class Sample(NamedTuple):
    """A tool result, and values to look up in it.

    Args:
        result: what a tool returned; projections: what the policy declares for its text.
        hit: a value that follows from it, and `projection`: how. miss: one that does not.
    """

    name: str
    result: dict[str, Any]
    hit: str
    projection: str
    miss: str


class Maker:
    """Makes samples; the same ones for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def sentence(self, least: int = 5, most: int = 13) -> str:
        """A sentence of `least` to `most` words."""
        return " ".join(self._random.choices(_WORDS, k=self._random.randint(least, most))).capitalize() + "."

    def record(self, number: int) -> dict[str, Any]:
        """A record of 8 mixed fields."""
        pick = self._random
        name, family, user = pick.choice(_NAMES), pick.choice(_FAMILIES), pick.choice(_WORDS)
        host = f"{pick.choice(_WORDS)}-{pick.choice(_WORDS)}.example.com"
        return {
            "id": f"ord-{number}-{pick.randrange(16**5):05x}",
            "customer": f"{name} {family}",
            "email": f"{name.lower()}.{user}{number}@{host}",
            "url": f"https://{host}/{pick.choice(_WORDS)}/{pick.choice(_WORDS)}/{number}",
            "address": f"{pick.randint(1, 200)} {pick.choice(_FAMILIES)} Street, {pick.choice(_NAMES)}",
            "amount": pick.randint(100, 10_000_000) / 100,
            "active": pick.random() < 0.8,
            "note": self.sentence(12, 24) if pick.random() < 0.9 else None,
        }

    def path(self, number: int) -> str:
        """A path of a source file."""
        pick = self._random
        return f"src/{pick.choice(_WORDS)}/{pick.choice(_WORDS)}/mod_{number}_{pick.choice(_WORDS)}.py"

    def records(self, leaves: int) -> Sample:
        """Records of 8 mixed fields."""
        rows = [self.record(number) for number in range(leaves // 8)]
        return Sample("records", {"rows": rows}, rows[len(rows) // 2]["email"], "exact", "nobody@example.org")

    def prose(self, leaves: int) -> Sample:
        """Sentences."""
        sentences = [self.sentence() for _ in range(leaves)]
        # of a field that holds prose only prose is cited: more than 60 characters
        hit = next(text for text in sentences[leaves // 2 :] if len(text) > 60)
        return Sample(
            "prose", {"paragraphs": sentences}, hit, "exact", "This sentence is in none of them, nor was it ever."
        )

    def listing(self, leaves: int) -> Sample:
        """Paths, one of which is looked up by its last part."""
        files = [self.path(number) for number in range(leaves)]
        hit = files[leaves // 2].rpartition("/")[2]
        return Sample("paths", {"files": files}, hit, "basename", "src/agent/mod_none.py")

    def samples(self, leaves: int) -> list[Sample]:
        """One of each kind."""
        return [self.records(leaves), self.prose(leaves), self.listing(leaves)]

    def log(self, chars: int) -> str:
        """A log of about so many characters: times, paths, ids and words."""
        lines: list[str] = []
        length = 0
        while length < chars:
            number = len(lines)
            clock = f"2026-03-04T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
            ids = f"req-{self._random.randrange(16**8):08x}"
            lines.append(f"{clock} INFO {self.path(number % 5000)}:{number % 300} {ids} {self.sentence(3, 9)}")
            length += len(lines[-1]) + 1
        return "\n".join(lines)

    def message(self, number: int) -> str:
        """What a user says of issue `51000 + number`."""
        said = self.sentence(6, 16)
        return f"Please fix issue {51000 + number} in acme/web-{number}, see src/app_{number}.py. {said}"

    def common_phrase(self) -> str:
        """Words that each stand in many a sentence, in an order that no sentence has."""
        return " ".join(self._random.choices(_WORDS, k=4))
