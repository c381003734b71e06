"""Scopes in which an exception of the gate stops a tool's body: each is proven here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.guard.registry import registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.scopes import SWALLOWING_SCOPES, lets_through
from citespan.otel.telemetry import OtelTelemetry

OWN = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "patch_file",
    "gen_ai.tool.call.arguments": '{"path": "zz.py"}',
}


@pytest.fixture(autouse=True)
def gate(provider: TracerProvider, telemetry: OtelTelemetry) -> None:
    registry.telemetry = telemetry
    provider.add_span_processor(ProvenanceSpanProcessor())


def status(spans: InMemorySpanExporter, name: str = "execute_tool patch_file") -> Any:
    (span,) = [span for span in spans.get_finished_spans() if span.name == name]
    return (span.attributes or {}).get("provenance.status")


def test_a_hand_written_span_is_stopped(provider: TracerProvider, spans: InMemorySpanExporter) -> None:
    ran = []
    with (
        citespan.run(),
        pytest.raises(ProvenanceDenied),
        provider.get_tracer("my.agent").start_as_current_span("execute_tool patch_file", attributes=OWN),
    ):
        ran.append("body")
    assert (ran, status(spans)) == ([], "blocked")


def test_a_span_opened_by_a_callback_stops_nothing_and_does_not_say_that_it_did(
    provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    """The shape of callback-based instrumentation: the framework swallows what a handler raises, and runs the tool."""
    tracer = provider.get_tracer("openinference.instrumentation.some_framework")
    ran = []

    def run_tool() -> None:
        open_spans = []
        with suppress(Exception):
            open_spans.append(tracer.start_span("execute_tool patch_file", attributes=OWN))
        ran.append("body")
        for span in open_spans:
            span.end()

    with citespan.run():
        run_tool()
    assert (ran, status(spans)) == (["body"], "unguarded")


@pytest.mark.parametrize("scope", sorted(SWALLOWING_SCOPES))
def test_exporters_of_finished_trees_are_known(scope: str) -> None:
    assert not lets_through(scope)


def test_pydantic_ai_is_stopped(provider: TracerProvider, spans: InMemorySpanExporter) -> None:
    """Its own spans carry the arguments at start, and are opened around the body."""
    pydantic_ai = pytest.importorskip("pydantic_ai")
    capabilities = pytest.importorskip("pydantic_ai.capabilities")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    script = [
        [ToolCallPart("list_files", {})],
        [ToolCallPart("patch_file", {"path": "a.py"})],
        [ToolCallPart("delete_file", {"path": "zz.py"})],
        [TextPart("done")],
    ]
    ran: list[str] = []

    def model(messages: Any, info: Any) -> Any:
        return ModelResponse(parts=script[len(messages) // 2])

    settings = InstrumentationSettings(tracer_provider=provider)
    agent = pydantic_ai.Agent(FunctionModel(model), capabilities=[capabilities.Instrumentation(settings=settings)])

    @agent.tool_plain
    def list_files() -> dict[str, list[str]]:
        ran.append("list_files")
        return {"files": ["a.py"]}

    @agent.tool_plain
    def patch_file(path: str) -> str:
        ran.append("patch_file")
        return "patched"

    @agent.tool_plain
    def delete_file(path: str) -> str:
        ran.append("delete_file")
        return "deleted"

    with citespan.run(), pytest.raises(ProvenanceDenied, match="delete_file was not run"):
        asyncio.run(agent.run("go"))
    assert ran == ["list_files", "patch_file"]
    assert status(spans, "execute_tool list_files") == status(spans) == "ok"
    assert status(spans, "execute_tool delete_file") == "blocked"
