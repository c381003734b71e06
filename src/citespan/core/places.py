"""Where values stand: containers of a result (nodes), single leaves in them (places), and their paths and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from citespan.core.equality import same
from citespan.core.leaves import Path, Step, field_step
from citespan.core.projections import abbreviates, basename, normal_path

if TYPE_CHECKING:
    from citespan.core.ledger import Observation
    from citespan.core.looks import Looks

#: members of a container that one node stands for; a leaf is looked for among so many when it is cited
PART: Final = 128
#: what a node can be read out of and still have paths and fields of its own; a piece of a text has its text's
STRUCTURED: Final = frozenset({"", "json", "json_lines"})


class Shape:
    """All containers at one place of one tool's results (`list_files.files`), whatever their indexes.

    Args:
        name: the tool and the path, indexes and data-like keys as `*`.
    """

    __slots__ = ("children", "columns", "looks", "name", "objects", "owner", "pieces")

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: dict[str, Shape] = {}
        #: nodes that are one object each, and nodes of one field each: list members, or a column of records
        self.objects: list[Node] = []
        self.columns: dict[str, list[Node]] = {}
        #: pieces of the texts that stand here, where the policy declares a text projection
        self.pieces: list[Node] = []
        self.looks: dict[str, Looks] = {}
        #: (observation, keys) of the last object here: objects with the same keys post their keys once
        self.owner: tuple[Any, Any] = (None, None)

    def child(self, step: str) -> Shape:
        """The place below, by field step."""
        found = self.children.get(step)
        if found is None:
            found = self.children[step] = Shape(f"{self.name}.{step}")
        return found


class Node(NamedTuple):
    """A container of leaves, or a part of one.

    Args:
        owner: the observation that it belongs to.
        parent: the node that holds the container, None at the top. step: where in that node.
        part: an object, or the whole list of which this node is the `PART` members from `offset` on.
        column: for a list of records with the same keys, the key of which this node holds the values; else None.
        shape: its place in the tool's results; for a column, the records' place.
        via: "" inside the result itself, "json" in a document read out of a text leaf, or a text projection's name
            (`regex:NAME` for a pattern of the policy).
    """

    owner: Observation
    parent: Node | None
    step: Step
    part: Any
    offset: int
    column: str | None
    shape: Shape
    via: str


class Place(NamedTuple):
    """One leaf that a value follows from: where it is, what it holds, and by which projection."""

    node: Node
    step: Step
    value: Any
    projection: str


Posting = dict[Any, Any]


def each(posting: Any, upto: int) -> Iterable[Node]:
    """The nodes that a key is posted to (one, several, or None for none), in observations below `upto`."""
    if posting is None:
        return ()
    if type(posting) is list:
        return [node for node in posting if node.owner.ordinal < upto]
    return (posting,) if posting.owner.ordinal < upto else ()


def nodes(shapes: Iterable[Shape]) -> Iterator[Node]:
    """Every node at and below some places, pieces of texts left out."""
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        waiting.extend(shape.children.values())
        yield from shape.objects
        for column in shape.columns.values():
            yield from column


def pieces(shapes: Iterable[Shape]) -> Iterator[Node]:
    """Every node that holds pieces of a text, at and below some places."""
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        waiting.extend(shape.children.values())
        yield from shape.pieces


def members(node: Node) -> Iterable[tuple[Step, Any]]:
    """The members of a node with their steps."""
    part, offset = node.part, node.offset
    if type(part) is dict:
        return part.items()
    return enumerate(values(node), offset)


def values(node: Node) -> Sequence[Any]:
    """The members of a node, in order."""
    part = node.part
    if type(part) is dict:
        return list(part.values())
    column = node.column
    some: list[Any] = part[node.offset : node.offset + PART]
    return some if column is None else [record[column] for record in some]


def member(node: Node, step: Step) -> Any:
    """The member of a node at a step that came from `members`."""
    found = node.part[step]
    return found if node.column is None else found[node.column]


def field_at(node: Node, step: Step) -> str:
    """The last step of a member's field."""
    if node.column is not None:
        return field_step(node.column)
    return field_step(step) if type(step) is str else "*"


def below(node: Node, step: Step) -> Shape:
    """The place of a container, or of a document or text piece, that a member holds."""
    return node.shape.child(field_at(node, step))


def path_of(place: Place) -> Path:
    """The path of a place in its tool's result; a piece of a text has the path of that text's leaf."""
    steps: list[Step] = []
    node: Node | None = place.node
    step = place.step
    while node is not None:
        if node.via in STRUCTURED:
            if node.column is not None:
                steps.append(node.column)
            steps.append(step)
        step, node = node.step, node.parent
    return tuple(reversed(steps))


def field_of(place: Place) -> str:
    """The field of a place: its tool and path with indexes and data-like keys as `*`."""
    node = place.node
    if node.via not in STRUCTURED:
        return node.shape.name
    return f"{node.shape.name}.{field_at(node, place.step)}"


def field_matches(pattern: str, field: str, server: str | None) -> bool:
    """Whether a declared field covers a field; `server/tool.path` binds the server too; `*` stands for one step.

    A tool's name and a field have no slash, so what stands before the last one is the server's name, dots and all.

    Example:
        >>> field_matches("list_files.files.*", "list_files.files.*", None), field_matches("gh/a.b", "a.b", "gl")
        (True, False)
    """
    bound, slash, rest = pattern.rpartition("/")
    if slash and server != bound:
        return False
    return rest == field or step_pattern(rest).fullmatch(field) is not None


@lru_cache(maxsize=1024)
def step_pattern(pattern: str) -> re.Pattern[str]:
    """A field, or a path in a result, with `*` for any one step."""
    return re.compile(re.escape(pattern).replace(r"\*", r"(?:[^.\\]|\\.)+"))


def exact(node: Node, value: Any, found: list[Place]) -> None:
    """Add the leaves of a node that equal a value."""
    part = node.part
    held: Sequence[Any]
    if type(part) is list and node.column is None:
        held, start, end, shift = part, node.offset, node.offset + PART, 0
    else:
        held, start, end, shift = values(node), 0, PART, node.offset
    while start < end:
        try:
            # `index` compares in C; what it finds by Python's equality is then tested by type
            at = held.index(value, start, end)
        except ValueError:
            return
        start = at + 1
        member = held[at]
        if type(member) is str or same(member, value):
            step = list(part)[at] if type(part) is dict else shift + at
            found.append(Place(node, step, member, node.via or "exact"))
            if type(part) is list:
                return  # what else equals it here has the same field


def key(node: Node, value: str, found: list[Place]) -> None:
    """Add the place of a key."""
    if type(node.part) is dict:
        if value in node.part:
            found.append(Place(node, value, value, "key"))
    elif node.column == value:
        found.append(Place(node, node.offset, value, "key"))


def path(node: Node, value: str, argument: str, found: list[Place]) -> None:
    """Add the leaves whose normalised path, or last part, equals a value; the argument itself is `exact`."""
    last = value.rpartition("/")[2]
    for step, held in members(node):
        if type(held) is not str or last not in held or held == argument:
            continue
        if normal_path(held) == value:
            found.append(Place(node, step, held, "posix_path"))
        elif basename(held) == value:
            found.append(Place(node, step, held, "basename"))


def piece(node: Node, value: str, found: list[Place]) -> None:
    """Add the pieces of a text that equal a value, or that it abbreviates."""
    for step, held in members(node):
        if held == value or (node.via == "git_sha" and abbreviates(value, held)):
            found.append(Place(node, step, held, node.via))
