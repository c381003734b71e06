"""What one tool's results hold at one moment, field by field: the reading behind `citespan.core.fields`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from citespan.core.fold import forms, occurs, words
from citespan.core.keyed import is_keyed
from citespan.core.leaves import field_step
from citespan.core.ledger import Observation
from citespan.core.places import PART, Node, Shape, step_pattern
from citespan.core.shapes import MAX_SHAPED, PROSE_LENGTH, SHAPED, is_prose, shape
from citespan.core.uncited import Marks

#: fields and places of one tool, those nearest to the top of its results first
MAX_FIELDS_EACH: Final = 128
MAX_PLACES_EACH: Final = 64
#: members of one place; and its newest objects, since not all objects have the same keys
MAX_MEMBERS: Final = 128
MAX_OBJECTS: Final = 4
#: longer names are left out: nobody could read them
MAX_NAME: Final = 256
#: characters of one call's uncited texts that are looked into
MAX_GIVEN: Final = 16 * 1024
#: what the pieces of a declared text projection look like, whichever of them are looked at
_PIECES: Final = {"paths": frozenset({"path"}), "git_sha": frozenset({"id"}), "url": frozenset({"url"})}
_NO_LOOK: Final[frozenset[str]] = frozenset()


class Field(NamedTuple):
    """One field, by the leaves that were looked at: two at the most.

    Args:
        name: tool and path, indexes and data-like keys as `*`, as the policy names it.
        meant: the same with keys of objects that are kept by key (`citespan.core.keyed`) as `*` as well.
        shown: what is meant, fit to leave the process: a step that its call was given uncited is `*` as well.
        tool, server: whose results have it.
        ordinal: of the newest result that has it.
        kinds: the JSON types of its leaves, numbers as int. looks: their shapes, of those that a field must have.
        long: whether what may be cited of it is prose or whole documents only (design section 2, like its field).
    """

    name: str
    meant: str
    shown: str
    tool: str
    server: str | None
    ordinal: int
    kinds: frozenset[type]
    looks: frozenset[str]
    long: bool


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


def visible(nodes: Sequence[Node], upto: int) -> int:
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


class Reading:
    """Reads the fields of one tool at one moment."""

    __slots__ = ("_given", "_marks", "_safe", "_server", "_tool", "_upto")

    def __init__(self, key: tuple[str | None, str], upto: int, marks: Marks) -> None:
        self._server, self._tool = key
        self._upto = upto
        self._marks = marks
        #: steps of paths as they are shown, by the observation that has them
        self._safe: dict[tuple[int, str], str] = {}
        self._given: dict[int, _Given] = {}

    def fields(self, root: Shape) -> Iterator[Field]:
        """The fields, those nearest to the top first."""
        waiting, left = deque([(root, root.name)]), MAX_PLACES_EACH
        while waiting and left:
            place, meant = waiting.popleft()
            left -= 1
            if len(place.name) < MAX_NAME:
                newest = self._newest(place)
                keyed = is_keyed([node.part for node in newest]) or is_keyed(self._record(place))
                for step, child in islice(place.children.items(), left):
                    waiting.append((child, f"{meant}.{'*' if keyed else step}"))
                for at, node, held in self._held(place, newest):
                    name = f"{place.name}.{at}"
                    shown = f"{meant}.*" if keyed else f"{meant}.{at}"
                    yield from self._field(name, shown, node.owner, held, _is_prose(place, at))
                if seen := visible(place.pieces, self._upto):
                    node = place.pieces[seen - 1]
                    for field in self._field(place.name, meant, node.owner, _samples(node), False):
                        yield field._replace(looks=field.looks | _PIECES.get(node.via, _NO_LOOK), long=False)

    def _newest(self, place: Shape) -> Sequence[Node]:
        seen = visible(place.objects, self._upto)
        return place.objects[max(0, seen - MAX_OBJECTS) : seen]

    def _record(self, place: Shape) -> Sequence[dict[str, Any]]:
        """One of a place's newest records, whose members are columns; none where it has no columns of records."""
        for nodes in islice(place.columns.values(), 1):
            seen = visible(nodes, self._upto)
            if seen and nodes[seen - 1].column is not None:
                return (nodes[seen - 1].part[nodes[seen - 1].offset],)
        return ()

    def _held(self, place: Shape, newest: Sequence[Node]) -> Iterator[tuple[str, Node, Sequence[Any]]]:
        """The last steps of the fields at one place, each with the newest node that has it, and members of that."""
        for at, nodes in islice(place.columns.items(), MAX_MEMBERS):
            if seen := visible(nodes, self._upto):
                yield at, nodes[seen - 1], _samples(nodes[seen - 1])
        done: set[str] = set()
        before: Any = None
        for node in reversed(newest):
            if before is not None and before.part.keys() == node.part.keys():
                continue
            before = node
            for key, value in islice(node.part.items(), MAX_MEMBERS):
                at = field_step(key)
                if at not in done:
                    done.add(at)
                    # a key that is data may be cited itself
                    yield at, node, (key, value) if at == "*" else (value,)

    def _field(self, name: str, meant: str, owner: Observation, held: Iterable[Any], prose: bool) -> Iterator[Field]:
        """A field by some of its members; containers are left out, since their places have fields of their own."""
        leaves = [value for value in held if not isinstance(value, dict | list) or not value]
        if leaves and (owner.given or self._marks) and not _confirmed(owner, name):
            leaves = [value for value in leaves if not self._laundered(owner, value)]
        if not leaves:
            return
        kinds, looks, long = set(), set(), prose
        for value in leaves:
            kinds.add(kind_of(value))
            found = look(value)
            if found is not None:
                looks.add(found)
            elif not long:
                long = is_long(value)
        shown = self._safe_path(owner, meant)
        held_by = (self._tool, self._server, owner.ordinal)
        yield Field(name, meant, shown, *held_by, frozenset(kinds), frozenset(looks), long)

    def _laundered(self, owner: Observation, value: Any) -> bool:
        """Whether a leaf is what its own call was given uncited, or what an earlier one may have stored.

        Of a long text it is not asked.
        """
        if type(value) is str and len(value) > MAX_SHAPED:
            return False
        return self._echoes(owner, value) or any(self._marks.bars(form, owner.ordinal) for form in forms(value))

    def _echoes(self, owner: Observation, value: Any) -> bool:
        if not owner.given:
            return False
        given = self._given.get(owner.ordinal)
        if given is None:
            given = self._given[owner.ordinal] = _Given(owner.given)
        return any(given.holds(form) for form in forms(value))

    def _safe_path(self, owner: Observation, shown: str) -> str:
        """A path of which no step gives back what its call was given uncited."""
        if not owner.given:
            return shown
        head = len(self._tool)
        return shown[:head] + ".".join([self._step(owner, step) for step in shown[head:].split(".")])

    def _step(self, owner: Observation, step: str) -> str:
        if step in {"", "*"}:
            return step
        safe = self._safe.get((owner.ordinal, step))
        if safe is None:
            safe = self._safe[owner.ordinal, step] = "*" if self._echoes(owner, step) else step
        return safe


class _Given:
    """What a call was given uncited, asked in less time than `citespan.core.uncited.Given` takes, and less exactly.

    What wraps or is put together of several texts is not found. Of very long ones only the first `MAX_GIVEN` characters
    are looked into; whole ones are found among all.
    """

    __slots__ = ("_texts", "_whole", "_words")

    def __init__(self, given: Sequence[str]) -> None:
        self._whole = frozenset(given)
        self._texts = "\0".join(islice(given, MAX_GIVEN))[:MAX_GIVEN]
        self._words = frozenset(words(self._texts))

    def holds(self, folded: str) -> bool:
        """Whether a folded value is one of the texts, or a part of one."""
        if not folded:
            return False
        return folded in self._whole or folded in self._words or occurs(folded, self._texts)


def _confirmed(owner: Observation, name: str) -> bool:
    """Whether the policy says that this field makes an uncited value citable."""
    path = name[len(owner.tool) + 1 :]
    return any(step_pattern(pattern).fullmatch(path) for pattern in owner.confirms)


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
