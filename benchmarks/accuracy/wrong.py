"""Wrong arguments in the place of correct ones: made up, changed by a character, off by one, flipped, or another's."""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from benchmarks.accuracy.judge import Moment, put
from citespan.core.decision import Tag
from citespan.core.fold import fold
from citespan.learn.looks import look

#: what a guess is measured with: values that name a thing in the world
GUESSED: Final = frozenset({"id", "path", "url", "email"})
MIN_CHANGED: Final = 3


class Change(NamedTuple):
    """One kind of wrong argument.

    Args:
        title: in the tables. mutating: only calls of tools that may change something.
        make: the wrong value for a leaf, None where it does not apply.
        assumed: whether the leaf must be tagged `assumed`; else that the call is refused for it.
    """

    title: str
    mutating: bool
    make: Callable[[Tag, Moment, random.Random], Any]
    assumed: bool


def measure(moment: Moment, changes: tuple[Change, ...], counts: dict[str, Counter[str]]) -> None:
    """Judge every change of every leaf of a call; adds to `counts[title]["n"]` and `["caught"]`."""
    for change in changes:
        if change.mutating and not moment.decision.mutating:
            continue
        for tag in moment.decision.tags:
            if tag.leaf.role != "value":
                continue
            # one seed for each place, so that a change does not depend on what was measured before
            seed = random.Random(f"{change.title} {moment.position} {tag.leaf.path} {tag.leaf.value!r}")
            wrong = change.make(tag, moment, seed)
            if wrong is None:
                continue
            decision = moment.instead(put(moment.call.arguments, tag.leaf.path, wrong))
            found = next(
                (one for one in decision.tags if one.leaf.path == tag.leaf.path and one.leaf.role == "value"), None
            )
            assumed = found is not None and found.provenance.kind == "assumed"
            counts[change.title]["n"] += 1
            counts[change.title]["caught"] += assumed if change.assumed else found is not None and found.counted


def _made_up(tag: Tag, moment: Moment, seed: random.Random) -> Any:
    value = tag.leaf.value
    if type(value) is not str or look(value) not in GUESSED:
        return None
    if tag.provenance.kind == "schema" or tag.allowed:
        return None
    head, dot, ending = value.rpartition(".")
    if look(value) == "path" and dot and ending.isalnum() and len(ending) <= 5:
        return _scrambled(head, seed) + dot + ending
    return _scrambled(value, seed)


def _scrambled(text: str, seed: random.Random) -> str:
    """Letters for letters, digits for digits; what stands between them stays."""
    return "".join(
        seed.choice(string.ascii_uppercase)
        if char.isupper()
        else seed.choice(string.ascii_lowercase)
        if char.isalpha()
        else seed.choice(string.digits)
        if char.isdigit()
        else char
        for char in text
    )


def _one_character(tag: Tag, moment: Moment, seed: random.Random) -> Any:
    value = tag.leaf.value
    cited = tag.provenance.kind in {"observed", "user"}
    if type(value) is not str or len(value) < MIN_CHANGED or not cited:
        return None
    places = [index for index, char in enumerate(value) if char.isalnum()]
    if not places:
        return None
    place = seed.choice(places)
    letters = string.digits if value[place].isdigit() else string.ascii_lowercase
    changed = (
        value[:place] + seed.choice([char for char in letters if char != value[place].lower()]) + value[place + 1 :]
    )
    return None if fold(changed) == fold(value) else changed


def _off_by_one(tag: Tag, moment: Moment, seed: random.Random) -> Any:
    value = tag.leaf.value
    return value + 1 if type(value) in {int, float} and tag.provenance.kind in {"observed", "user"} else None


def _flipped(tag: Tag, moment: Moment, seed: random.Random) -> Any:
    return not tag.leaf.value if type(tag.leaf.value) is bool else None


def _other(tag: Tag, moment: Moment, seed: random.Random) -> Any:
    found = tag.provenance
    if found.kind != "observed" or type(tag.leaf.value) is not str:
        return None
    others = sorted(set(_alike(moment, found.sources[0].field)) - {tag.leaf.value})
    return seed.choice(others) if others else None


def _alike(moment: Moment, field: str) -> Iterator[str]:
    for _, name, value in moment.run.state.ledger.fields():
        if name == field and type(value) is str and value:
            yield value


GUESSES: Final = Change("made-up ids, paths, e-mails, URLs", True, _made_up, False)
CHANGES: Final = (
    Change("one character changed", False, _one_character, True),
    Change("number + 1", False, _off_by_one, True),
    Change("boolean flipped", False, _flipped, True),
    Change("wrong, but seen in the same field", True, _other, False),
)
