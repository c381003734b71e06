"""A comparison for programs: one JSON object of schema `citespan.diff/1`, see docs/diff.md."""

from __future__ import annotations

from typing import Any, Final

import orjson

from citespan.diff.model import Change, Diff, Entry, Run, RunDiff, Step
from citespan.diff.render_text import Shown

SCHEMA: Final = "citespan.diff/1"
_OPS: Final = ("same", "changed", "moved", "added", "removed")


def render_json(diff: Diff, name_a: str, name_b: str, shown: Shown = "changes") -> bytes:
    """The comparison as JSON with a line break at its end.

    Args:
        name_a, name_b: of the files. shown: which calls `runs` has; the counts are of all.

    Example:
        `orjson.loads(render_json(diff, "a.jsonl", "b.jsonl"))["worse"]`
    """
    found = diff.summary
    document = {
        "schema": SCHEMA,
        "a": name_a,
        "b": name_b,
        "worse": found.worse,
        "better": found.better,
        "calls": {op: found.calls.get(op, 0) for op in _OPS},
        "changes": dict(sorted(found.changes.items())),
        "runs": [_run(run, shown) for run in diff.runs],
        "only_in_a": [_run_of(run) for run in diff.only_a],
        "only_in_b": [_run_of(run) for run in diff.only_b],
    }
    return orjson.dumps(_clean(document), option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_INDENT_2)


def _run(run: RunDiff, shown: Shown) -> dict[str, Any]:
    return {
        "a": _run_of(run.a),
        "b": _run_of(run.b),
        "paired_by": run.paired_by,
        "calls": [_step(run, step, shown) for step in run.steps if _is_told(step, shown)],
    }


def _is_told(step: Step, shown: Shown) -> bool:
    return shown == "all" or (step.trend == "worse" if shown == "worse" else step.op != "same")


def _run_of(run: Run) -> dict[str, Any]:
    return {"run": run.id, "agent": run.agent, "calls": len(run.entries)}


def _step(run: RunDiff, step: Step, shown: Shown) -> dict[str, Any]:
    entry = run.entry(step)
    told: dict[str, Any] = {"op": step.op, "trend": step.trend, "tool": entry.tool}
    if entry.server:
        told["server"] = entry.server
    if step.a is not None:
        told["a"] = _entry(run.a.entries[step.a], step.a)
    if step.b is not None:
        told["b"] = _entry(run.b.entries[step.b], step.b)
    if step.repeats is not None:
        told["repeats"] = step.repeats + 1
    changes = [_change(change) for change in step.changes if shown != "worse" or change.trend == "worse"]
    if changes:
        told["changes"] = changes
    return told


def _entry(entry: Entry, index: int) -> dict[str, Any]:
    told: dict[str, Any] = {"number": index + 1, "status": entry.status, "place": entry.place}
    if entry.ids[0]:
        told["trace_id"] = entry.ids[0]
    if entry.ids[1]:
        told["span_id"] = entry.ids[1]
    if entry.uncited:
        told["uncited"] = list(entry.uncited)
    return told


def _change(change: Change) -> dict[str, Any]:
    told = {"path": change.path, "what": change.what, "before": change.before, "after": change.after}
    if change.before_source:
        told["before_source"] = change.before_source
    if change.after_source:
        told["after_source"] = change.after_source
    return told | {"trend": change.trend}


def _clean(value: Any) -> Any:
    """A copy without lone surrogates, which no JSON file can hold."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _clean(member) for key, member in value.items()}
    return [_clean(member) for member in value] if isinstance(value, list) else value
