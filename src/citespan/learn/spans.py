"""What a trace shows: kinds, sources and projections of arguments. It has no values, and needs none.

A trace file holds spans in any order, so each span is read by itself; the spans of one trace are one run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

import orjson

from citespan import semconv
from citespan.core.kinds import KINDS, Kind
from citespan.core.leaves import field_step
from citespan.learn.evidence import Explained, Explanation, Fact
from citespan.learn.probe import is_argument_projection, is_text_projection
from citespan.traces.model import SpanRecord


def is_judged(span: SpanRecord) -> bool:
    """Whether a span is that of a tool call that citespan judged and that was not refused or broken."""
    return span.attributes.get(semconv.STATUS) in {"ok", "flagged"} and semconv.TOOL_NAME in span.attributes


def key(span: SpanRecord) -> int:
    """What the call shares with its near-copies: the tool and the digests of its arguments, which are keyed. Hashed."""
    digests = {name: value for name, value in span.attributes.items() if name.startswith(semconv.DIGEST)}
    data = orjson.dumps([span.attributes[semconv.TOOL_NAME], digests], option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.blake2b(data, digest_size=12).digest(), "big")


def facts(span: SpanRecord) -> Iterator[Fact]:
    """One fact for each argument, or for each leaf of an argument that has several."""
    attributes = span.attributes
    tool = str(attributes[semconv.TOOL_NAME])
    mutating = only_reads(span) is not True
    several = {str(leaf["path"]).partition(".")[0]: None for leaf in _leaves(attributes)}
    for leaf in _leaves(attributes):
        source = str(leaf.get("source") or "")
        yield _fact(tool, _pattern(str(leaf["path"])), mutating, leaf["kind"], source, leaf.get("projection"), False)
    for name, kind in attributes.items():
        if not name.startswith(semconv.KIND):
            continue
        argument = name.removeprefix(semconv.KIND)
        if argument in several or argument == semconv.UNDECLARED:
            continue
        source_tool = attributes.get(semconv.SOURCE_TOOL + argument)
        field = attributes.get(semconv.SOURCE_FIELD + argument)
        source = f"{source_tool}.{field}" if source_tool and field else ""
        projection = attributes.get(semconv.PROJECTION + argument)
        yield _fact(tool, argument, mutating, kind, source, projection, bool(attributes.get(semconv.WEAK + argument)))


def _fact(tool: str, argument: str, mutating: bool, kind: Any, source: str, projection: Any, weak: bool) -> Fact:
    name: Kind = cast(Kind, kind) if kind in KINDS else "assumed"
    field = _field(source) if source and name == "observed" else ""
    explained: tuple[Explained, ...] = ()
    if field and isinstance(projection, str):
        if is_text_projection(projection):
            explained = (Explained(Explanation("text", field.partition(".")[0], projection)),)
        elif is_argument_projection(projection):
            explained = (Explained(Explanation("argument", field, projection)),)
    fields = (field,) if field else ()
    return Fact(tool, argument, mutating, False, None, "other", name, weak, fields, explained)


def only_reads(span: SpanRecord) -> bool | None:
    """Whether the tool was known to only read; None where the span does not say."""
    said = {event.attributes.get(semconv.TOOL_MUTATING) for event in span.events} - {None}
    return said == {False} if said else None


def _leaves(attributes: Any) -> list[dict[str, Any]]:
    text = attributes.get(semconv.LEAVES)
    if not isinstance(text, str):
        return []
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return [leaf for leaf in found if isinstance(leaf, dict) and "path" in leaf and "kind" in leaf]


def _pattern(path: str) -> str:
    return ".".join("*" if step.isdecimal() else step for step in path.split("."))


def _field(source: str) -> str:
    tool, _, path = source.partition(".")
    return ".".join([tool, *("*" if step.isdecimal() else field_step(step) for step in path.split("."))])
