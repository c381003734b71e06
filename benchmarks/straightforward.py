"""The same rules written the plain way: every leaf is flattened, described and filed when the result comes in.

What one writes first: a recursion over the result, and for each leaf its path as text, its field, its keyed digest,
its shape, its last part, its normal form and the JSON inside it, all in one dict. The small functions that say what a
shape or a last part is are citespan's own, so that what is compared is the arrangement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from citespan.core.leaves import escape, field_step
from citespan.core.projections import basename, normal_path
from citespan.core.shapes import SHAPED, is_document, is_prose, shape

MAX_NESTED_JSON = 4


class Entry(NamedTuple):
    """One value that may be cited: a leaf, a key, or what follows from a leaf."""

    tool: str
    path: str
    field: str
    projection: str
    digest: str
    call: int


class Straightforward:
    """A ledger of leaves.

    Args:
        key: of the digests.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._entries: defaultdict[Any, list[Entry]] = defaultdict(list)
        self._shapes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._prose: set[str] = set()
        self._calls = 0

    def record(self, tool: str, result: Any) -> None:
        """File every leaf of a private copy of a result."""
        self._walk(tool, orjson.loads(orjson.dumps(result)), "", tool, "exact", 0)
        self._calls += 1

    def _walk(self, tool: str, value: Any, path: str, field: str, projection: str, depth: int) -> None:
        if isinstance(value, dict) and value:
            for key, member in value.items():
                inner = f"{path}.{escape(key)}" if path else escape(key)
                self._file(tool, key, inner, f"{field}.{field_step(key)}", "key")
                self._walk(tool, member, inner, f"{field}.{field_step(key)}", projection, depth)
        elif isinstance(value, list) and value:
            for index, member in enumerate(value):
                inner = f"{path}.{index}" if path else str(index)
                self._walk(tool, member, inner, f"{field}.*", projection, depth)
        else:
            self._leaf(tool, value, path, field, projection, depth)

    def _leaf(self, tool: str, value: Any, path: str, field: str, projection: str, depth: int) -> None:
        self._file(tool, value, path, field, projection)
        if not isinstance(value, str) or not value:
            return
        self._shapes[field][shape(value)] += 1
        if is_prose(value) and not is_document(value):
            self._prose.add(field)
        last = basename(value)
        if last is not None and last != value:
            self._file(tool, last, path, field, "basename")
        plain = normal_path(value) if "/" in value else None
        if plain is not None and plain != value:
            self._file(tool, plain, path, field, "posix_path")
        if depth < MAX_NESTED_JSON and is_document(value):
            try:
                document = orjson.loads(value)
            except ValueError:
                return
            self._walk(tool, document, path, field, "json", depth + 1)

    def _file(self, tool: str, value: Any, path: str, field: str, projection: str) -> None:
        digest = blake2b(repr(value).encode(), key=self._key, digest_size=8).hexdigest()
        self._entries[_typed(value)].append(Entry(tool, path, field, projection, digest, self._calls))

    def cite(self, value: Any) -> Entry | None:
        """The first entry that a value may cite: one whose field holds what looks like it."""
        for entry in self._entries.get(_typed(value), ()):
            if entry.projection == "key" or self._looks_like(value, entry.field):
                return entry
        return None

    def _looks_like(self, value: Any, field: str) -> bool:
        if not isinstance(value, str):
            return field not in self._prose
        if field in self._prose:
            return is_prose(value)
        own = shape(value)
        if own not in SHAPED:
            return True
        counts = self._shapes[field]
        return 2 * (counts[own] - 1) >= counts.total() - 1


def _typed(value: Any) -> Any:
    """A key under which only equal JSON values meet: numbers by value, true is not 1."""
    if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
        return (type(value), str(value))
    return value
