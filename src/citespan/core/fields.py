"""The fields that a ledger holds, and what they hold looks like: no value is kept (for `citespan.core.nearest`).

They are read off the places of the index, of each place only at the newest containers in view, so that the time does
not grow with the ledger. A tool's fields are read again when it has a newer result, and bounded everywhere: of very
many tools, places and members not all are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from weakref import ref

from citespan.core.field_reading import MAX_FIELDS_EACH, MAX_MEMBERS, Field, Reading, visible
from citespan.core.index import Index
from citespan.core.ledger import View
from citespan.core.places import Node, Shape
from citespan.core.uncited import Marks

#: tools whose fields are known, and fields of all of them together, newest tools first
MAX_TOOLS: Final = 256
MAX_FIELDS: Final = 512


class _Known(NamedTuple):
    """A tool's fields as they were read: up to which moment, and its newest result then."""

    upto: int
    last: int
    fields: tuple[Field, ...]


class Catalogue:
    """The fields of one ledger, kept from one question to the next. Ask under no other lock than the ledger's.

    Args:
        marks: uncited values that a call of the run may have stored: they, too, are no source.
    """

    __slots__ = ("_index", "_marks", "_tools")

    def __init__(self, marks: Marks | None = None) -> None:
        self._marks = Marks() if marks is None else marks
        #: weakly: an index that the ledger gave up must not live on here
        self._index: ref[Index] | None = None
        self._tools: dict[tuple[str | None, str], _Known] = {}

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
            # what was read for a later moment may tell an earlier one of what it cannot see
            if known is None or known.last != last or known.upto > upto:
                reading = Reading(key, upto, self._marks)
                known = _Known(upto, last, tuple(islice(reading.fields(root), MAX_FIELDS_EACH)))
            self._tools[key] = known
            found += known.fields
            if len(found) >= MAX_FIELDS:
                return found[:MAX_FIELDS]
        return found


def _first(root: tuple[int, Any, Any]) -> int:
    return root[0]


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
    seen = visible(nodes, upto)
    return nodes[seen - 1].owner.ordinal if seen else -1
