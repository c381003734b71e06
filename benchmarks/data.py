"""Made-up tool results that look like real ones. The same on every machine: the generator is seeded."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

_WORDS = (
    "about after again agent also alert another approve archive audit balance batch before branch build cache call"
    " cancel check city clean client close cloud commit config copy count create customer daily data deploy detail"
    " device draft email error event every export failed field file final first folder found from group handle high"
    " image import index invoice issue item label large later level line list local login manager market memory"
    " merge message method minute missing model module month monitor network never note number office open order"
    " owner page partner patch payment people phone place plan policy price primary process product profile project"
    " queue quick quote range read ready record region release remote remove report request result return review"
    " route sales sample schedule search second send server service session setting ship simple small source start"
    " state still stock store summary supplier support system table target task team test ticket time today token"
    " total trace track transfer travel trial update upload usage user value vendor version view visit waiting"
    " warehouse week while window without work worker write yearly"
).split()
_NAMES = "Ada Béla Chen Dana Emeka Frida Goran Hana Idris Jana Kofi Lena Mira Nils Olga Priya Rosa Sven Tomás".split()
_FAMILIES = "Abara Berg Costa Díaz Eriksen Fischer Gupta Haddad Ito Jansen Kowalski Li Moreau Novak Okafor".split()
_CITIES = ("Aarhus", "Bergen", "Córdoba", "Dresden", "Eindhoven", "Florence", "Ghent", "Zürich")


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
        name, family = pick.choice(_NAMES), pick.choice(_FAMILIES)
        host = f"{pick.choice(_WORDS)}-{pick.choice(_WORDS)}.example.com"
        return {
            "id": f"ord-{number}-{pick.randrange(16**5):05x}",
            "customer": f"{name} {family}",
            "email": f"{name}.{family}{number}@{host}".lower(),
            "url": f"https://{host}/{pick.choice(_WORDS)}/{pick.choice(_WORDS)}/{number}",
            "address": f"{pick.randint(1, 200)} {pick.choice(_WORDS).title()} Street, {pick.choice(_CITIES)}",
            "amount": pick.randint(100, 10_000_000) / 100,
            "active": pick.random() < 0.8,
            "note": self.sentence(12, 24),
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
        return Sample("prose", {"paragraphs": sentences}, hit, "exact", "This sentence is in none of them, nor was it ever.")

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
