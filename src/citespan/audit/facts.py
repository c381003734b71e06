"""From a span to the rows that the audit keeps of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

import orjson

from citespan import semconv
from citespan.audit.alone import Flaw, comparable
from citespan.audit.store import CALL, OTHER, OWN, RUN, SERVED, CitationRow, SpanRow, Store, encodable
from citespan.audit.texts import MAX_MESSAGE, clean
from citespan.calls import Call, is_run
from citespan.traces.model import SpanRecord

_MOST: Final = 2**63 - 1
#: kinds whose parent is in another process: SERVER, CONSUMER
_SERVED: Final = frozenset({2, 5})
#: hex digits of a span's id, and of a trace's
_DIGITS: Final = frozenset({16, 32})


class Facts:
    """Makes rows; remembers the last resource, since spans come in groups of one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._resource: Mapping[str, Any] | None = None
        self._process = 0

    def span(self, span: SpanRecord, call: Call | None, flaws: Iterable[Flaw]) -> SpanRow:
        """The row of a span; `call` is what it tells of, None for no tool call."""
        name = self._store.name
        source, _, line = span.place.rpartition(":")
        if not line.isascii() or not line.isdecimal() or len(line) > 18:
            source, line = span.place, "0"
        found = [[flaw.rule, clean(flaw.argument), clean(flaw.message, MAX_MESSAGE)] for flaw in flaws]
        return SpanRow(
            key(span.trace_id),
            key(span.span_id),
            key(span.parent_id) if span.parent_id else None,
            start := _bounded(span.start),
            # a clock that was set back, or a forged time: nothing ends before it starts
            max(start, _bounded(span.end)) if span.end > 0 else 0,
            CALL if call is not None else RUN if is_run(span) else OTHER,
            (SERVED if span.remote or span.kind in _SERVED else 0) | (OWN if span.scope == semconv.SCOPE else 0),
            self._of(span.resource),
            mark(span),
            name(source),
            int(line),
            None if call is None else name(call.tool),
            None if call is None else call.status,
            None if call is None else teaches(span, call),
            name(call.policy) if call is not None and call.policy else None,
            orjson.dumps(found) if found else None,
        )

    def citations(self, call: Call) -> list[CitationRow]:
        """What a call cites: by its links, and by the span ids beside its arguments."""
        name = self._store.name
        rows: dict[tuple[str, str, str], CitationRow] = {}
        trace_of: dict[str, str] = {}
        for link in call.links:
            trace_of.setdefault(link.span_id, link.trace_id)
            for label in link.arguments or ("",):
                rows[link.trace_id, link.span_id, label] = CitationRow(
                    key(link.trace_id), key(link.span_id), name(label), name(link.tool), None, None, None
                )
        for argument in call.arguments:
            cited = argument.cited
            if cited is None or not cited.span_id:
                continue
            # the link has the trace; where it was lost, the source is of this trace, as nearly all are
            trace = trace_of.get(cited.span_id, call.trace_id)
            row = CitationRow(key(trace), key(cited.span_id), name(argument.name), name(cited.tool), None, None, None)
            if comparable(call, argument):
                row = row._replace(
                    field=name(cited.field), key=name(call.digest_key), digest=encodable(argument.digest)
                )
            rows[trace, cited.span_id, argument.name] = row
        return list(rows.values())

    def _of(self, resource: Mapping[str, Any]) -> int:
        if resource is not self._resource:
            self._resource = resource
            self._process = int.from_bytes(blake2b(_plain(resource), digest_size=6).digest(), "big")
        return self._process


def teaches(span: SpanRecord, call: Call) -> bool:
    """Whether a result of the call can have become an observation: a failed call teaches nothing (design section 2)."""
    return not (call.status == "blocked" or call.error or span.status == "ERROR" or call.unrecorded)


def mark(span: SpanRecord) -> bytes:
    """A digest of what a span says, wherever it was read, and whoever's resource came with it."""
    said = (
        span.parent_id, span.name, span.kind, span.start, span.end, span.attributes, span.status, span.message,
        span.scope, span.dropped, [tuple(event) for event in span.events], [tuple(link) for link in span.links],
    )  # fmt: skip
    return blake2b(_plain(said), digest_size=16).digest()


def _plain(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError):  # an integer of more than 64 bits, a lone surrogate, nested too deep
        try:
            return repr(value).encode("utf-8", "backslashreplace")
        except (RecursionError, ValueError):  # far too deep; an integer of thousands of digits
            return b"unreadable"


def key(identity: str) -> bytes:
    """An id as it is kept, 8 or 16 bytes; one that is none has other lengths. `identity_of` is the way back."""
    if len(identity) in _DIGITS and identity.isalnum():
        with suppress(ValueError):
            return bytes.fromhex(identity)
    text = b"?" + identity.encode("utf-8", "backslashreplace")
    return text if 2 * len(text) not in _DIGITS else text + b"\0"


def identity_of(kept: bytes | None) -> str:
    """An id as files have it.

    Example:
        >>> identity_of(key("00f067aa0ba902b7")), identity_of(key("my span"))
        ('00f067aa0ba902b7', 'my span')
    """
    if kept is None:
        return ""
    return kept.hex() if 2 * len(kept) in _DIGITS else kept[1:].rstrip(b"\0").decode("utf-8", "replace")


def _bounded(number: int) -> int:
    return min(max(number, 0), _MOST)
