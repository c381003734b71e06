"""Totals: whether an argument is the sum of one member of the records that its call cites (`derive`, `total`).

Nothing here is free to choose but which of a few records a value names, so little can be explained by chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice, product
from operator import itemgetter
from typing import Any, Final, TypeAlias

from citespan.core.arithmetic import UNIT, scaled
from citespan.core.computation import Computation
from citespan.core.images import number_of
from citespan.core.leaves import Leaf
from citespan.core.opaque import is_scalar
from citespan.core.operands import Operand, Operands, spot_of
from citespan.core.places import Place
from citespan.core.records import Member, alike, members
from citespan.core.siblings import MAX_SIBLINGS, Others, Siblings

#: records of one argument that are looked at, newest first; an argument whose records hold more different numbers than
#: so many names none of them
MAX_RECORDS: Final = 64
MAX_CHOICES: Final = 8
#: rows of the same name that are looked at for them
MAX_ROWS: Final = 1024
#: choices of one number for each argument that are tried, and those that are kept of one sum
MAX_TRIED: Final = 256
MAX_WAYS: Final = 4

#: of one argument: a number, scaled -> the members that hold it
Choice = dict[int, list[Member]]
#: a sum -> the members that make it up: of each argument, those of which any one will do
Sums = dict[int, list[list[list[Member]]]]
#: what tells a place from every other one
Spot: TypeAlias = tuple[Hashable, ...]


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
    siblings = others.siblings
    sums = siblings.once((declared, texts), lambda: _sums(siblings, declared, operands, texts))
    ways = sums.get(sum_of_members, ())
    # a value that stands in a call many times is computed once
    made = siblings.once((declared, texts, value, sum_of_members), lambda: [_cited(way, operands) for way in ways])
    for used in made:
        if used is not None:
            yield (*used, *(operand for _, operand in less), *counted), False


def _numbers(others: Others, pattern: str) -> list[tuple[int, Operand]] | None:
    """The numbers of other arguments; None where a result or the user does not vouch for one."""
    found: list[tuple[int, Operand]] = []
    leaves = others.named(pattern) if pattern else []
    for leaf in () if leaves is None else leaves:
        provenance, number = others.siblings.judged(leaf), scaled(leaf.value)
        if number is None or not others.siblings.vouched(leaf):
            return None
        sources = provenance.sources[:1] if provenance.kind == "observed" else ()
        found.append((number, Operand(leaf.value, sources, provenance.weak, ("argument", leaf.path))))
    return None if leaves is None else found


def _times(others: Others, name: str) -> tuple[int, tuple[Operand, ...]] | None:
    """What the sum is multiplied by, scaled: the length of a list, or a number that is cited."""
    if not name:
        return UNIT, ()
    length: int = others.siblings.once(("length", name), lambda: _length(others.siblings, name))
    if length:
        return length * UNIT, ()
    numbers = _numbers(others, name)
    return (numbers[0][0], (numbers[0][1],)) if numbers else None


def _length(siblings: Siblings, name: str) -> int:
    """The members of a list; 0 where a result or the user vouches for nothing in one of them: it would count freely."""
    members = siblings.members(name)
    if len(members) > MAX_SIBLINGS:
        return 0
    return len(members) if all(any(map(siblings.vouched, leaves)) for leaves in members) else 0


def _sums(siblings: Siblings, declared: Computation, operands: Operands, texts: bool) -> Sums:
    """Every sum of one member of each argument's record, the same member of all; in whatever order they stand."""
    leaves = siblings.named(declared.records)
    cited = {_name(leaf): siblings.places(leaf) for leaf in reversed(leaves)}
    found = operands.locked(lambda: {name: by_member(some, declared.of, texts) for name, some in cited.items()})
    # which of very many choices are tried must not depend on the order of the arguments
    order = sorted(range(len(leaves)), key=lambda at: _name(leaves[at]))
    records = [found[_name(leaves[at])] for at in order]
    sums: Sums = {}
    for keys in records[0]:
        choices = [one[keys] for one in records if keys in one]
        if len(choices) == len(records):
            for numbers in islice(product(*choices), MAX_TRIED):
                ways = sums.setdefault(sum(numbers), [])
                if len(ways) < MAX_WAYS:
                    chosen = (choice[number] for choice, number in zip(choices, numbers, strict=True))
                    ways.append([some for _, some in sorted(zip(order, chosen, strict=True), key=itemgetter(0))])
    return sums


def _name(leaf: Leaf) -> str:
    """What a leaf is called by all that decides about the places that it cites: its value, and its names."""
    value = hex(leaf.value) if type(leaf.value) is int else repr(leaf.value) if is_scalar(leaf.value) else ""
    return repr((value, [step for step in leaf.path if type(step) is str]))


def by_member(places: Sequence[Place], fields: Sequence[str], texts: bool) -> dict[tuple[str, ...], Choice]:
    """The members of the records that one argument stands for, by their keys; records newest first."""
    found: dict[tuple[str, ...], Choice] = {}
    held = (place for place in reversed(places) if members(place, fields))
    rows = islice((one for place in held for one in alike(place)), MAX_ROWS)
    records = (some for one in rows if (some := members(one, fields)))
    for some in islice(records, MAX_RECORDS):
        for entry in some:
            number = scaled(_number(entry.place.value, texts))
            if number is not None:
                found.setdefault(entry.keys, {}).setdefault(number, []).append(entry)
    return {keys: choice for keys, choice in found.items() if len(choice) <= MAX_CHOICES}


def _number(held: Any, texts: bool) -> Any:
    return number_of(held) if texts and type(held) is str else held


def _cited(chosen: list[list[Member]], operands: Operands) -> list[Operand] | None:
    """One citable place for each argument, none used twice; None where there is no such choice, however it is made."""
    tested: dict[Spot, Operand | None] = {}
    holders: dict[Spot, int] = {}

    def settle(argument: int, seen: set[Spot]) -> bool:
        """Find a place for an argument; whoever holds one may have to move to another of its own."""
        for _, field, place in chosen[argument]:
            spot = spot_of(place)
            if spot in seen:
                continue
            seen.add(spot)
            if spot not in tested:
                source = operands.tests(place.value, (field,))(place)
                tested[spot] = None if source is None else Operand(place.value, (source,), source.weak, spot)
            if tested[spot] is not None and (spot not in holders or settle(holders[spot], seen)):
                holders[spot] = argument
                return True
        return False

    if not all(settle(argument, set()) for argument in range(len(chosen))):
        return None
    return [operand for spot, _ in sorted(holders.items(), key=itemgetter(1)) if (operand := tested[spot]) is not None]
