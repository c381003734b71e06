"""A hand-written agent, and what its spans say."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Agent:
    """A hand-written agent: spans around tool bodies, by convention, and no citespan in sight."""

    def __init__(self, provider: trace.TracerProvider, scope: str = "my.agent") -> None:
        self.tracer = provider.get_tracer(scope)
        self.ran: list[str] = []

    def call(self, tool: str, arguments: dict[str, Any] | None, result: Any = None, **attributes: Any) -> Any:
        own: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, **attributes}
        if arguments is not None:
            own["gen_ai.tool.call.arguments"] = json.dumps(arguments)
        with self.tracer.start_as_current_span(f"execute_tool {tool}", attributes=own) as span:
            self.ran.append(tool)
            if result is not None:
                span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def statuses(spans: InMemorySpanExporter) -> list[tuple[str, Any]]:
    return [
        (span.name, (span.attributes or {}).get("provenance.status"))
        for span in spans.get_finished_spans()
        if not span.name.startswith("invoke_agent")
    ]


def last(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    return [span for span in spans.get_finished_spans() if span.name == name][-1]
