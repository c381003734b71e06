"""What declared argument projections and computations ask of the index. Nothing is kept of it until one asks.

What is asked for the first time is built in one walk over what is indexed, and kept up to date from then on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from citespan.core import places
from citespan.core.images import IMAGES, Image, moment_key, moment_keys, number_of
from citespan.core.leaves import Step
from citespan.core.moments import Moment
from citespan.core.places import Node, Place, Posting, Shape, each, field_at, members, step_pattern

#: more would be no operands but a dictionary attack
MAX_SHAPES: Final = 10_000


class Aspects:
    """Postings under declared projections, and the nodes that hold numbers.

    Args:
        shapes: the index's places by (server, tool). by_number: its postings of numbers.
        post: how it posts a key to a node.
    """

    __slots__ = ("_by_number", "_decimal", "_numeric", "_post", "_postings", "_shapes", "asked")

    def __init__(
        self,
        shapes: Mapping[tuple[str | None, str], Shape],
        by_number: Posting,
        post: Callable[[Posting, Any, Node], None],
    ) -> None:
        self._shapes = shapes
        self._by_number = by_number
        self._post = post
        self._postings: dict[str, tuple[Image, Posting]] = {}
        #: nodes with numbers, and nodes with texts that are decimal numbers; oldest result first
        self._numeric: list[Node] | None = None
        self._decimal: list[Node] | None = None
        #: whether anything was asked for: the one test that a policy without declared projections costs
        self.asked = False

    def take(self, node: Node) -> None:
        """A node was added to the index."""
        for image, posting in self._postings.values():
            self._take(image, posting, node)
        if self._numeric is not None and _has_number(node):
            self._numeric.append(node)
        if self._decimal is not None and _has_decimal(node):
            self._decimal.append(node)

    def image(self, name: str, value: Any, upto: int) -> list[Place]:
        """Every kept place from which an argument follows under a declared argument projection."""
        found: list[Place] = []
        if name == "number" and type(value) is str:
            number = number_of(value)
            if number is not None:
                for node in each(self._by_number.get(number), upto):
                    places.exact(node, number, found)
            return [place._replace(projection=name) for place in found]
        image = IMAGES[name]
        key = image.key(value)
        if key is not None:
            for node in each(self._image_postings(name).get(key), upto):
                for step, held in members(node):
                    if type(held) is str and image.fits(value, held):
                        found.append(Place(node, step, held, name))
        return found

    def moments(self, when: Moment, upto: int) -> list[Place]:
        """Every kept place that holds a date, a time, or a date-time with such a part."""
        key = moment_key(when)
        return [
            Place(node, step, held, node.via or "exact")
            for node in each(self._image_postings("date_part").get(key), upto)
            for step, held in members(node)
            if type(held) is str and key in moment_keys(held)
        ]

    def _image_postings(self, name: str) -> Posting:
        known = self._postings.get(name)
        if known is None:
            known = self._postings[name] = (IMAGES[name], {})
            self.asked = True
            for node in self._nodes():
                self._take(*known, node)
        return known[1]

    def _take(self, image: Image, posting: Posting, node: Node) -> None:
        for held in places.values(node):
            if type(held) is str:
                for key in image.keys(held):
                    self._post(posting, key, node)

    def _nodes(self) -> list[Node]:
        """Every node, oldest result first."""
        shapes = self._shapes.values()
        return sorted((*places.nodes(shapes), *places.pieces(shapes)), key=_ordinal)

    def numbers(self, upto: int, *, texts: bool) -> Iterator[Place]:
        """Every number in observations below `upto`, newest first.

        Args:
            texts: whether texts that are plain decimal numbers count too.
        """
        if self._numeric is None:
            self._numeric = [node for node in self._nodes() if _has_number(node)]
            self.asked = True
        numbers = _newest(self._numeric, upto, lambda held: type(held) is int or type(held) is float)
        if not texts:
            return numbers
        if self._decimal is None:
            self._decimal = [node for node in self._nodes() if _has_decimal(node)]
        decimals = _newest(self._decimal, upto, _is_decimal)
        return heapq.merge(numbers, (place._replace(projection="number") for place in decimals), key=_newest_first)

    def field(self, pattern: str, upto: int) -> Iterator[Place]:
        """Every scalar of a declared field in observations below `upto`, newest first.

        Args:
            pattern: `tool.path` or `server/tool.path`, as `citespan.core.places.field_matches` reads it.
        """
        shapes, last = self._spread(pattern)
        found: list[Iterable[Place]] = []
        for shape in shapes:
            columns = shape.columns.values() if last == "*" else [shape.columns.get(last, [])]
            found.extend(_below(nodes, last, upto) for nodes in (shape.objects, *columns))
            texts = list(shape.children.values()) if last == "*" else [shape.children.get(last)]
            found.extend(_below(text.pieces, "", upto) for text in texts if text is not None)
        return heapq.merge(*found, key=_newest_first)

    def _spread(self, pattern: str) -> tuple[list[Shape], str]:
        """The places that hold a field, and its last step."""
        server, slash, rest = pattern.rpartition("/")
        found: list[Shape] = []
        last = ""
        for (owner, tool), root in self._shapes.items():
            if slash and owner != server:
                continue
            steps = _steps_after(rest, tool)
            if steps:
                level, last = [root], steps[-1]
                for step in steps[:-1]:
                    level = [
                        below
                        for shape in level
                        for below in (shape.children.values() if step == "*" else [shape.children.get(step)])
                        if below is not None
                    ][:MAX_SHAPES]
                found.extend(level)
        return found, last


def _steps_after(pattern: str, tool: str) -> list[str]:
    """The steps of a field's path in a tool's result; none where it is another tool's."""
    if pattern.startswith(f"{tool}."):
        return pattern[len(tool) + 1 :].split(".")
    name, _, path = pattern.partition(".")
    return path.split(".") if path and "*" in name and step_pattern(name).fullmatch(tool) else []


def _below(nodes: list[Node], last: str, upto: int) -> Iterator[Place]:
    """The scalars of nodes, from the newest node back; of objects only the member that the field names."""
    for node in reversed(nodes):
        if node.owner.ordinal >= upto:
            continue
        some: list[tuple[Step, Any]]
        if type(node.part) is dict and last not in {"", "*"}:
            some = [(last, node.part[last])] if last in node.part else []
        else:
            some = [(step, held) for step, held in members(node) if last in {"", field_at(node, step)} or last == "*"]
        for step, held in reversed(some):
            if not isinstance(held, dict | list):
                yield Place(node, step, held, node.via or "exact")


def _newest(nodes: list[Node], upto: int, wanted: Callable[[Any], bool]) -> Iterator[Place]:
    """The wanted members of nodes, from the newest node back."""
    for node in reversed(nodes):
        if node.owner.ordinal < upto:
            for step, held in reversed(list(members(node))):
                if wanted(held):
                    yield Place(node, step, held, node.via or "exact")


def _newest_first(place: Place) -> int:
    return -place.node.owner.ordinal


def _ordinal(node: Node) -> int:
    return node.owner.ordinal


def _is_decimal(held: Any) -> bool:
    return type(held) is str and number_of(held) is not None


def _has_number(node: Node) -> bool:
    return any(type(held) is int or type(held) is float for held in places.values(node))


def _has_decimal(node: Node) -> bool:
    return any(map(_is_decimal, places.values(node)))
