"""The fields that a ledger holds, and what they hold looks like: no value is kept (for `citespan.core.nearest`).

They are read off the places of the index, of each place only at the newest containers in view, so that the time does
not grow with the ledger. A tool's fields are read again when it has a newer result, and bounded everywhere: of very
many tools, places and members not all are seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from weakref import ref

from citespan.core.fold import forms
from citespan.core.index import Index
from citespan.core.leaves import field_step
from citespan.core.ledger import Observation, View
from citespan.core.places import PART, Node, Shape
from citespan.core.shapes import MAX_SHAPED, PROSE_LENGTH, SHAPED, is_prose, shape

#: tools whose fields are known, and fields of all of them together, newest tools first
MAX_TOOLS: Final = 256
MAX_FIELDS: Final = 512
#: fields and places of one tool, those nearest to the top of its results first
MAX_FIELDS_EACH: Final = 128
MAX_PLACES_EACH: Final = 64
#: members of one place; and its newest objects, since not all objects have the same keys
MAX_MEMBERS: Final = 128
MAX_OBJECTS: Final = 4
#: longer names are left out: nobody could read them
MAX_NAME: Final = 256


class Field(NamedTuple):
    """One field, by the leaves that were looked at: two at the most.

    Args:
        name: tool and path, indexes and data-like keys as `*`. server: the tool's server.
        ordinal: of the newest result that has it.
        kinds: the JSON types of its leaves, numbers as int. looks: their shapes, of those that a field must have.
        long: whether what may be cited of it is prose or whole documents only (design section 2, like its field).
    """

    name: str
    server: str | None
    ordinal: int
    kinds: frozenset[type]
    looks: frozenset[str]
    long: bool


class Catalogue:
    """The fields of one ledger, kept from one question to the next. Ask under no other lock than the ledger's."""

    __slots__ = ("_index", "_tools")

    def __init__(self) -> None:
        #: weakly: an index that the ledger gave up must not live on here
        self._index: ref[Index] | None = None
        self._tools: dict[tuple[str | None, str], tuple[int, tuple[Field, ...]]] = {}

    def fields(self, view: View) -> Sequence[Field]:
        """The fields in a view, those of the newest tools first.

        Example:
            >>> import json
            >>> from citespan.core.ledger import Ledger
            >>> from citespan.core.policy import Bounds
            >>> ledger = Ledger(json.loads, Bounds())
            >>> _ = ledger.record("list_files", b'{"files": ["src/app.py"]}')
            >>> [(field.name, sorted(field.looks)) for field in Catalogue().fields(ledger.view())]
            [('list_files.files.*', ['path'])]
        """
        if not view.upto:
            return ()
        return view.ledger.ask(lambda index: self._read(index, view.upto))

    def _read(self, index: Index, upto: int) -> Sequence[Field]:
        before = self._tools if self._index is not None and self._index() is index else {}
        self._index, self._tools = ref(index), {}
        roots = [
            (last, key, root)
            for key, root in islice(reversed(index.shapes.items()), MAX_TOOLS)
            if (last := _last(root, upto)) >= 0
        ]
        roots.sort(key=_first, reverse=True)
        found: list[Field] = []
        for last, key, root in roots:
            known = before.get(key)
            if known is None or known[0] != last:
                known = (last, tuple(islice(_walk(root, key[0], upto), MAX_FIELDS_EACH)))
            self._tools[key] = known
            found += known[1]
            if len(found) >= MAX_FIELDS:
                return found[:MAX_FIELDS]
        return found


def _first(root: tuple[int, Any, Any]) -> int:
    return root[0]


def kind_of(value: Any) -> type:
    """The JSON type of a leaf; a number is one type."""
    kind = type(value)
    return int if kind is float else kind


def is_long(value: Any) -> bool:
    """Whether a leaf is prose or a document, judged by its ends: it may be of any length."""
    if type(value) is not str:
        return False
    return is_prose(value[: 4 * PROSE_LENGTH]) or (value[:1] in {"{", "["} and value[-1] in "}]")


def look(value: Any) -> str | None:
    """The shape of a leaf, of those that a field must have; None where it has none."""
    if type(value) is not str or len(value) > MAX_SHAPED:
        return None
    found = shape(value)
    return found if found in SHAPED else None


