"""The index over observed documents: from a value to the places that hold it, in time independent of its size.

An observation is indexed when the first decision after it needs it, in one walk, mostly in bulk. No digest is made and
no object per leaf: a value maps to the *node* that holds it (an object, or up to `PART` members of a list), and the
leaf is looked for inside that node only when the value is cited. Postings may name too much, never too little: every
candidate is tested again when it is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, Protocol

from citespan.core import places
from citespan.core.aspects import Aspects
from citespan.core.leaves import Step, field_step
from citespan.core.places import PART, Node, Place, Posting, Shape, below, each, member
from citespan.core.projections import MAX_PIECES, MIN_SHA, basename, may_normalise, normal_path, reader
from citespan.core.shapes import is_document

if TYPE_CHECKING:
    from citespan.core.ledger import Observation

MAX_NESTED_JSON: Final = 4


class Decode(Protocol):
    """Reads a JSON document; raises ValueError when it is none."""

    def __call__(self, data: bytes | str, /) -> Any:
        """The document as plain Python values."""
        ...


class Index:
    """Postings from values to nodes. Not locked and not bounded by itself: `citespan.core.ledger.Ledger` does both.

    Args:
        decode: reads JSON documents found in text leaves.
        sources: kept nodes per value; the first and the newest always stay.
    """

    def __init__(self, decode: Decode, sources: int) -> None:
        self._decode = decode
        self._most = max(2, sources)
        self._strings: Posting = {}
        self._numbers: Posting = {}
        self._others: Posting = {}
        self._keys: Posting = {}
        #: by hash alone, since the last parts of paths are held nowhere else; every candidate is tested anyway
        self._paths: Posting = {}
        self._texts: Posting = {}
        self._shapes: dict[tuple[str | None, str], Shape] = {}
        self._waiting: list[tuple[Node | None, Step, Any, Shape, str]] = []
        #: what declared projections and computations ask for; nothing until one does
        self.aspects = Aspects(self._shapes, self._numbers, self._post)
        self.leaves = 0

    @property
    def shapes(self) -> dict[tuple[str | None, str], Shape]:
        """The places of each tool's results, by server and tool."""
        return self._shapes

    def add(self, owner: Observation, document: Any) -> None:
        """Index one document. A bare scalar is read as `{"result": scalar}`, as MCP servers wrap it."""
        root = self._shapes.get((owner.server, owner.tool))
        if root is None:
            root = self._shapes[owner.server, owner.tool] = Shape(owner.tool)
        waiting = self._waiting
        if isinstance(document, dict | list):
            waiting.append((None, "", document, root, ""))
        else:
            node = Node(owner, None, "", {"result": document}, 0, None, root, "")
            root.objects.append(node)  # the key is ours, so it is not posted: nobody can cite it
            self._post_values([document], node, ["result"])
        while waiting:
            parent, step, container, place, via = waiting.pop()
            before = len(waiting)
            if type(container) is dict:
                self._add_object(owner, parent, step, container, place, via)
            else:
                self._add_list(owner, parent, step, container, place, via)
            if len(waiting) > before + 1:
                # in the order of the document: the first source is the one that is shown
                waiting[before:] = waiting[: before - 1 if before else None : -1]

    def _add_object(
        self,
        owner: Observation,
        parent: Node | None,
        step: Step,
        container: dict[str, Any],
        place: Shape,
        via: str,
    ) -> None:
        for part in _parts(container):
            node = Node(owner, parent, step, part, 0, None, place, via)
            place.objects.append(node)
            if place.owner[0] is not owner or place.owner[1] != part.keys():
                place.owner = (owner, part.keys())
                self._post_all(self._keys, part, node)
            self._post_values(list(part.values()), node, part)

    def _add_list(
        self,
        owner: Observation,
        parent: Node | None,
        step: Step,
        container: list[Any],
        place: Shape,
        via: str,
    ) -> None:
        for offset in range(0, len(container), PART):
            part = container[offset : offset + PART]
            keys = _record_keys(part)
            if keys is None:
                node = Node(owner, parent, step, container, offset, None, place, via)
                place.columns.setdefault("*", []).append(node)
                self._post_values(part, node, range(offset, offset + len(part)))
                continue
            inner = place.child("*")
            for key, column in zip(keys, zip(*map(dict.values, part), strict=True), strict=True):
                node = Node(owner, parent, step, container, offset, key, inner, via)
                inner.columns.setdefault(field_step(key), []).append(node)
                self._post(self._keys, key, node)
                self._post_values(column, node, range(offset, offset + len(part)))

    def _post_values(self, values: Sequence[Any], node: Node, steps: Iterable[Step]) -> None:
        """Post all members of a node."""
        self.leaves += len(values)
        if self.aspects.asked:
            self.aspects.take(node)
        try:
            joined = "\0".join(values)
        except TypeError:
            self._post_mixed(values, node, steps)
            return
        self._post_all(self._strings, values, node)
        if "/" in joined:
            self._post_paths(values, joined, node)
        if "{" in joined or "[" in joined:
            documents = [(step, value) for step, value in zip(steps, values, strict=True) if is_document(value)]
            if documents and _depth(node) < MAX_NESTED_JSON:
                for step, value in documents:
                    self._nested(value, node, step)
        if node.owner.text:
            for step, value in zip(steps, values, strict=True):
                self._post_texts(value, node, step)

    def _post_mixed(self, values: Sequence[Any], node: Node, steps: Iterable[Step]) -> None:
        kinds = set(map(type, values))
        if kinds <= {int, float}:
            self._post_all(self._numbers, values, node)
            return
        if kinds <= {bool, type(None)}:
            self._post_all(self._others, set(values), node)
            return
        if kinds == {str, type(None)}:
            self._post(self._others, None, node)
            said = [(step, value) for step, value in zip(steps, values, strict=True) if value is not None]
            self.leaves -= len(said)
            self._post_values([value for _, value in said], node, [step for step, _ in said])
            return
        text = node.owner.text
        depth = -1
        for step, value in zip(steps, values, strict=True):
            kind = type(value)
            if kind is str:
                self._post(self._strings, value, node)
                if "/" in value:
                    self._post_paths((value,), value, node)
                if value[:1] in "{[ \n\t\r" and is_document(value):
                    depth = depth if depth >= 0 else _depth(node)
                    if depth < MAX_NESTED_JSON:
                        self._nested(value, node, step)
                if text:
                    self._post_texts(value, node, step)
            elif kind is dict or kind is list:
                if value:
                    self.leaves -= 1
                    self._waiting.append((node, step, value, below(node, step), node.via))
                else:
                    self._post(self._others, kind, node)
            else:
                self._post(self._numbers if kind is int or kind is float else self._others, value, node)

    def _post_all(self, postings: Posting, keys: Iterable[Any], node: Node) -> None:
        keys = list(keys)
        known = list(map(postings.setdefault, keys, repeat(node)))
        if known.count(node) != len(known):
            for key, first in zip(keys, known, strict=True):
                if first is not node:
                    self._more(postings, key, first, node)

    def _post(self, postings: Posting, key: Any, node: Node) -> None:
        known = postings.setdefault(key, node)
        if known is not node:
            self._more(postings, key, known, node)

    def _more(self, postings: Posting, key: Any, known: Any, node: Node) -> None:
        if type(known) is not list:
            postings[key] = [known, node]
        elif known[-1] is not node:
            if len(known) >= self._most:
                # the middle is given up: the first source and the newest always stay
                del known[len(known) // 2]
            known.append(node)

    def _post_paths(self, values: Sequence[str], joined: str, node: Node) -> None:
        """Post last parts and normal forms of paths; what is posted too much is tested away when looked up."""
        # the two-character look-ups below scan the whole text; there are as few as there can be
        doubled = "//" in joined
        if doubled or " " in joined or "\n" in joined or "\t" in joined:
            lasts = [last for value in values if "/" in value and (last := basename(value)) is not None]
        else:
            lasts = [value.rpartition("/")[2] for value in values if "/" in value]
            if "" in lasts:
                doubled = True
                lasts = [value.rstrip("/").rpartition("/")[2] for value in values if "/" in value]
        self._post_all(self._paths, map(hash, lasts), node)
        if doubled or "/." in joined or joined[:2] == "./" or "\0./" in joined:
            for value in values:
                plain = normal_path(value) if "/" in value else None
                if plain is not None and plain != value:
                    self._post(self._paths, hash(plain), node)

    def _post_texts(self, value: str, node: Node, step: Step) -> None:
        place = below(node, step)
        for declared in node.owner.text:
            reads = reader(declared)
            if reads is None:
                continue
            name, pieces_of = reads
            pieces = list(dict.fromkeys(islice(pieces_of(value), MAX_PIECES)))
            if name == "json_lines":
                if pieces and _depth(node) < MAX_NESTED_JSON:
                    documents = [document for piece in pieces if (document := self._document(piece))]
                    if documents:
                        self._waiting.append((node, step, documents, place, name))
                continue
            self.leaves += len(pieces)
            for offset in range(0, len(pieces), PART):
                inner = Node(node.owner, node, step, pieces, offset, None, place, name)
                some = pieces[offset : offset + PART]
                place.pieces.append(inner)
                self._post_all(self._texts, some, inner)
                if name == "git_sha":
                    self._post_all(self._texts, [piece[:MIN_SHA] for piece in some if len(piece) > MIN_SHA], inner)
                if self.aspects.asked:
                    self.aspects.take(inner)

    def _nested(self, value: str, node: Node, step: Step) -> None:
        document = self._document(value)
        if document:
            self._waiting.append((node, step, document, below(node, step), "json"))

    def _document(self, value: str) -> Any:
        """A text as a JSON document; None where it is none, or nested deeper than it can be read."""
        try:
            return self._decode(value)
        except (ValueError, RecursionError):
            return None

    def find(self, value: Any, upto: int) -> list[Place]:
        """Every kept place, in observations with an ordinal below `upto`, from which a scalar follows."""
        found: list[Place] = []
        kind = type(value)
        if kind is not str:
            if kind is int or kind is float:
                posting = self._numbers.get(value)
            else:
                posting = self._others.get(kind if kind is list or kind is dict else value)
            if posting is not None:
                for node in each(posting, upto):
                    places.exact(node, value, found)
            return found
        if (posting := self._strings.get(value)) is not None:
            for node in each(posting, upto):
                places.exact(node, value, found)
        if not value:
            return found
        if (posting := self._keys.get(value)) is not None:
            for node in each(posting, upto):
                places.key(node, value, found)
        if (posting := self._paths.get(hash(value))) is not None:
            for node in each(posting, upto):
                places.path(node, value, value, found)
        if "/" in value and may_normalise(value) and (plain := normal_path(value)) is not None and plain != value:
            nodes = (*each(self._strings.get(plain), upto), *each(self._paths.get(hash(plain)), upto))
            for node in {id(node): node for node in nodes}.values():  # one that holds both forms is in both
                places.path(node, plain, value, found)
        if self._texts:
            self._find_pieces(value, upto, found)
        return found

    def _find_pieces(self, value: str, upto: int, found: list[Place]) -> None:
        nodes = {id(node): node for node in each(self._texts.get(value), upto)}
        if len(value) > MIN_SHA:
            for node in each(self._texts.get(value[:MIN_SHA]), upto):
                if node.via == "git_sha":
                    nodes[id(node)] = node
        for node in nodes.values():
            places.piece(node, value, found)

    def leaves_by_field(self) -> Iterator[tuple[Observation, str, Any]]:
        """Every leaf with its observation and field."""
        for node in places.nodes(self._shapes.values()):
            for step, value in places.members(node):
                if not isinstance(value, dict | list) or not value:
                    yield node.owner, places.field_of(Place(node, step, value, "exact")), value


def _depth(node: Node) -> int:
    """In how many texts a node's container stands, one inside the other."""
    depth, above = 0, node
    while above.parent is not None:
        depth += type(member(above.parent, above.step)) is str
        above = above.parent
    return depth


def _parts(container: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if len(container) <= PART:
        yield container
        return
    items = iter(container.items())
    while part := dict(islice(items, PART)):
        yield part


def _record_keys(part: Sequence[Any]) -> Any:
    """The keys that all members of a list share, None where they are not records of one kind."""
    first = part[0]
    if type(first) is not dict or not first or len(part) == 1 or set(map(type, part)) != {dict}:
        return None
    keys = list(first)
    return keys if list(map(list, part)).count(keys) == len(part) else None
