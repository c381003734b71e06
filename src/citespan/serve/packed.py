"""Spans in few bytes, whose number is known: what a store of them has to count.

A span as Python values takes about ten times the bytes that came over the wire, and nobody knows how many exactly.
Each is one `marshal` text here, without its resource and scope, which a batch of spans has once. Nothing but this
process ever reads what it wrote.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from citespan.traces.model import EventRecord, LinkRecord, SpanRecord

#: without references between equal objects, so that equal spans are equal bytes
_VERSION: Final = 2
#: times are 64 bits on the wire, and no clock says more than this
_LATEST: Final = 2**63


class Unfit(ValueError):
    """A span that cannot be kept; the text says why, without a value."""


class Batch(NamedTuple):
    """Spans of one trace that came together from one scope of one resource.

    Args:
        trace_id: 32 hex digits. origin: resource, scope and its version, packed. spans: each packed.
        cites: other traces that links lead to.
    """

    trace_id: str
    origin: bytes
    spans: tuple[bytes, ...]
    cites: frozenset[str] = frozenset()


def pack(span: SpanRecord) -> bytes:
    """A span without what its batch says.

    Raises:
        Unfit: it is nested too deep, or its times are no times.
    """
    if not (0 <= span.start < _LATEST and 0 <= span.end < _LATEST):
        raise Unfit("a time that no clock shows")
    try:
        return marshal.dumps(
            (
                span.span_id,
                span.parent_id,
                span.name,
                span.kind,
                span.start,
                span.end,
                _plain(span.attributes),
                tuple((each.name, each.time, _plain(each.attributes)) for each in span.events),
                tuple((each.trace_id, each.span_id, _plain(each.attributes)) for each in span.links),
                span.status,
                span.message,
                span.dropped,
            ),
            _VERSION,
        )
    except ValueError as error:
        raise Unfit("attributes that are nested too deep") from error


def pack_origin(resource: Mapping[str, Any], scope: str, version: str) -> bytes:
    """What the spans of a batch have in common.

    Raises:
        Unfit: it is nested too deep.
    """
    try:
        return marshal.dumps((_plain(resource), scope, version), _VERSION)
    except ValueError as error:
        raise Unfit("a resource that is nested too deep") from error


def unpack(batch: Batch) -> Iterator[SpanRecord]:
    """The spans of a batch as they came."""
    resource, scope, version = marshal.loads(batch.origin)
    for packed in batch.spans:
        (span_id, parent_id, name, kind, start, end, said, events, links, status, message, dropped) = marshal.loads(
            packed
        )
        yield SpanRecord(
            batch.trace_id,
            span_id,
            parent_id,
            name,
            kind,
            start,
            end,
            said,
            tuple(EventRecord(*each) for each in events),
            tuple(LinkRecord(*each) for each in links),
            status,
            message,
            resource,
            scope,
            version,
            dropped,
            "",
        )


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return attributes if type(attributes) is dict else dict(attributes)
