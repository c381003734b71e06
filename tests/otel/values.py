"""Judged calls made by hand: what the guard would hand to the telemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citespan.core.decision import Decision, Tag, Violation
from citespan.core.kinds import Assumed, Observed, Provenance, Source, SpanRef
from citespan.core.leaves import Leaf, Path, Snapshot, dotted
from citespan.guard.ports import ToolCall

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
LISTED = SpanRef(TRACE, "00f067aa0ba902b1")
READ = SpanRef(TRACE, "00f067aa0ba902b2")


def source(
    tool: str, path: str, span: SpanRef | None = LISTED, *, projection: str = "exact", field: str | None = None
) -> Source:
    """A place in a result, in keyword form: the type may grow."""
    return Source(
        tool=tool,
        server=None,
        path=path,
        shown=path,
        field=field or f"{tool}.{path}",
        projection=projection,
        call=0,
        span=span,
        weak=False,
    )


def observed(tool: str = "list_files", path: str = "files.0", span: SpanRef | None = LISTED, **more: Any) -> Observed:
    weak = more.pop("weak", False)
    return Observed((source(tool, path, span, **more),), weak)


def assumed() -> Assumed:
    return Assumed("nowhere")


def tag(
    path: Path, value: Any, provenance: Provenance, *, counted: bool | None = None, exported: Path | None = None
) -> Tag:
    counts = provenance.kind == "assumed" if counted is None else counted
    return Tag(Leaf(path, value, "value", exported or path), provenance, counts, False, False)


def judged(
    tags: list[Tag],
    *,
    arguments: Mapping[str, Any] | None = None,
    declared: frozenset[str] | None = None,
    tool: str = "patch_file",
    deny: bool | None = None,
    **more: Any,
) -> tuple[ToolCall, Decision]:
    """A call of a tool with these leaves; denied where one of them counts."""
    names = frozenset(str(each.leaf.path[0]) for each in tags)
    call_fields = {key: more.pop(key) for key in list(more) if key in ToolCall._fields}
    counted = tuple(dict.fromkeys(dotted(each.leaf.exported) for each in tags if each.counted))
    refuse = bool(counted) if deny is None else deny
    violations = (Violation("assumed_fields", counted, f"assumed_fields=[{','.join(counted)}]"),) if counted else ()
    call = ToolCall(
        **{
            "tool": tool,
            "server": None,
            "snapshot": Snapshot(dict(arguments or {}), tuple(each.leaf for each in tags)),
            "declared": names if declared is None else declared,
            "description": "Replace text in a file.",
            "call_id": None,
            "run_id": None,
            "run_name": None,
            **call_fields,
        }
    )
    decision = Decision(
        **{
            "tool": tool,
            "server": None,
            "deny": refuse,
            "status": "blocked" if refuse else "ok",
            "mode": "enforce",
            "on_violation": "tell",
            "tags": tuple(tags),
            "violations": violations,
            "budget": 0,
            "policy": "b1946ac92492d234",
            "mutating": True,
            **more,
        }
    )
    return call, decision
