"""How spans hang together: parents, ends, runs, ids. Nothing here is about where values came from."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from citespan.audit.citations import place
from citespan.audit.facts import identity_of
from citespan.audit.kept import Kept
from citespan.audit.store import CALL, OWN, RUN, SERVED, Store
from citespan.calls.words import number

_PARENTS: Final = f"""
SELECT c.trace, c.parent, c.id, c.start, c.tool, c.source, c.line, c.flags,
       p.n, p.start, p.tool, p.source, p.line, c.process = p.process
FROM span c LEFT JOIN span p ON p.trace = c.trace AND p.id = c.parent
WHERE c.parent IS NOT NULL
  AND (p.n IS NULL OR (c.start > 0 AND c.start < p.start) OR (p.status = 'blocked' AND p.flags & {OWN}))
ORDER BY c.trace, c.parent, c.start, c.id, c.mark
"""
_UNENDED: Final = "SELECT trace, id, start, tool, source, line, end FROM span WHERE end = 0 OR start = 0"
_UNCLOSED: Final = f"""
SELECT trace, sum(role = {CALL}) AS calls FROM span GROUP BY trace
HAVING calls > 0 AND max(role = {RUN} AND end > 0) = 0
"""
_FIRST_CALL: Final = f"""
SELECT id, start, tool, source, line FROM span WHERE trace = ? AND role = {CALL} ORDER BY start, id, mark LIMIT 1
"""
_CONFLICTS: Final = """
SELECT s.trace, s.id, s.start, s.tool, s.source, s.line, x.versions FROM span s
JOIN (SELECT trace, id, count(*) AS versions FROM span GROUP BY trace, id HAVING versions > 1) x
  ON x.trace = s.trace AND x.id = s.id
ORDER BY s.trace, s.id, s.start, s.mark
"""


def find_parents(store: Store, kept: Kept) -> None:
    """Parents that are missing, that start after their child, or that never ran and have children all the same."""
    for (trace, parent), group in groupby(store.rows(_PARENTS), key=lambda row: row[:2]):
        first: Any = None  # the first child is enough: there may be millions
        orphans = served = 0
        refused = False
        for row in group:
            _, _, *child, flags, found, above, parent_tool, above_source, above_line, near = row
            start = child[1]
            if found is None:
                served += bool(flags & SERVED)
                orphans += 1
                first = first or child
                continue
            if 0 < start < above:
                elsewhere = "" if near else ", in another process: their clocks may differ"
                message = f"starts {(above - start) / 1e9:.3g} s before its parent {identity_of(parent)}{elsewhere}"
                _add(store, kept, "early-child", message, trace, child)
            elif not refused:
                refused = True
                message = "status blocked, and yet something ran inside it"
                refused_span = (parent, above, parent_tool, above_source, above_line)
                _add(store, kept, "inconsistent", message, trace, refused_span)
        if first is not None:
            rule = "remote-parent" if served == orphans else "missing-parent"
            message = f"parent {identity_of(parent)} of {number(orphans, 'span')} is in none of the files"
            _add(store, kept, rule, message, trace, first)


def find_open(store: Store, kept: Kept) -> None:
    """Spans without an end, and traces with tool calls whose run has none."""
    for trace, *row, end in store.rows(_UNENDED):
        _add(store, kept, "unended-span", "has no start" if end else "has no end", trace, row)
    for trace, calls in store.rows(_UNCLOSED):
        first = store.one(_FIRST_CALL, trace)
        if first is not None:
            _add(store, kept, "unclosed-run", f"{number(calls, 'call')}, and no run that ended", trace, first)


def find_conflicts(store: Store, kept: Kept) -> None:
    """Ids that more than one span has; those of more than can be held against each other may hide anything."""
    for (trace, span), group in groupby(store.rows(_CONFLICTS), key=lambda row: row[:2]):
        *row, versions = next(group)[1:]
        crowd = store.one("SELECT versions FROM crowd WHERE trace = ? AND id = ?", trace, span)
        if crowd is None:
            _add(store, kept, "conflicting-spans", f"{versions} spans have this id, and differ", trace, row)
        else:
            message = f"{crowd[0]:,} spans have this id, and differ: {versions} of them were audited"
            _add(store, kept, "inconsistent", message, trace, row)


def _add(store: Store, kept: Kept, rule: str, message: str, trace: bytes, row: Any) -> None:
    span, start, tool, source, line = row
    kept.add(
        rule,
        message,
        time=start,
        tool=store.text(tool),
        trace_id=identity_of(trace),
        span_id=identity_of(span),
        place=place(store, source, line),
    )
