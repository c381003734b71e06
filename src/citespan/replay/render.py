"""A judged call as one JSON object: what `citespan replay --format jsonl` prints (design section 7)."""

from __future__ import annotations

from typing import Any

import orjson

from citespan.core.decision import Tag
from citespan.core.kinds import Derived, FromUser, Observed, Source
from citespan.core.leaves import dotted
from citespan.replay.judge import Judged

#: what the path of a leaf ends with that is a key, not the value under it
KEY = "~key"


def call_line(judged: Judged) -> bytes:
    r"""One line of JSON, its line break included. It holds no argument value but the keys that are leaves.

    Example:
        `b'{"trajectory":"t1","call":0,"tool":"patch_file","status":"blocked",...}\n'`
    """
    decision = judged.decision
    arguments: dict[str, Any] = {}
    for tag in decision.tags:
        path = dotted(tag.leaf.path)
        if tag.leaf.role == "key":
            path += f".{KEY}"
        while path in arguments:  # an argument may be called like the mark of a key
            path += "~"
        arguments[path] = _leaf(tag, judged)
    line = {
        "trajectory": judged.trajectory.id,
        "call": judged.position,
        "tool": judged.call.tool,
        "status": decision.status,
        "violations": [violation.text for violation in decision.violations],
        "arguments": arguments,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _leaf(tag: Tag, judged: Judged) -> dict[str, Any]:
    provenance = tag.provenance
    tool: str | None = None
    field: str | None = None
    call: int | None = None
    projection: str | None = None
    if isinstance(provenance, Observed | Derived):
        if provenance.sources:
            tool, field, call, projection = _source(provenance.sources[0], judged)
        if isinstance(provenance, Derived):
            projection = provenance.rule
    elif isinstance(provenance, FromUser):
        field = f"{provenance.origin}.{provenance.path}" if provenance.path else provenance.origin
        projection = provenance.projection
    return {
        "kind": provenance.kind,
        "weak": provenance.weak,
        "source_tool": tool,
        "source_field": field,
        "source_call": call,
        "projection": projection,
        "allowed": tag.allowed,
    }


def _source(source: Source, judged: Judged) -> tuple[str, str, int | None, str]:
    """The tool as the recording names it, the path in its result, the index of the call, and the projection."""
    call = judged.calls.get(source.call)
    tool = source.tool if call is None else judged.trajectory.calls[call].tool
    return tool, source.path, call, source.projection
