"""Trace files for the tests of `citespan show`: spans as citespan writes them, lines as different writers do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUNS = ("4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000abc", "abcdefabcdefabcdefabcdefabcdefab")
START = 1_796_144_130_000_000_000
SECOND = 1_000_000_000


def value(said: Any) -> dict[str, Any]:
    """A value of an attribute in the JSON encoding."""
    if isinstance(said, bool):
        return {"boolValue": said}
    if isinstance(said, int):
        return {"intValue": str(said)}
    if isinstance(said, list):
        return {"arrayValue": {"values": [value(each) for each in said]}}
    return {"stringValue": said}


def attributes(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(each)} for key, each in said.items()]


def span(number: int, at: float = 0, run: str = RUNS[0], **fields: Any) -> dict[str, Any]:
    """A span without attributes, `at` seconds after `START`, which takes 10 ms."""
    start = START + int(at * SECOND)
    return {
        "traceId": run,
        "spanId": f"{number:016x}",
        "name": "chat",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + SECOND // 100),
        **fields,
    }


def tool_span(
    number: int,
    tool: str,
    said: dict[str, Any] | None = None,
    *,
    status: str = "ok",
    at: float = 0,
    run: str = RUNS[0],
    **fields: Any,
) -> dict[str, Any]:
    """The span of a tool call, its attributes in citespan's order. said: attributes of arguments."""
    verdict = {"provenance.status": status} if status else {}
    counted = {"provenance.mode": "enforce", "provenance.budget": 0, "provenance.policy": "5df9ede83b2a1977"}
    last = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "gen_ai.tool.name": tool}
    return span(
        number,
        at,
        run,
        name=f"execute_tool {tool}",
        attributes=attributes({**(said or {}), **counted, **verdict, **last}),
        **fields,
    )


def uncited(argument: str, **said: Any) -> dict[str, Any]:
    """What a blocked span says of one argument without a source."""
    return {
        f"provenance.kind.{argument}": "assumed",
        "provenance.assumed_fields": [argument],
        "provenance.violations": [f"assumed_fields=[{argument}]"],
        **{f"provenance.{key}.{argument}": each for key, each in said.items()},
    }


def cited(argument: str, tool: str, field: str, number: int, **said: Any) -> dict[str, Any]:
    """What a span says of one argument with a source."""
    return {
        f"provenance.kind.{argument}": "observed",
        f"provenance.source_tool.{argument}": tool,
        f"provenance.source_field.{argument}": field,
        f"provenance.source_span.{argument}": f"{number:016x}",
        **{f"provenance.{key}.{argument}": each for key, each in said.items()},
    }


def document(*spans: Any) -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": "tests"})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "citespan"}, "spans": list(spans)}]}]
    }


def line(*spans: Any) -> str:
    """A line as citespan and a collector write it."""
    return json.dumps(document(*spans), separators=(",", ":"), ensure_ascii=False) + "\n"


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return str(path)
