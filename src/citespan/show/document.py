"""A screen as one JSON document, schema `citespan.show/1`: see docs/show.md, which holds every key."""

from __future__ import annotations

from typing import Any, Final

import orjson

from citespan.calls import Argument, Call, Leaf
from citespan.calls.words import violation
from citespan.files.texts import plain_json
from citespan.show.advice import Hint, missing
from citespan.show.model import Context, Screen, Shown
from citespan.show.page import Asked

SCHEMA: Final = "citespan.show/1"
_SECOND: Final = 1_000_000_000


def as_json(screen: Screen, asked: Asked) -> bytes:
    r"""The document, with a line break at its end. Unknown is null; nothing is cut. What drives a terminal is escaped.

    Example:
        >>> from citespan.show.model import Wanted
        >>> as_json(Screen((), {"blocked": 0}, 0, 0), Asked(["trace.jsonl"], Wanted()))[:51]
        b'{"schema":"citespan.show/1","files":["trace.jsonl"]'
    """
    document = {
        "schema": SCHEMA,
        "files": list(asked.sources),
        "total": screen.total,
        "calls": screen.calls,
        "matching": dict(screen.matching),
        "shown": [_call(shown, asked) for shown in screen.shown],
    }
    return plain_json(orjson.dumps(_clean(document), option=orjson.OPT_APPEND_NEWLINE))


def _call(shown: Shown, asked: Asked) -> dict[str, Any]:
    call, context = shown
    return {
        "tool": call.tool,
        "server": call.server or None,
        "status": call.status,
        "mode": call.mode or None,
        "policy": call.policy or None,
        "budget": None if call.budget < 0 else call.budget,
        "step": call.step or None,
        "violations": [{"text": text, "words": violation(text)} for text in call.violations],
        "uncited_tokens": list(call.uncited_tokens),
        "error": call.error or None,
        "trace_id": call.trace_id or None,
        "span_id": call.span_id or None,
        "conversation": call.run or None,
        "agent": call.agent or None,
        "start_unix_nano": call.start or None,
        "end_unix_nano": call.end or None,
        "place": call.place or None,
        "run_statuses": dict(context.statuses),
        "truncated": list(call.truncated),
        "evicted": call.evicted,
        "arguments": [_argument(call, argument, context, asked) for argument in call.arguments],
    }


def _argument(call: Call, argument: Argument, context: Context, asked: Asked) -> dict[str, Any]:
    hints: tuple[Hint, ...] = ()
    if argument.counted:
        hints = missing(call, argument, context, asked.accepts(call, argument))
    return {
        "name": argument.name,
        "kind": argument.kind,
        "source": _source(call, argument, context),
        "projection": argument.projection if argument.cited is not None else None,
        "weak": argument.weak,
        "counted": list(argument.counted),
        "leaves": [_leaf(leaf) for leaf in argument.leaves],
        "preview": argument.preview or None,
        "missing": [{"why": hint.why, "text": hint.text, "fields": list(hint.fields)} for hint in hints],
    }


def _source(call: Call, argument: Argument, context: Context) -> dict[str, Any] | None:
    cited = argument.cited
    if cited is None:
        return None
    source = context.sources.get(cited.span_id)
    known = source is not None and (source.end or source.start) > 0 and call.start > 0
    return {
        "tool": cited.tool or None,
        "field": cited.field or None,
        "span_id": cited.span_id or None,
        "seconds_before": (call.start - (source.end or source.start)) / _SECOND if source and known else None,
    }


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "path": leaf.path,
        "kind": leaf.kind,
        "source": leaf.cited.shown if leaf.cited is not None else None,
        "projection": leaf.projection if leaf.cited is not None else None,
        "weak": leaf.weak,
        "counted": leaf.counted,
    }


def _clean(value: Any) -> Any:
    """A copy that every JSON encoder takes: lone surrogates are replaced, integers have 64 bits at most."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(key): _clean(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_clean(member) for member in value]
    if type(value) is int and not -(2**63) <= value < 2**63:
        return None
    return value
