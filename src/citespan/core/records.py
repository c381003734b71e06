"""Records: the objects of results in which a call's arguments stand, and the members of those objects.

A record is the object that holds a cited leaf directly, or the object below a cited key. Nothing is indexed for it:
from the place that a value cites, its record is a step away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from citespan.core.equality import same
from citespan.core.leaves import field_step
from citespan.core.places import STRUCTURED, Node, Place, below, field_matches, member, values

#: members of one record that `*` may stand for
MAX_MEMBERS: Final = 64


class Member(NamedTuple):
    """A scalar inside a record.

    Args:
        keys: its keys from the record down. field: the declared field that it matches.
    """

    keys: tuple[str, ...]
    field: str
    place: Place


class _Spot(NamedTuple):
    """An object that a node stands for: all of it, or one row of a column."""

    node: Node
    row: int | None

    def named(self, step: str) -> Iterable[str]:
        """The keys that a step of a field stands for; one look, however many keys there are."""
        part = self.node.part if self.row is None else self.node.part[self.row]
        if type(part) is not dict:
            return ()
        if step == "*":
            return part.keys()
        return (step,) if step in part and field_step(step) == step else ()

    def at(self, key: str) -> Place:
        """The place of a member; its value may be a container."""
        node = self.node if self.row is None else self.node._replace(column=key)
        step = key if self.row is None else self.row
        return Place(node, step, member(node, step), node.via or "exact")


def alike(place: Place) -> Iterator[Place]:
    """A place, and all others in its column that hold the same: the index names one of them."""
    node = place.node
    if node.column is None or place.projection == "key":
        yield place
        return
    for row, held in enumerate(values(node), node.offset):
        if same(held, place.value):
            yield place._replace(step=row)


def members(place: Place, fields: Iterable[str]) -> list[Member]:
    """The scalars of a place's record that declared fields name; of the first field that names any.

    Args:
        place: where an argument is cited. fields: `tool.path` or `server/tool.path`, to a member of the record or of
            an object inside it; `*` stands for one key.
    """
    record = _record(place)
    if record is None:
        return []
    name, server = record.node.shape.name, record.node.owner.server
    depth = name.count(".") + 1
    for field in fields:
        owner, slash, rest = field.rpartition("/")  # a server's name may have dots
        steps = rest.split(".")
        if len(steps) > depth and field_matches(f"{owner}{slash}{'.'.join(steps[:depth])}", name, server):
            found = list(_inside(record, steps[depth:], field))
            if found:
                return found
    return []


def _record(place: Place) -> _Spot | None:
    node = place.node
    if node.via not in STRUCTURED or (type(node.part) is list and node.column is None):
        return None
    if place.projection == "key":
        held = node.part.get(place.step) if type(node.part) is dict else None
        return _inner(Place(node, place.step, held, "exact")) if type(held) is dict else None
    return _Spot(node, place.step if type(place.step) is int else None)


def _inner(holder: Place) -> _Spot:
    node = holder.node
    return _Spot(
        Node(node.owner, node, holder.step, holder.value, 0, None, below(node, holder.step), node.via),
        None,
    )


def _inside(record: _Spot, steps: list[str], field: str) -> Iterator[Member]:
    level: list[tuple[tuple[str, ...], _Spot]] = [((), record)]
    for number, step in enumerate(steps, 1):
        inner: list[tuple[tuple[str, ...], _Spot]] = []
        found = ((keys, spot, key) for keys, spot in level for key in spot.named(step))
        for keys, spot, key in islice(found, MAX_MEMBERS):
            held = spot.at(key)
            if number == len(steps):
                if not isinstance(held.value, dict | list):
                    yield Member((*keys, key), field, held)
            elif type(held.value) is dict:
                inner.append(((*keys, key), _inner(held)))
        level = inner


def every_number(place: Place, depth: int) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Every number in a place's record, not deeper than so many keys: its keys, its field, and itself."""
    record = _record(place)
    if record is None:
        return
    for steps in range(1, depth + 1):
        pattern = ["*"] * steps
        for keys, _, held in _inside(record, pattern, ""):
            if type(held.value) is int or type(held.value) is float:
                yield keys, ".".join([record.node.shape.name, *map(field_step, keys)]), held.value
