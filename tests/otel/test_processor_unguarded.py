"""Calls that the second gate cannot stop, and what it learns from their spans."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.otel.agents import Agent, last, statuses

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.otel.processor import ProvenanceSpanProcessor

SWALLOWS = "opentelemetry.instrumentation.some_framework"


class TestNotEnforced:
    """Where a call cannot be stopped, its status says so."""

    def test_a_scope_that_swallows_exceptions_is_unguarded_never_blocked(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor, spans: InMemorySpanExporter
    ) -> None:
        agent = Agent(provider, SWALLOWS)
        with citespan.run():
            agent.call("patch_file", {"path": "zz.py"})
            agent.call("list_files", {})
        assert agent.ran == ["patch_file", "list_files"]
        assert statuses(spans) == [("execute_tool patch_file", "unguarded"), ("execute_tool list_files", "ok")]
        span = last(spans, "execute_tool patch_file")
        assert dict(span.attributes or {})["provenance.count.assumed"] == 1
        assert span.status.status_code is StatusCode.UNSET
        assert len(span.events) == 1

    def test_what_it_let_through_cannot_be_cited_afterwards(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor
    ) -> None:
        swallowing, letting = Agent(provider, SWALLOWS), Agent(provider)
        with citespan.run():
            swallowing.call("create", {"path": "zz.py"}, {"created": "zz.py"})
            swallowing.call("list_files", {}, {"files": ["zz.py"]})
            with pytest.raises(ProvenanceDenied):
                letting.call("patch_file", {"path": "zz.py"})

    def test_no_arguments_at_start_is_unguarded(self, agent: Agent, spans: InMemorySpanExporter) -> None:
        with citespan.run():
            agent.call("t", None)
        assert statuses(spans) == [("execute_tool t", "unguarded")]

    def test_arguments_that_come_later_still_let_the_result_teach(
        self, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        with citespan.run():
            with agent.tracer.start_as_current_span("execute_tool list_files") as span:
                span.set_attribute("gen_ai.tool.call.arguments", "{}")
                span.set_attribute("gen_ai.tool.call.result", '{"files": ["a.py"]}')
            agent.call("patch_file", {"path": "a.py"})
        assert statuses(spans) == [("execute_tool list_files", "unguarded"), ("execute_tool patch_file", "ok")]

    def test_a_result_teaches_nothing_while_its_arguments_are_unknown(self, agent: Agent) -> None:
        with citespan.run():
            agent.call("echo", None, {"files": ["zz.py"]})
            with pytest.raises(ProvenanceDenied):
                agent.call("patch_file", {"path": "zz.py"})

    def test_other_spans_are_left_alone(
        self, provider: TracerProvider, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        with agent.tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            pass
        assert statuses(spans) == [("chat", None)]


class TestLearning:
    """Results that others' spans carry."""

    def test_a_failed_call_teaches_nothing(self, agent: Agent) -> None:
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": "{}"}
        with citespan.run():
            with agent.tracer.start_as_current_span("execute_tool a", attributes=own) as span:
                span.set_attribute("gen_ai.tool.call.result", '"zz.py"')
                span.set_attribute("error.type", "tool_error")
            with agent.tracer.start_as_current_span("execute_tool b", attributes=own) as span:
                span.set_attribute("gen_ai.tool.call.result", '"zz.py"')
                span.set_status(StatusCode.ERROR)
            with pytest.raises(ProvenanceDenied):
                agent.call("patch_file", {"path": "zz.py"})

    def test_an_uncited_value_in_a_call_that_failed_is_remembered(self, agent: Agent) -> None:
        policy = Policy(tools={"create": ToolRule(mode="tag")})
        with citespan.run(policy=policy):
            with pytest.raises(RuntimeError):
                self._create_and_fail(agent)
            agent.call("list_files", {}, {"files": ["zz.py"]})
            with pytest.raises(ProvenanceDenied):
                agent.call("patch_file", {"path": "zz.py"})

    @staticmethod
    def _create_and_fail(agent: Agent) -> None:
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"path": "zz.py"}'}
        with agent.tracer.start_as_current_span("execute_tool create", attributes=own):
            raise RuntimeError("after it was created")

    def test_an_echo_teaches_nothing(self, agent: Agent) -> None:
        policy = Policy(tools={"echo": ToolRule(mode="tag")})
        with citespan.run(policy=policy):
            agent.call("echo", {"text": "zz.py"}, "zz.py")
            with pytest.raises(ProvenanceDenied):
                agent.call("patch_file", {"path": "zz.py"})

    def test_spans_that_never_end_are_forgotten_oldest_first(
        self, gate: ProvenanceSpanProcessor, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("citespan.otel.processor.MAX_OPEN", 10)
        for _ in range(50):
            agent.tracer.start_span("execute_tool x")
        assert len(gate._open) == 10
        gate.shutdown()
        assert not gate._open
