"""The second gate judges tool spans that nobody guards."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.otel.agents import Agent, last, statuses

import citespan
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.guard import examine
from citespan.guard.ports import Tool, ToolCall
from citespan.guard.registry import registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry


class TestJudging:
    """A span whose arguments are there at start."""

    def test_a_cited_call_runs_and_is_ok(self, agent: Agent, spans: InMemorySpanExporter) -> None:
        with citespan.run():
            agent.call("list_files", {}, {"files": ["a.py"]})
            agent.call("patch_file", {"path": "a.py"})
        assert agent.ran == ["list_files", "patch_file"]
        assert statuses(spans) == [("execute_tool list_files", "ok"), ("execute_tool patch_file", "ok")]
        listed, patched = (last(spans, f"execute_tool {name}") for name in ("list_files", "patch_file"))
        assert listed.context is not None
        assert [link.context.span_id for link in patched.links] == [listed.context.span_id]

    def test_an_uncited_call_never_runs_and_its_span_is_exported(
        self, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        with citespan.run(), pytest.raises(ProvenanceDenied, match=r"^patch_file was not run"):
            agent.call("patch_file", {"path": "zz.py"})
        assert agent.ran == []
        span = last(spans, "execute_tool patch_file")
        assert span.status.status_code is StatusCode.ERROR
        attributes = dict(span.attributes or {})
        assert attributes["provenance.status"] == "blocked"
        assert attributes["error.type"] == "provenance_budget_exceeded"
        assert len(attributes["provenance.violations"]) == 1
        assert [event.name for event in span.events] == ["provenance.uncited"]

    def test_a_refused_call_names_the_nearest_fields(
        self, provider: TracerProvider, telemetry: OtelTelemetry, spans: InMemorySpanExporter
    ) -> None:
        known = [Tool("patch_file", schema={"properties": {"path": {}}})]
        provider.add_span_processor(ProvenanceSpanProcessor(tools=known, telemetry=telemetry))
        agent = Agent(provider)
        with citespan.run():
            agent.call("list_files", {}, {"files": ["a.py"]})
            with pytest.raises(ProvenanceDenied, match=r"Nearest fields so far for path: list_files\.files\.\*"):
                agent.call("patch_file", {"path": "zz.py"})
        attributes = dict(last(spans, "execute_tool patch_file").attributes or {})
        assert attributes["provenance.nearest.path"] == ("list_files.files.*",)

    def test_a_flagged_call_names_them_too(
        self, provider: TracerProvider, telemetry: OtelTelemetry, spans: InMemorySpanExporter
    ) -> None:
        known = [Tool("patch_file", schema={"properties": {"path": {}}})]
        provider.add_span_processor(ProvenanceSpanProcessor(tools=known, telemetry=telemetry))
        agent = Agent(provider)
        with citespan.run(policy=Policy(mode="tag")):
            agent.call("list_files", {}, {"files": ["a.py"]})
            agent.call("patch_file", {"path": "zz.py"})
        attributes = dict(last(spans, "execute_tool patch_file").attributes or {})
        assert attributes["provenance.status"] == "flagged"
        assert attributes["provenance.nearest.path"] == ("list_files.files.*",)

    def test_outside_any_run_nothing_can_be_cited(self, agent: Agent) -> None:
        with pytest.raises(ProvenanceDenied):
            agent.call("patch_file", {"path": "zz.py"})
        agent.call("list_files", {})
        assert agent.ran == ["list_files"]

    def test_an_exception_of_the_gate_leaves_no_value_on_the_spans_above(
        self, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        value = "-".join(["hunter", "2"])  # in no source line: a stack trace quotes those
        with (
            citespan.run(),
            pytest.raises(ProvenanceDenied),
            agent.tracer.start_as_current_span("invoke_agent theirs"),
        ):
            agent.call("patch_file", {"path": value})
        above = last(spans, "invoke_agent theirs")
        assert [event.name for event in above.events] == ["exception"]
        assert value not in above.to_json()

    def test_a_schema_makes_arguments_known(
        self, provider: TracerProvider, telemetry: OtelTelemetry, spans: InMemorySpanExporter
    ) -> None:
        schema = {"type": "object", "properties": {"mode": {"enum": ["fast", "slow"]}}}
        provider.add_span_processor(ProvenanceSpanProcessor(tools=[Tool("t", schema=schema)], telemetry=telemetry))
        with citespan.run():
            Agent(provider).call("t", {"mode": "fast"})
        assert dict(last(spans, "execute_tool t").attributes or {})["provenance.kind.mode"] == "schema"

    def test_a_policy_of_its_own(
        self, provider: TracerProvider, telemetry: OtelTelemetry, spans: InMemorySpanExporter
    ) -> None:
        provider.add_span_processor(ProvenanceSpanProcessor(Policy(mode="tag"), telemetry=telemetry))
        agent = Agent(provider)
        with citespan.run():
            agent.call("patch_file", {"path": "zz.py"})
        assert agent.ran == ["patch_file"]
        assert statuses(spans) == [("execute_tool patch_file", "flagged")]

    @pytest.mark.parametrize(
        "arguments", ["[1, 2]", '"zz.py"', "{not json", "\ud800", ("zz.py",), {"path": "zz.py"}, {"path": ["zz.py"]}]
    )
    def test_arguments_in_any_form_are_judged(self, agent: Agent, arguments: Any) -> None:
        if isinstance(arguments, dict) and not BoundedAttributes(attributes={"a": arguments}):
            pytest.skip("this SDK takes no structured attribute values")
        with citespan.run(), pytest.raises(ProvenanceDenied):
            agent.call("t", None, **{"gen_ai.tool.call.arguments": arguments})
        assert agent.ran == []

    @pytest.mark.parametrize(
        "attributes",
        [
            {"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": '{"path": "zz.py"}'},
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "t",
                "traceloop.entity.input": '{"path": "zz.py"}',
            },
            {"traceloop.span.kind": "tool", "traceloop.entity.input": '{"args": [], "kwargs": {"path": "zz.py"}}'},
            {
                "mcp.method.name": "tools/call",
                "gen_ai.tool.name": "t",
                "gen_ai.tool.call.arguments": '{"path": "zz.py"}',
            },
        ],
    )
    def test_other_conventions_are_known(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor, attributes: dict[str, str]
    ) -> None:
        tracer = provider.get_tracer("my.agent")
        with (
            citespan.run(),
            pytest.raises(ProvenanceDenied, match=r"^t was not run"),
            tracer.start_as_current_span("t", attributes=attributes),
        ):
            pytest.fail("the body ran")

    def test_a_decorated_function_is_stopped_as_well(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor
    ) -> None:
        tracer = provider.get_tracer("my.agent")
        own = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "t",
            "gen_ai.tool.call.arguments": '{"a": "zz"}',
        }

        @tracer.start_as_current_span("execute_tool t", attributes=own)
        def body() -> None:
            pytest.fail("the body ran")

        with citespan.run(), pytest.raises(ProvenanceDenied):
            body()

    async def test_an_async_body_is_stopped_as_well(self, agent: Agent) -> None:
        async def body() -> None:
            agent.call("patch_file", {"path": "zz.py"})

        async with citespan.run():
            with pytest.raises(ProvenanceDenied):
                await body()
        assert agent.ran == []

    def test_a_crash_while_judging_denies(
        self, agent: Agent, monkeypatch: pytest.MonkeyPatch, spans: InMemorySpanExporter
    ) -> None:
        monkeypatch.setattr(examine, "decide", lambda *_: 1 / 0)
        with citespan.run(), pytest.raises(ProvenanceDenied):
            agent.call("list_files", {})
        assert agent.ran == []
        assert statuses(spans) == [("execute_tool list_files", "blocked")]

    def test_evidence_is_written_before_the_body_and_denies_where_it_cannot_be(self, agent: Agent) -> None:
        class Full:
            def __init__(self) -> None:
                self.lines: list[str] = []

            def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
                if self.lines:
                    raise OSError(28, "disk full")
                self.lines.append(f"{call.tool} {decision.status} {span is not None} {agent.ran}")

        registry.evidence = evidence = Full()
        with citespan.run():
            agent.call("one", {})
            with pytest.raises(ProvenanceDenied, match="evidence"):
                agent.call("two", {})
        assert evidence.lines == ["one ok True []"]
        assert agent.ran == ["one"]
