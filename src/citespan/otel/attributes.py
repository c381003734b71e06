"""From a judged call to what its span says: attributes, links, events (design section 4).

A pure function of the call and the decision, and the hot path of the telemetry: one pass over the leaves,
keys made once per tool, and texts cleaned only where one of them needs it.

What goes out: names that a schema declares, exported paths, kinds, sources and keyed digests. What a model
wrote never becomes a key, and no value goes out unless previews are switched on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from opentelemetry.trace import Link, SpanContext

from citespan import semconv
from citespan.core.decision import Decision, Tag
from citespan.core.kinds import KINDS, Derived, FromUser, Kind, Observed, SpanRef
from citespan.core.leaves import dotted, field_step, wildcard
from citespan.core.nearest import Offer, by_argument
from citespan.guard.ports import ToolCall
from citespan.otel.digest import Digester
from citespan.otel.leaves_json import leaves_json
from citespan.otel.names import MAX_TEXT, ToolNames, clean, tool_names
from citespan.otel.preview import preview

#: the SDK's default limits of attributes, links and events
LIMIT: Final = 128
#: left to the program, to other processors, and to what is set when the span ends
RESERVE: Final = 8
MAX_ARGUMENTS: Final = 64
MAX_FIELDS: Final = 64

_RANK: Final = {kind: rank for rank, kind in enumerate(KINDS)}
_COUNT_KEYS: Final = {kind: semconv.COUNT + kind for kind in KINDS}
_MAX_INT: Final = 2**63 - 1


class Record(NamedTuple):
    """What a span says of one call.

    Args:
        names: the tool's names. attributes: in the order in which a full span may lose them.
        links: one per source span. events: the attributes of each `provenance.uncited` event.
    """

    names: ToolNames
    attributes: dict[str, Any]
    links: list[Link]
    events: list[dict[str, Any]]


class _Reading(NamedTuple):
    """What one pass over the leaves of a call collects, beside the attributes of single arguments.

    Args:
        counts: leaves by kind. counted: the leaves that took from the budget.
        links: by source span, the tool and the labels of the arguments that cite it.
        several: labels of arguments with more than one leaf. digested: whether there is any digest.
        texts: what others wrote, among the attributes.
    """

    counts: dict[Kind, int]
    counted: list[Tag]
    links: dict[SpanRef, tuple[str, dict[str, None]]]
    several: set[str]
    texts: list[str]
    digested: bool


def record(
    call: ToolCall,
    decision: Decision,
    digester: Digester,
    *,
    room: int = LIMIT - RESERVE,
    previews: bool = False,
) -> Record:
    """Build what the span of a call says.

    Args:
        call: the judged call. decision: its verdict and tags. digester: makes the digests.
        room: the most attributes there may be. previews: whether redacted starts of values may go out.

    Example:
        The attributes of a call with one cited argument: `provenance.kind.path`,
        `provenance.source_tool.path`, ..., `provenance.status`, and `gen_ai.tool.name` last.
    """
    names = tool_names(call.tool, call.type, call.description, call.declared)
    attributes: dict[str, Any] = {}
    reading = _read(decision.tags, names, digester, attributes)
    _, counted, links, several, texts, digested = reading
    if previews:
        _add_previews(call, names, attributes, texts)
    truncated: list[str] = []
    summary = _summary(call, decision, reading, truncated)
    if several:
        summary[semconv.LEAVES], missing = leaves_json(decision.tags, names, several)
        if missing:
            truncated.append(f"leaves={missing}")
    if len(links) > LIMIT:
        truncated.append(f"links={len(links) - LIMIT}")
    if len(counted) > LIMIT:
        truncated.append(f"events={len(counted) - LIMIT}")
    left = room - len(summary) - len(names.fixed)
    if len(attributes) > min(left, MAX_ARGUMENTS):
        attributes = _trim(attributes, names, left - 2, truncated)
    if call.offers:
        # two are kept free, for the key of the digests and for what was cut
        attributes = {**_offered(call.offers, names, left - 2 - len(attributes), truncated), **attributes}
    if digested:
        attributes[semconv.DIGEST_KEY] = digester.key_id
    if truncated:
        attributes[semconv.TRUNCATED] = truncated
    # the order in which a full span loses them: what matters most comes last
    attributes.update(summary)
    attributes.update(names.fixed)
    text = "".join(texts)
    if truncated or counted or len(text) > MAX_TEXT or not text.isascii():
        _make_safe(attributes)
    events = _events(counted, names, decision.mutating) if counted else []
    return Record(names, attributes, _links(links), events)


def _read(tags: tuple[Tag, ...], names: ToolNames, digester: Digester, attributes: dict[str, Any]) -> _Reading:
    """One pass over the leaves; adds the worst kind and the first citation of each declared argument."""
    counts: dict[Kind, int] = {}
    counted: list[Tag] = []
    links: dict[SpanRef, tuple[str, dict[str, None]]] = {}
    several: set[str] = set()
    texts: list[str] = []
    digested = False
    arguments = names.arguments
    for tag in tags:
        leaf, provenance, counts_here, _, _, _ = tag
        kind = provenance.kind
        counts[kind] = counts.get(kind, 0) + 1
        if counts_here:
            counted.append(tag)
        keys = arguments.get(leaf.path[0])
        if keys is None:
            label, first = semconv.UNDECLARED, False
        else:
            label, key, tool_key, field_key, span_key, digest_key, projection_key, weak_key, _ = keys
            first = digest_key not in attributes
            if (worst := attributes.get(key)) is None:
                attributes[key] = kind
            else:
                several.add(label)
                if _RANK[kind] > _RANK[worst]:
                    attributes[key] = kind
        if type(provenance) is Observed or type(provenance) is Derived:
            sources = provenance.sources
            for source in sources:
                if (span := source.span) is not None:
                    if (link := links.get(span)) is None:
                        link = links[span] = (source.tool, {})
                    link[1][label] = None
                if first and source is sources[0]:
                    attributes[tool_key] = tool = source.tool
                    attributes[field_key] = field = source.shown
                    texts += (tool, field)
                    if span is not None:
                        attributes[span_key] = span.span_id
                    if source.projection != "exact":
                        attributes[projection_key] = source.projection
        elif type(provenance) is FromUser:
            if first:
                attributes[field_key] = field = _user_field(provenance.origin, provenance.path)
                texts.append(field)
                if provenance.projection != "exact":
                    attributes[projection_key] = provenance.projection
        else:
            if first and provenance.weak:
                attributes[weak_key] = True
            continue
        if first:
            attributes[digest_key] = digester.digest(leaf.value)
            digested = True
            if provenance.weak:
                attributes[weak_key] = True
    return _Reading(counts, counted, links, several, texts, digested)


def _add_previews(call: ToolCall, names: ToolNames, attributes: dict[str, Any], texts: list[str]) -> None:
    for name, value in call.snapshot.arguments.items():
        keys = names.arguments.get(name)
        if keys is not None and keys.kind in attributes:
            attributes[keys.preview] = shown = preview(value)
            texts.append(shown)


def _summary(call: ToolCall, decision: Decision, reading: _Reading, truncated: list[str]) -> dict[str, Any]:
    """The attributes of the call as a whole, the most important last."""
    _, _, _, _, _, call_id, run_id, run_name, _, _ = call
    summary: dict[str, Any] = {}
    if run_name:
        summary[semconv.AGENT_NAME] = run_name
        reading.texts.append(run_name)
    if run_id:
        summary[semconv.CONVERSATION_ID] = run_id
        reading.texts.append(run_id)
    if call_id:
        summary[semconv.TOOL_CALL_ID] = call_id
        reading.texts.append(call_id)
    if decision.step:
        summary[semconv.STEP] = decision.step
        reading.texts.append(decision.step)
    if decision.evicted:
        summary[semconv.EVICTED] = decision.evicted
    for kind, number in reading.counts.items():
        summary[_COUNT_KEYS[kind]] = number
    if reading.counted:
        fields = list(dict.fromkeys([dotted(tag.leaf.exported) for tag in reading.counted]))
        if len(fields) > MAX_FIELDS:
            truncated.append(f"fields={len(fields) - MAX_FIELDS}")
        summary[semconv.ASSUMED_FIELDS] = fields[:MAX_FIELDS]
    if tokens := decision.uncited_tokens:
        found = [f"{path}:{kind}" for path, kind, _ in tokens]
        if len(found) > MAX_FIELDS:
            truncated.append(f"uncited_tokens={len(found) - MAX_FIELDS}")
        summary[semconv.UNCITED_TOKENS] = found[:MAX_FIELDS]
    if decision.violations:
        summary[semconv.VIOLATIONS] = [clean(violation.text) for violation in decision.violations]
    budget = decision.budget
    summary[semconv.BUDGET] = budget if budget < _MAX_INT else _MAX_INT
    summary[semconv.POLICY] = decision.policy
    summary[semconv.MODE] = decision.mode
    summary[semconv.STATUS] = decision.status
    return summary


def _trim(attributes: dict[str, Any], names: ToolNames, room: int, truncated: list[str]) -> dict[str, Any]:
    """The attributes of single arguments, cut down to `room`: sources go first, each citation as a whole."""
    shown = [keys for keys in names.arguments.values() if keys.kind in attributes]
    most = max(0, min(MAX_ARGUMENTS, room))
    if len(shown) > most:
        truncated.append(f"arguments={len(shown) - most}")
        del shown[most:]
    kept = {keys.kind: attributes[keys.kind] for keys in shown}
    cut = 0
    for keys in shown:
        details = {key: attributes[key] for key in keys[2:] if key in attributes}
        if len(kept) + len(details) <= room:
            kept.update(details)
        else:
            cut += 1
    if cut:
        truncated.append(f"sources={cut}")
    return kept


def _offered(offers: tuple[Offer, ...], names: ToolNames, room: int, truncated: list[str]) -> dict[str, Any]:
    """What could have vouched for the uncited arguments: the first to go on a full span, each argument's as a whole."""
    told: dict[str, Any] = {}
    cut = 0
    for argument, offer in by_argument(offers).items():
        keys = names.arguments.get(argument)
        if keys is None:
            continue
        said = {}
        if offer.accepts:
            said[semconv.ACCEPTS + keys.label] = list(offer.accepts)
        if offer.nearest:
            said[semconv.NEAREST + keys.label] = list(offer.nearest)
        if len(told) + len(said) <= room:
            told.update(said)
        else:
            cut += 1
    if cut:
        truncated.append(f"nearest={cut}")
    return told


