"""Which tool calls nobody judged. A framework's own span of a judged call is none of them.

| a call's span says | it is not unguarded where |
|---|---|
| nothing of a verdict | a judged call of the same tool is above it or below it |
| `unguarded` | a judged call of the same tool is below it: it waited for the guard, which opened a span of its own |
| `provenance.within` | a judged call of the same tool is above it; anybody can write the attribute |

The way up or down ends at a run (another agent's calls are others), at a judged call of another tool, at an id whose
spans differ in what they are, and after `DEPTH` spans. A refused call covers nothing below it: there its body ran.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from citespan.audit.citations import place
from citespan.audit.facts import identity_of
from citespan.audit.kept import Kept
from citespan.audit.store import CALL, RUN, SERVED, Store

#: spans between a call and a framework's own span of it
DEPTH: Final = 64
#: ids whose spans are remembered on the ways up, since neighbours share them
_REMEMBERED: Final = 8192

#: a trace's id and a span's -> the spans that have it
_Up: TypeAlias = Callable[[bytes, bytes], tuple[tuple[Any, ...], ...]]

_RAN: Final = frozenset({"ok", "flagged", "error"})
_VERDICTS: Final = frozenset({*_RAN, "blocked"})
_OPEN: Final = f"role = {CALL} AND status IN ('none', 'unguarded', 'within')"
_OUTER: Final = f"""
SELECT n, trace, parent, tool, status, flags FROM span WHERE role = {CALL} AND status IN ('none', 'within')
"""
_INSIDE: Final = f"""
SELECT n, trace, parent, tool FROM span s
WHERE role = {CALL} AND status IN ('ok', 'flagged', 'blocked', 'error') AND parent IS NOT NULL
  AND EXISTS (SELECT 1 FROM waiting w WHERE w.trace = s.trace AND w.tool = s.tool)
"""
_UP: Final = "SELECT parent, role, status, tool, n, flags FROM span WHERE trace = ? AND id = ? ORDER BY mark"
#: how the finding of each status says it
_MESSAGES: Final = {
    "none": "has no verdict: nobody judged it",
    "unguarded": "ran, or may have run, with nobody to stop it",
    "within": "says that it is part of a judged call of this tool, and is in none",
}


def find_unguarded(store: Store, kept: Kept) -> int:
    """Add a finding for each, and return how many calls there are, framework's own spans of judged ones not counted."""
    store.run("CREATE TEMP TABLE covered (n INTEGER PRIMARY KEY)")
    if store.one(f"SELECT 1 FROM span WHERE {_OPEN} LIMIT 1") is not None:
        _cover(store)
    for trace, span, start, tool, status, source, line in store.rows(
        f"SELECT trace, id, start, tool, status, source, line FROM span "
        f"WHERE {_OPEN} AND n NOT IN (SELECT n FROM covered)"
    ):
        kept.add(
            "unguarded",
            _MESSAGES[status],
            time=start,
            tool=store.text(tool),
            trace_id=identity_of(trace),
            span_id=identity_of(span),
            place=place(store, source, line),
        )
    row = store.one(
        f"SELECT count(*) FROM (SELECT 1 FROM span WHERE role = {CALL} AND n NOT IN (SELECT n FROM covered) "
        "GROUP BY trace, id)"
    )
    return 0 if row is None else int(row[0])


def _cover(store: Store) -> None:
    up = lru_cache(_REMEMBERED)(lambda trace, span: tuple(store.rows(_UP, trace, span)))
    store.run(f"CREATE TEMP TABLE waiting AS SELECT DISTINCT trace, tool FROM span WHERE {_OPEN}")
    store.run("CREATE INDEX temp.by_tool ON waiting (trace, tool)")
    for n, trace, parent, tool, status, flags in store.rows(_OUTER):
        way = _above(up, trace, parent, flags)
        judged = any(above.status in _RAN and above.tool == tool for above in way.spans)
        # what lies above a span that is lost cannot be known, and the loss is a finding
        if judged or (status == "within" and way.lost):
            store.run("INSERT OR IGNORE INTO covered VALUES (?)", n)
    for _, trace, parent, tool in store.rows(_INSIDE):
        for above in _above(up, trace, parent, 0).spans:
            if above.status in {"none", "unguarded"} and above.tool == tool:
                for n in above.numbers:
                    store.run("INSERT OR IGNORE INTO covered VALUES (?)", n)


class _Span(NamedTuple):
    """A span on the way up; `numbers` are those of all spans of its id."""

    status: str | None
    tool: int | str | None
    numbers: tuple[int, ...]


class _Way(NamedTuple):
    """The spans above one, up to a run or a judged call, which is the last; `lost`: ends where a span is missing."""

    spans: list[_Span]
    lost: bool


def _above(up: _Up, trace: bytes, parent: bytes | None, flags: int) -> _Way:
    found: dict[bytes, _Span] = {}
    while parent is not None and len(found) < DEPTH and parent not in found:
        versions = up(trace, parent)
        if not versions:
            return _Way(list(found.values()), not flags & SERVED)
        at, (parent, role, status, tool, _, flags) = parent, versions[0]
        if role == RUN or any(version[:4] != versions[0][:4] for version in versions):
            break
        found[at] = _Span(status, tool, tuple(version[4] for version in versions))
        if status in _VERDICTS:
            break
    return _Way(list(found.values()), lost=False)
