"""Small traces, a span a line: what the audit's tests are made of.

Span and trace ids are small numbers in hex; a call starts at the second of its number and takes half of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from citespan import semconv
from citespan.audit import Audit, Auditor
from citespan.core.policy import Policy
from citespan.traces.model import LinkRecord, SpanRecord

SECOND = 1_000_000_000
HOST = {"service.instance.id": "one"}


def trace_id(number: int) -> str:
    return f"{number:032x}"


def span_id(number: int) -> str:
    return f"{number:016x}"


def span(
    number: int,
    name: str = "work",
    *,
    trace: int = 1,
    parent: int | None = 1,
    start: float | None = None,
    end: float | None = None,
    **fields: Any,
) -> SpanRecord:
    """Any span; `start` and `end` in seconds."""
    begin = number if start is None else start
    stop = begin + 0.5 if end is None else end
    blank = SpanRecord(
        trace_id(trace), span_id(number), "" if parent is None else span_id(parent), name, 1, int(begin * SECOND),
        int(stop * SECOND), {}, (), (), "UNSET", "", HOST, semconv.SCOPE, "1", (0, 0, 0), f"trace.jsonl:{number}",
    )  # fmt: skip
    return blank._replace(**fields)


def run(number: int = 1, *, trace: int = 1, **more: Any) -> SpanRecord:
    """The run of a trace: its root, from second 0 to 1000."""
    given = {"parent": None, "start": 0.5, "end": 1000, "attributes": {semconv.OPERATION: semconv.INVOKE_AGENT}}
    return span(number, "invoke_agent fixer", trace=trace, **{**given, **more})


def call(number: int, tool: str = "look", status: str | None = "ok", said: Any = None, **more: Any) -> SpanRecord:
    """A tool call with a verdict, and no argument. `said`: further attributes, and the links, as `cites` makes them."""
    attributes: dict[str, Any] = {semconv.OPERATION: semconv.EXECUTE_TOOL, semconv.TOOL_NAME: tool}
    if status is not None:
        attributes |= {semconv.STATUS: status, semconv.MODE: "enforce", semconv.BUDGET: 0}
    if status in {"blocked", "flagged"}:
        attributes |= {semconv.VIOLATIONS: ["assumed_fields=[path]"], semconv.ASSUMED_FIELDS: ["path"]}
        attributes |= {semconv.KIND + "path": "assumed", semconv.COUNT + "assumed": 1}
    if status == "blocked":
        attributes[semconv.ERROR_TYPE] = semconv.ERROR_DENIED
    more.setdefault("links", tuple((said or {}).get("links", ())))
    attributes |= {key: value for key, value in (said or {}).items() if key != "links"}
    return span(number, f"execute_tool {tool}", attributes=attributes, **more)


def cites(
    source: int,
    tool: str = "look",
    field: str = "files.0",
    *,
    argument: str = "path",
    trace: int = 1,
    digest: str = "d1",
    **more: Any,
) -> dict[str, Any]:
    """What a call says that cites a leaf of an earlier one."""
    link = {semconv.LINK_ARGUMENTS: [argument], semconv.LINK_SOURCE_TOOL: tool}
    return {
        semconv.KIND + argument: "observed",
        semconv.SOURCE_TOOL + argument: tool,
        semconv.SOURCE_FIELD + argument: field,
        semconv.SOURCE_SPAN + argument: span_id(source),
        semconv.DIGEST + argument: digest,
        semconv.DIGEST_KEY: "key1",
        semconv.COUNT + "observed": 1,
        "links": [LinkRecord(trace_id(trace), span_id(source), link)],
        **more,
    }


def audited(spans: Iterable[SpanRecord], policy: Policy | None = None) -> Audit:
    """The audit of some spans."""
    with Auditor(policy) as auditor:
        for each in spans:
            auditor.add(each)
        return auditor.finish()
