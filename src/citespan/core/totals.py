"""Totals: whether an argument is the sum of one member of the records that its call cites (`derive`, `total`).

Nothing here is free to choose but which of a few records a value names, so little can be explained by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, Final

from citespan.core.arithmetic import UNIT, scaled
from citespan.core.computation import Computation
from citespan.core.images import number_of
from citespan.core.operands import Operand, Operands, spot_of
from citespan.core.places import Place
from citespan.core.records import Member, alike, members
from citespan.core.siblings import Others, Siblings

#: records of one argument that are looked at, newest first; an argument whose records hold more different numbers than
#: so many names none of them
MAX_RECORDS: Final = 64
MAX_CHOICES: Final = 8
#: choices of one number for each argument that are tried
MAX_TRIED: Final = 256

#: of one argument: a number, scaled -> the members that hold it
Choice = dict[int, list[Member]]
#: a sum -> the members that make it up: of each argument, those of which any one will do
Sums = dict[int, list[list[list[Member]]]]


def total(
    value: Any, declared: Computation, operands: Operands, texts: bool
) -> Iterator[tuple[Sequence[Operand], bool]]:
    """The operands that yield a value; see the row `total` of `COMPUTATIONS`."""
    wanted = scaled(number_of(value) if type(value) is str and texts else value)
    others = operands.others
    if wanted is None or others is None or not others.all(declared.records):
        return
    less, times = _numbers(others, declared.less), _times(others, declared.times)
    if less is None or times is None or not times[0]:
        return
    factor, counted = times
    sum_of_members, rest = divmod((wanted + sum(number for number, _ in less)) * UNIT, factor)
    if rest:
        return
    sums = others.siblings.once((declared, texts), lambda: _sums(others.siblings, declared, operands, texts))
    for chosen in sums.get(sum_of_members, ()):
        used = _cited(chosen, operands)
        if used is not None:
            yield (*used, *(operand for _, operand in less), *counted), False


def _numbers(others: Others, pattern: str) -> list[tuple[int, Operand]] | None:
    """The numbers of other arguments; None where a result or the user does not vouch for one."""
    found: list[tuple[int, Operand]] = []
    leaves = others.named(pattern) if pattern else []
    for leaf in () if leaves is None else leaves:
        provenance, number = others.siblings.judged(leaf), scaled(leaf.value)
        if number is None or not (provenance.kind == "observed" or provenance.kind == "user"):
            return None
        sources = provenance.sources[:1] if provenance.kind == "observed" else ()
        found.append((number, Operand(leaf.value, sources, provenance.weak, ("argument", leaf.path))))
    return None if leaves is None else found


def _times(others: Others, name: str) -> tuple[int, tuple[Operand, ...]] | None:
    """What the sum is multiplied by, scaled: the length of a list, or a number that is cited."""
    if not name:
        return UNIT, ()
    length: int = others.siblings.once(("length", name), lambda: others.siblings.length(name))
    if length:
        return length * UNIT, ()
    numbers = _numbers(others, name)
    return (numbers[0][0], (numbers[0][1],)) if numbers else None


def _sums(siblings: Siblings, declared: Computation, operands: Operands, texts: bool) -> Sums:
    """Every sum of one member of each argument's record, the same member of all."""
    cited = [siblings.places(leaf) for leaf in siblings.named(declared.records)]
    found = operands.locked(lambda: [by_member(places, declared.of, texts) for places in cited])
    sums: Sums = {}
    for keys in found[0] if found else ():
        choices = [one[keys] for one in found if keys in one]
        if len(choices) == len(found):
            for numbers in islice(product(*choices), MAX_TRIED):
                chosen = [choice[number] for choice, number in zip(choices, numbers, strict=True)]
                sums.setdefault(sum(numbers), []).append(chosen)
    return sums


def by_member(places: Sequence[Place], fields: Sequence[str], texts: bool) -> dict[tuple[str, ...], Choice]:
    """The members of the records that one argument stands for, by their keys; records newest first."""
    found: dict[tuple[str, ...], Choice] = {}
    held = (place for place in reversed(places) if members(place, fields))
    records = (some for place in held for one in alike(place) if (some := members(one, fields)))
    for some in islice(records, MAX_RECORDS):
        for entry in some:
            number = scaled(_number(entry.place.value, texts))
            if number is not None:
                found.setdefault(entry.keys, {}).setdefault(number, []).append(entry)
    return {keys: choice for keys, choice in found.items() if len(choice) <= MAX_CHOICES}


def _number(held: Any, texts: bool) -> Any:
    return number_of(held) if texts and type(held) is str else held


def _cited(chosen: list[list[Member]], operands: Operands) -> list[Operand] | None:
    """One citable place for each argument, none used twice; None where one has none left."""
    used: dict[Any, Operand] = {}
    for some in chosen:
        for _, field, place in some:
            spot = spot_of(place)
            source = None if spot in used else operands.tests(place.value, (field,))(place)
            if source is not None:
                used[spot] = Operand(place.value, (source,), source.weak, spot)
                break
        else:
            return None
    return list(used.values())
