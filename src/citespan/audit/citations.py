"""Where citations lead: across spans, whichever file they are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from citespan.audit.facts import identity_of
from citespan.audit.kept import Kept
from citespan.audit.store import CALL, Store
from citespan.audit.texts import MAX_NAME

#: nanoseconds that a source may seem to end too late: the guard keeps a result an instant before it ends the span, and
#: some formats round times
ALLOWANCE: Final = 10_000_000
#: nanoseconds by which clocks of two processes may differ before it is no accident
SKEW: Final = 60_000_000_000

_BROKEN: Final = f"""
SELECT c.trace, c.id, c.argument, c.tool, a.trace, a.id, a.start, a.tool, a.source, a.line, a.process,
       b.n, b.end, b.role, b.status, b.tool, b.teaches, b.process, a.n
FROM citation c JOIN span a ON a.n = c.n LEFT JOIN span b ON b.trace = c.trace AND b.id = c.id
WHERE b.n IS NULL OR b.n = a.n OR b.role <> {CALL} OR NOT b.teaches OR b.tool <> c.tool
   OR (a.start > 0 AND (b.end = 0 OR b.end > a.start + {ALLOWANCE}))
"""
_DIGESTS: Final = """
SELECT c.trace, c.id, c.tool, c.field, c.key, c.digest, c.argument, a.trace, a.id, a.start, a.tool, a.source, a.line
FROM citation c JOIN span a ON a.n = c.n WHERE c.digest IS NOT NULL
ORDER BY c.trace, c.id, c.tool, c.field, c.key, a.start, a.trace, a.id, c.argument, c.digest
"""


def find_broken(store: Store, kept: Kept) -> None:
    """Citations that lead nowhere, forward in time, or to what cannot be a source."""
    for row in store.rows(_BROKEN):
        trace, span, argument, tool, at_trace, at, start, citing, source, line, process, *target = row
        for rule, message in _wrong(store, trace, span, store.text(tool), at_trace, start, process, *target):
            kept.add(
                rule,
                message,
                time=start,
                tool=store.text(citing),
                argument=store.text(argument),
                trace_id=identity_of(at_trace),
                span_id=identity_of(at),
                place=place(store, source, line),
            )


def _wrong(
    store: Store,
    trace: bytes,
    span: bytes,
    tool: str,
    at_trace: bytes,
    start: int,
    process: int,
    n: int | None,
    end: int,
    role: int,
    status: str,
    called: int | str,
    teaches: bool,
    of_process: int,
    citing: int,
) -> Iterator[tuple[str, str]]:
    shown = f"{tool or 'a source'} (span {identity_of(span)})"
    if n is None:
        if trace != at_trace and store.one("SELECT 1 FROM span WHERE trace = ? LIMIT 1", trace) is None:
            yield "absent-trace", f"cites {shown} of trace {identity_of(trace)}, of which no span is here"
        else:
            yield "dead-citation", f"cites {shown}, which is missing from its trace"
        return
    if n == citing:
        yield "self-citation", "cites its own span"
        return
    if role != CALL:
        yield "wrong-source", f"cites {shown}, which is no tool call"
        return
    really = store.text(called)
    if tool and tool[: MAX_NAME - 1] != really[: MAX_NAME - 1]:
        yield "wrong-source", f"cites {shown}, which is a call of {really}"
    if not teaches:
        yield (
            "failed-source",
            f"cites {shown}, which {'was refused' if status == 'blocked' else 'failed, or taught nothing'}",
        )
    if start and not end:
        yield "later-citation", f"cites {shown}, which has not ended"
    elif start and end > start + ALLOWANCE:
        late = f"cites {shown}, which ended {_seconds(end - start)} after this call started"
        if process != of_process and end - start <= SKEW:
            yield "clock-skew", f"{late}, in another process"
        else:
            yield "later-citation", late


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3g} s"


def find_digests(store: Store, kept: Kept) -> None:
    """Arguments that cite one leaf by `exact`, under one digest key, and are not of one value."""
    for _, group in groupby(store.rows(_DIGESTS), key=lambda row: row[:5]):
        first: tuple[Any, ...] | None = None
        for row in group:
            if first is None:
                first = row
            elif row[5] != first[5]:
                _, span, tool, field, _, _, argument, trace, at, start, citing, source, line = row
                kept.add(
                    "digest-mismatch",
                    f"cites {store.text(tool)}.{store.text(field)} (span {identity_of(span)}) with another digest than "
                    f"{store.text(first[10])}.{store.text(first[6])} (span {identity_of(first[8])}) does",
                    time=start,
                    tool=store.text(citing),
                    argument=store.text(argument),
                    trace_id=identity_of(trace),
                    span_id=identity_of(at),
                    place=place(store, source, line),
                )


def place(store: Store, source: int | str, line: int) -> str:
    """Where a span was read, as its record says it."""
    name = store.text(source)
    return f"{name}:{line}" if line else name