@lru_cache(maxsize=1024)
def _user_field(origin: str, path: str) -> str:
    """Where in the inputs or messages: data-like keys as `*`."""
    return ".".join((origin, *(field_step(step) for step in path.split(".") if step)))


@lru_cache(maxsize=4096)
def _span_context(ref: SpanRef) -> SpanContext:
    return SpanContext(int(ref.trace_id, 16), int(ref.span_id, 16), is_remote=False)


def _links(links: dict[SpanRef, tuple[str, dict[str, None]]]) -> list[Link]:
    made = [
        Link(
            _span_context(ref),
            {semconv.LINK_ARGUMENTS: list(arguments)[:MAX_ARGUMENTS], semconv.LINK_SOURCE_TOOL: clean(tool)},
        )
        for ref, (tool, arguments) in links.items()
    ]
    return made[:LIMIT]


def _events(counted: list[Tag], names: ToolNames, mutating: bool) -> list[dict[str, Any]]:
    events = []
    for tag in counted[:LIMIT]:
        keys = names.arguments.get(tag.leaf.path[0])
        events.append(
            {
                semconv.ARGUMENT_NAME: semconv.UNDECLARED if keys is None else keys.label,
                semconv.ARGUMENT_PATH: clean(wildcard(tag.leaf.exported)),
                semconv.ARGUMENT_KIND: tag.provenance.kind,
                semconv.TOOL_NAME: names.name,
                semconv.TOOL_MUTATING: mutating,
            }
        )
    return events


def _make_safe(attributes: dict[str, Any]) -> None:
    """Clean every text in place."""
    for key, value in attributes.items():
        if type(value) is str:
            if len(value) > MAX_TEXT or not value.isascii():
                attributes[key] = clean(value)
        elif type(value) is list:
            attributes[key] = [clean(item) for item in value]