def _last(root: Shape, upto: int) -> int:
    """The newest result of a tool in a view, -1 where there is none."""
    last = _ordinal(root.objects, upto)
    for nodes in islice(root.columns.values(), MAX_MEMBERS):
        last = max(last, _ordinal(nodes, upto))
    records = root.children.get("*")
    if records is not None:
        for nodes in islice(records.columns.values(), MAX_MEMBERS):
            last = max(last, _ordinal(nodes, upto))
    return last


def _ordinal(nodes: Sequence[Node], upto: int) -> int:
    seen = _visible(nodes, upto)
    return nodes[seen - 1].owner.ordinal if seen else -1


def _visible(nodes: Sequence[Node], upto: int) -> int:
    """How many of some nodes, oldest first, are in observations below `upto`."""
    low, high = 0, len(nodes)
    if high and nodes[-1].owner.ordinal < upto:
        return high
    while low < high:
        middle = (low + high) // 2
        if nodes[middle].owner.ordinal < upto:
            low = middle + 1
        else:
            high = middle
    return low


def _walk(root: Shape, server: str | None, upto: int) -> Iterator[Field]:
    waiting, left = deque([root]), MAX_PLACES_EACH
    while waiting and left:
        place = waiting.popleft()
        left -= 1
        if len(place.name) < MAX_NAME:
            waiting.extend(islice(place.children.values(), left))
            yield from _fields(place, server, upto)


def _fields(place: Shape, server: str | None, upto: int) -> Iterator[Field]:
    """The fields of one place."""
    for at, nodes in islice(place.columns.items(), MAX_MEMBERS):
        if seen := _visible(nodes, upto):
            node = nodes[seen - 1]
            yield from _field(f"{place.name}.{at}", server, node, _samples(node), _is_prose(place, at))
    if place.objects:
        yield from _members(place, server, upto)
    if seen := _visible(place.pieces, upto):
        node = place.pieces[seen - 1]
        for field in _field(place.name, server, node, _samples(node), False):
            yield field._replace(long=False)


def _members(place: Shape, server: str | None, upto: int) -> Iterator[Field]:
    """The fields of a place's newest objects; a key that is data may be cited itself."""
    done: set[str] = set()
    seen = _visible(place.objects, upto)
    before: Any = None
    for node in reversed(place.objects[max(0, seen - MAX_OBJECTS) : seen]):
        if before is not None and before.part.keys() == node.part.keys():
            continue
        before = node
        for key, value in islice(node.part.items(), MAX_MEMBERS):
            at = field_step(key)
            if at not in done:
                done.add(at)
                held = (key, value) if at == "*" else (value,)
                yield from _field(f"{place.name}.{at}", server, node, held, _is_prose(place, at))


def _field(name: str, server: str | None, node: Node, held: Iterable[Any], prose: bool) -> Iterator[Field]:
    """A field by some of its members; containers are left out, since their places have fields of their own."""
    leaves = [value for value in held if not isinstance(value, dict | list) or not value]
    owner = node.owner
    if owner.given and leaves:
        # what only gives back what a call was given uncited is no source, and its keys may be such values too
        leaves = [value for value in leaves if not _echoes(owner, value)]
        if any(_echoes(owner, step) for step in name[len(owner.tool) :].split(".") if step):
            return
    if leaves:
        kinds, looks, long = set(), set(), prose
        for value in leaves:
            kinds.add(kind_of(value))
            found = look(value)
            if found is not None:
                looks.add(found)
            elif not long:
                long = is_long(value)
        yield Field(name, server, owner.ordinal, frozenset(kinds), frozenset(looks), long)


def _echoes(owner: Observation, value: Any) -> bool:
    """Whether a leaf is what its own call was given uncited; of a long text it is not asked."""
    is_text = type(value) is str
    if is_text and len(value) > MAX_SHAPED:
        return False
    return any(owner.uncited.echo(form, text=is_text) == "echo" for form in forms(value))


def _is_prose(place: Shape, at: str) -> bool:
    """Whether a field is known to hold prose by now."""
    looks = place.looks.get(at)
    return looks is not None and looks.prose


def _samples(node: Node) -> list[Any]:
    """The first and the last of a list's members that a node stands for."""
    part, first, column = node.part, node.offset, node.column
    last = min(first + PART, len(part)) - 1
    held = [part[first]] if first == last else [part[first], part[last]]
    return held if column is None else [record[column] for record in held]
