"""The ledger's index written the slow way: a plain list of leaves, searched from end to end by the same rules.

`citespan.core.index` must find exactly what this finds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from citespan.core.equality import same
from citespan.core.leaves import Path
from citespan.core.projections import basename, normal_path
from citespan.core.shapes import is_document

#: documents inside documents are read this deep
MAX_DOCUMENTS = 4


class Held(NamedTuple):
    """A leaf, or a key, of an observed document."""

    call: int
    path: Path
    value: Any
    inside: int
    is_key: bool


def leaves(call: int, document: Any) -> list[Held]:
    """Every leaf and key of one result."""
    # a bare scalar stands at `result`, a name that the tool did not give it and that nobody can cite
    return list(_walk(call, () if isinstance(document, dict | list) else ("result",), document, 0))


def _walk(call: int, path: Path, value: Any, inside: int) -> Iterator[Held]:
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield Held(call, (*path, key), key, inside, True)
            yield from _walk(call, (*path, key), member, inside)
    elif isinstance(value, list) and value:
        for index, member in enumerate(value):
            yield from _walk(call, (*path, index), member, inside)
    else:
        yield Held(call, path, value, inside, False)
        if isinstance(value, str) and inside < MAX_DOCUMENTS and is_document(value):
            try:
                document = json.loads(value)
            except ValueError:
                return
            if document:
                yield from _walk(call, path, document, inside + 1)


def projection(held: Held, value: Any) -> str:
    """How a value follows from what is held, "" where it does not; both path projections are "path"."""
    if held.is_key:
        return "key" if same(held.value, value) and value != "" else ""
    if same(held.value, value):
        return "json" if held.inside else "exact"
    if type(held.value) is not str or type(value) is not str or not value:
        return ""
    wanted = {value, normal_path(value) or value} if "/" in value else {value}
    return "path" if {basename(held.value), normal_path(held.value)} & wanted else ""


def search(everything: list[Held], value: Any) -> set[tuple[int, Path, str]]:
    """(call, path, projection) of everything that a value follows from."""
    return {(held.call, held.path, how) for held in everything if (how := projection(held, value))}
