"""What is wrong with a call by what its own span says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from citespan import semconv
from citespan.audit.texts import some
from citespan.calls import Argument, Call
from citespan.calls.model import Verdict, rank
from citespan.calls.paths import head
from citespan.calls.words import number, violation
from citespan.core.kinds import KINDS, Kind
from citespan.core.leaves import MAX_LEAVES
from citespan.otel.digest import Digester
from citespan.traces.model import SpanRecord

_JUDGED: Final = frozenset({"ok", "flagged", "blocked"})
_UNTOLD: Final = frozenset({"none", "within"})
#: entries of `provenance.truncated` that are looked at; the guard writes fewer
_MOST_CUTS: Final = 64
_DROPPED: Final = ("attribute", "event", "link")
#: status -> rule, and what happened
_VERDICTS: Final[dict[Verdict, tuple[str, str]]] = {
    "blocked": ("blocked", "refused"),
    "flagged": ("flagged", "ran over its budget"),
    "error": ("guard-error", "ran although the guard failed"),
}


class Flaw(NamedTuple):
    """A finding without its place."""

    rule: str
    argument: str
    message: str


def flaws(span: SpanRecord, call: Call, digester: Digester | None) -> Iterator[Flaw]:
    """Everything that one span shows.

    Args:
        digester: of the key that is at hand, None for none: then content is not held against digests.
    """
    yield from _verdict(call)
    yield from _contradictions(span, call)
    lost = [number(count, what) for count, what in zip(span.dropped, _DROPPED, strict=True) if count > 0]
    if lost:
        yield Flaw("lost-attributes", "", f"the SDK dropped {', '.join(lost)}")
    else:
        yield from _gaps(span, call)
    if call.truncated:
        yield Flaw("truncated", "", f"left out to stay in the span's limits: {some(call.truncated)}")
    if digester is not None and call.digest_key == digester.key_id:
        yield from _content(span.attributes, call, digester)


def _verdict(call: Call) -> Iterator[Flaw]:
    known = _VERDICTS.get(call.status)
    if known is not None:
        counted = {argument.name for argument in call.arguments if argument.counted}
        argument = counted.pop() if len(counted) == 1 else ""
        yield Flaw(
            known[0], argument, f"{known[1]}, {some(tuple(map(violation, call.violations))) or 'no reason is given'}"
        )


def _contradictions(span: SpanRecord, call: Call) -> Iterator[Flaw]:
    """What one part of a span says against another: that attributes were lost explains none of it."""
    if call.status in _UNTOLD:
        if semconv.STATUS in span.attributes:
            yield Flaw("inconsistent", "", "its status is none that there is")
        if call.violations or call.assumed_fields:
            yield Flaw("inconsistent", "", "violations, without a status")
    if call.error == semconv.ERROR_DENIED and call.status != "blocked":
        yield Flaw("inconsistent", "", f"error.type says refused, and status {call.status}")
    if call.status == "ok" and call.mode != "off":
        took = _took(span, call)
        if 0 <= call.budget < took:
            yield Flaw("inconsistent", "", f"status ok, with {took} counted and {call.budget} allowed")
        if call.violations:
            yield Flaw("inconsistent", "", f"status ok, with violations: {some(call.violations)}")
    if call.status in _JUDGED:
        for argument in call.arguments:
            worst = _worst(argument)
            if worst is not None and rank(worst) > rank(argument.kind):
                yield Flaw("inconsistent", argument.name, f"kind {argument.kind}, while its worst leaf is {worst}")


def _took(span: SpanRecord, call: Call) -> int:
    """How many leaves took from the budget: each is named, and has an event."""
    return max(len(call.assumed_fields), sum(event.name == semconv.EVENT_UNCITED for event in span.events))


def _worst(argument: Argument) -> Kind | None:
    return max((leaf.kind for leaf in argument.leaves), key=rank, default=None)


def _gaps(span: SpanRecord, call: Call) -> Iterator[Flaw]:
    """What a span that lost nothing does not say, and would if the guard had written it."""
    if call.status == "ok" and call.mode != "off" and call.budget < 0 and (took := _took(span, call)):
        yield Flaw("inconsistent", "", f"status ok, with {took} counted, and no budget")
    if call.status in {"blocked", "flagged"} and not call.violations:
        yield Flaw("inconsistent", "", f"status {call.status}, with no violation")
    if call.status == "blocked" and not call.error:
        yield Flaw("inconsistent", "", "status blocked, without error.type")
    if call.status in _JUDGED:
        yield from _sourceless(call)
        yield from _miscounted(span.attributes, call)


def _sourceless(call: Call) -> Iterator[Flaw]:
    """Arguments that are `observed` in nothing, or in what left no span."""
    if any(entry.startswith("sources=") for entry in call.truncated[:_MOST_CUTS]):
        return
    linked = {label for link in call.links for label in link.arguments}
    for argument in call.arguments:
        cited = argument.cited
        if any(leaf.kind == "observed" and leaf.cited is None for leaf in argument.leaves):
            yield Flaw("inconsistent", argument.name, "a leaf of kind observed, and no source")
        elif argument.kind != "observed":
            continue
        elif cited is None or not cited.tool:
            yield Flaw("inconsistent", argument.name, "kind observed, and no source")
        elif not cited.span_id and argument.name not in linked:
            yield Flaw("untraced-source", argument.name, f"cites {cited.shown} of a call that has no span")


def _miscounted(said: Mapping[str, Any], call: Call) -> Iterator[Flaw]:
    counts = {kind: _count(said.get(semconv.COUNT + kind)) for kind in KINDS}
    seen: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    whole = _is_whole(call)
    for argument in call.arguments:
        if argument.name == semconv.UNDECLARED:
            continue
        for kind in [leaf.kind for leaf in argument.leaves] or [argument.kind]:
            seen[kind] += 1
        worst = _worst(argument)
        if whole and worst is not None and rank(worst) < rank(argument.kind):
            yield Flaw("inconsistent", argument.name, f"kind {argument.kind}, while its worst leaf is {worst}")
    for kind in KINDS:
        if seen[kind] > counts[kind]:
            yield Flaw("inconsistent", "", f"{seen[kind]} leaves of kind {kind} are shown, and {counts[kind]} counted")
    # a framework's span that was nearly full has room for neither kinds nor counts
    shown = any(counts.values()) or any(argument.name != semconv.UNDECLARED for argument in call.arguments)
    if shown and len(call.assumed_fields) > sum(counts.values()):
        yield Flaw("inconsistent", "", "more leaves took from the budget than there are")


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def _is_whole(call: Call) -> bool:
    """Whether the span shows every leaf of the arguments that it shows."""
    return not any(entry.startswith("leaves=") for entry in call.truncated[:_MOST_CUTS])


def comparable(call: Call, argument: Argument) -> bool:
    """Whether an argument's digest is that of the value that its source holds, so that two of them must be equal.

    The first cited leaf must be observed (a computed one has another value), by `exact`, in a field without a `*`.
    """
    cited = argument.cited
    if cited is None or not cited.tool or not cited.field or not argument.digest or argument.projection != "exact":
        return False
    if "*" in cited.field:
        return False
    if not argument.leaves:
        return argument.kind == "observed"
    first = next((leaf for leaf in argument.leaves if leaf.cited is not None), None)
    return first is not None and first.kind == "observed" and _is_whole(call)


def _content(said: Mapping[str, Any], call: Call, digester: Digester) -> Iterator[Flaw]:
    """The arguments on the span, where there are any, held against the digests."""
    text = said.get(semconv.TOOL_CALL_ARGUMENTS)
    if isinstance(text, str):
        try:
            text = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
    if not isinstance(text, dict):
        return
    for argument in call.arguments:
        name = head(argument.name)
        if argument.digest and name in text and argument.digest not in _digests(text[name], digester):
            yield Flaw("digest-mismatch", argument.name, "its digest is of no value in the arguments on the span")


def _digests(value: Any, digester: Digester) -> set[str]:
    """Of every leaf and key of a value. A hostile one has many, and a judged one at most `MAX_LEAVES`."""
    found: set[str] = set()
    waiting = [value]
    while waiting and len(found) <= 2 * MAX_LEAVES:
        part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting.extend(part)
            waiting.extend(part.values())
        elif isinstance(part, list) and part:
            waiting.extend(part)
        else:
            found.add(digester.digest(part))
    return found
