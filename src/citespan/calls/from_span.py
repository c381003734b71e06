"""From a span to the call that it tells of. Blind to what it does not know; wrong types read as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast, get_args

import orjson

from citespan import semconv
from citespan.calls.model import Argument, Call, Cited, Leaf, Link, Verdict
from citespan.calls.paths import head
from citespan.core.kinds import KINDS, Kind, Status
from citespan.otel.recognise import is_agent, tool_of
from citespan.traces.model import SpanRecord

_STATUSES: Final = frozenset(get_args(Status))
_KINDS: Final = frozenset(KINDS)
#: projections that a leaf's text in `provenance.leaves` leaves out
_EXACT: Final = "exact"


def is_run(span: SpanRecord) -> bool:
    """Whether a span is the run of an agent, whose end is what closed means (design section 4)."""
    return is_agent(span.attributes)


def call_of(span: SpanRecord) -> Call | None:
    """The tool call that a span tells of; None for a span that is no tool call.

    Example:
        >>> blank = SpanRecord("", "", "", "chat", 1, 0, 0, {}, (), (), "UNSET", "", {}, "", "", (0, 0, 0), "")
        >>> call_of(blank) is None
        True
    """
    said = span.attributes
    tool = _tool(span.name, said)
    if tool is None:
        return None
    counted = _texts(said.get(semconv.ASSUMED_FIELDS))
    return Call(
        tool=tool,
        status=_verdict(said),
        mode=_text(said.get(semconv.MODE)),
        policy=_text(said.get(semconv.POLICY)),
        budget=_number(said.get(semconv.BUDGET), -1),
        step=_text(said.get(semconv.STEP)),
        violations=_texts(said.get(semconv.VIOLATIONS)),
        assumed_fields=counted,
        uncited_tokens=_texts(said.get(semconv.UNCITED_TOKENS)),
        arguments=_arguments(said, counted),
        links=tuple(
            Link(
                link.trace_id,
                link.span_id,
                _text(link.attributes.get(semconv.LINK_SOURCE_TOOL)),
                _texts(link.attributes.get(semconv.LINK_ARGUMENTS)),
            )
            for link in span.links
            if semconv.LINK_ARGUMENTS in link.attributes
        ),
        mutating=_mutating(span),
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        start=span.start,
        end=span.end,
        run=_text(said.get(semconv.CONVERSATION_ID)),
        agent=_text(said.get(semconv.AGENT_NAME)),
        error=_text(said.get(semconv.ERROR_TYPE)),
        evicted=_number(said.get(semconv.EVICTED), 0),
        truncated=_texts(said.get(semconv.TRUNCATED)),
        unrecorded=_text(said.get(semconv.UNRECORDED)),
        digest_key=_text(said.get(semconv.DIGEST_KEY)),
        scope=span.scope,
        place=span.place,
    )


def _tool(name: str, said: Mapping[str, Any]) -> str | None:
    """The tool that a span says it calls, however badly it says so: what has a verdict was judged as a call."""
    tool = tool_of(name, said)
    if tool is not None:
        return tool
    operation = said.get(semconv.OPERATION)
    is_call = isinstance(operation, str) and operation.strip().casefold() == semconv.EXECUTE_TOOL
    if operation is not None and not isinstance(operation, str):  # of a wrong type: as if it was not there
        tool = tool_of(name, {key: value for key, value in said.items() if key != semconv.OPERATION})
    if tool is None and (is_call or semconv.STATUS in said):
        tool = _text(said.get(semconv.TOOL_NAME)) or name.removeprefix(f"{semconv.EXECUTE_TOOL} ")
    return tool


def _verdict(said: Mapping[str, Any]) -> Verdict:
    status = said.get(semconv.STATUS)
    if isinstance(status, str) and status in _STATUSES:
        return cast(Verdict, status)
    # who says both is no span of ours: a status that cannot be read is not made up for
    return "within" if said.get(semconv.WITHIN) is True and semconv.STATUS not in said else "none"


def _mutating(span: SpanRecord) -> bool | None:
    told = [event.attributes.get(semconv.TOOL_MUTATING) for event in span.events if event.name == semconv.EVENT_UNCITED]
    said = [each for each in told if isinstance(each, bool)]
    return any(said) if said else None


def _arguments(said: Mapping[str, Any], counted: tuple[str, ...]) -> tuple[Argument, ...]:
    leaves: dict[str, list[Leaf]] = {}
    for leaf in _leaves(said.get(semconv.LEAVES), frozenset(counted)):
        leaves.setdefault(head(leaf.path), []).append(leaf)
    took: dict[str, list[str]] = {}
    for path in counted:
        took.setdefault(head(path), []).append(path)
    found = []
    for key, kind in said.items():
        if not key.startswith(semconv.KIND) or not _is_kind(kind):
            continue
        name = key.removeprefix(semconv.KIND)
        found.append(
            Argument(
                name=name,
                kind=cast(Kind, kind),
                cited=_cited(said, name),
                projection=_text(said.get(semconv.PROJECTION + name)) or _EXACT,
                weak=said.get(semconv.WEAK + name) is True,
                digest=_text(said.get(semconv.DIGEST + name)),
                leaves=tuple(leaves.get(head(name), ())),
                counted=tuple(took.pop(head(name), ())),
                accepts=_texts(said.get(semconv.ACCEPTS + name)),
                nearest=_texts(said.get(semconv.NEAREST + name)),
                preview=_text(said.get(semconv.PREVIEW + name)),
            )
        )
    if took:  # of arguments that no schema declares, or that the span had no room for
        paths = tuple(path for group in took.values() for path in group)
        found.append(Argument(name=semconv.UNDECLARED, kind="assumed", counted=paths))
    return tuple(found)


def _cited(said: Mapping[str, Any], label: str) -> Cited | None:
    tool, field = _text(said.get(semconv.SOURCE_TOOL + label)), _text(said.get(semconv.SOURCE_FIELD + label))
    if not tool and not field:
        return None
    return Cited(tool, field, _text(said.get(semconv.SOURCE_SPAN + label)))


def _leaves(text: Any, counted: frozenset[str]) -> list[Leaf]:
    if not isinstance(text, str):
        return []
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    if not isinstance(found, list):
        return []
    leaves = []
    for each in found:
        if not isinstance(each, dict) or not _is_kind(each.get("kind")) or not isinstance(each.get("path"), str):
            continue
        source = _text(each.get("source"))
        tool, _, field = source.partition(".") if each["kind"] in {"observed", "derived"} else ("", "", source)
        leaves.append(
            Leaf(
                path=each["path"],
                kind=each["kind"],
                cited=Cited(tool, field) if source else None,
                projection=_text(each.get("projection")) or _EXACT,
                counted=each["path"] in counted,
            )
        )
    return leaves


def _is_kind(value: Any) -> bool:
    return isinstance(value, str) and value in _KINDS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _number(value: Any, default: int) -> int:
    return value if type(value) is int else default
