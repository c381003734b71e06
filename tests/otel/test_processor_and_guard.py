"""The second gate beside the guard, and in awkward providers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.otel.agents import Agent, last, statuses

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.otel.exporter import ProvenanceSpanExporter
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry


class TestWithTheGuard:
    """The guard's own calls are judged once."""

    def test_a_guarded_call_is_not_judged_again(
        self, gate: ProvenanceSpanProcessor, spans: InMemorySpanExporter
    ) -> None:
        with citespan.run():
            begin(Tool("list_files"), {}).finish({"files": ["a.py"]})
            with pytest.raises(ProvenanceDenied):
                begin(Tool("patch_file"), {"path": "zz.py"})
        assert statuses(spans) == [("execute_tool list_files", "ok"), ("execute_tool patch_file", "blocked")]

    def test_a_native_span_inside_the_same_call_is_neither_judged_nor_unguarded(
        self, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        with citespan.run(inputs={"path": "zz.py"}), self._body_of("patch_file", path="zz.py"):
            agent.call("patch_file", {"path": "zz.py"}, {"ok": True})
        assert ("execute_tool patch_file", None) in statuses(spans)

    def test_what_is_exported_of_a_native_span_inside_a_judged_call_is_not_called_unguarded(
        self, agent: Agent, spans: InMemorySpanExporter
    ) -> None:
        exported = InMemorySpanExporter()
        with citespan.run(inputs={"path": "zz.py"}), self._body_of("patch_file", path="zz.py"):
            agent.call("patch_file", {"path": "zz.py"}, {"ok": True})
        ProvenanceSpanExporter(exported).export(spans.get_finished_spans())
        assert ("execute_tool patch_file", "unguarded") not in statuses(exported)

    def test_the_same_tool_with_other_arguments_inside_it_is_another_call(self, agent: Agent) -> None:
        with citespan.run(), self._body_of("patch_file"), pytest.raises(ProvenanceDenied):
            agent.call("patch_file", {"path": "zz.py"})

    def test_another_tool_inside_a_judged_calls_body_is_judged(self, agent: Agent) -> None:
        with citespan.run(), self._body_of("ask_agent"), pytest.raises(ProvenanceDenied):
            agent.call("patch_file", {"path": "zz.py"})

    @staticmethod
    def _body_of(tool: str, **arguments: Any) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def body() -> Any:
            ticket = begin(Tool(tool), arguments)
            token = otel_context.attach(ticket.context)
            try:
                yield
            finally:
                otel_context.detach(token)
                ticket.finish(None)

        return body()

    def test_a_pending_span_is_completed_by_the_guard(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor, spans: InMemorySpanExporter
    ) -> None:
        registry.enforced_scopes.add("a.framework")
        tracer = provider.get_tracer("a.framework")
        own = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "list_files",
            "gen_ai.tool.call.arguments": "{}",
        }
        with citespan.run() as run:
            with tracer.start_as_current_span("execute_tool list_files", attributes=own) as span:
                ticket = begin(Tool("list_files"), {})
                ticket.finish({"files": ["a.py"]})
                span.set_attribute("gen_ai.tool.call.result", '{"files": ["a.py"]}')
            assert len(list(run.state.ledger.fields())) == 1, "the result was learnt once"
        assert statuses(spans) == [("execute_tool list_files", "ok")]

    def test_a_pending_span_that_the_guard_never_saw_is_unguarded(
        self, provider: TracerProvider, gate: ProvenanceSpanProcessor, spans: InMemorySpanExporter
    ) -> None:
        registry.enforced_scopes.add("my.agent")
        agent = Agent(provider)
        with citespan.run():
            agent.call("patch_file", {"path": "zz.py"})
        assert agent.ran == ["patch_file"]
        assert statuses(spans) == [("execute_tool patch_file", "unguarded")]

    def test_a_call_that_both_see_is_counted_and_linked_once(self, agent: Agent, spans: InMemorySpanExporter) -> None:
        """A hand-written span around a guarded function: the guard, which knows the schema, has the last word."""
        policy = Policy(mode="tag")
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"a": "x.py", "b": "zz"}'}
        with citespan.run(policy=policy) as run:
            agent.call("list_files", {}, {"files": ["x.py"]})
            with agent.tracer.start_as_current_span("execute_tool t", attributes=own) as span:
                begin(Tool("t"), {"a": "x.py", "b": "zz"}).finish({"id": "created-17"})
                span.set_attribute("gen_ai.tool.call.result", '{"id": "created-17"}')
            assert len(list(run.state.ledger.fields())) == 2
        both = last(spans, "execute_tool t")
        assert (len(both.links), len(both.events)) == (1, 1)
        assert dict(both.attributes or {})["provenance.status"] == "flagged"

    def test_an_attribute_is_no_token(self, agent: Agent) -> None:
        with citespan.run(), pytest.raises(ProvenanceDenied):
            agent.call("patch_file", {"path": "zz.py"}, **{"provenance.status": "ok", "citespan-judged": True})

    def test_the_guard_works_with_no_span_at_all(self, telemetry: OtelTelemetry) -> None:
        unsampled = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
        unsampled.add_span_processor(ProvenanceSpanProcessor())
        registry.telemetry = OtelTelemetry(unsampled)
        with citespan.run(), pytest.raises(ProvenanceDenied):
            begin(Tool("patch_file"), {"path": "zz.py"})


class TestAwkwardProviders:
    """Hooks without a context, and processors that fail."""

    def test_concurrent_hooks_see_no_ledger_and_say_so(
        self, spans: InMemorySpanExporter, telemetry: OtelTelemetry
    ) -> None:
        provider = TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(2), shutdown_on_exit=False)
        provider.add_span_processor(ProvenanceSpanProcessor(telemetry=telemetry))
        provider.add_span_processor(SimpleSpanProcessor(spans))
        agent = Agent(provider)
        with citespan.run():
            agent.call("patch_file", {"path": "zz.py"})
            with agent.tracer.start_as_current_span("parent"):
                agent.call("patch_file", {"path": "zz.py"})
        provider.shutdown()
        assert agent.ran == 2 * ["patch_file"]
        assert [status for name, status in statuses(spans) if name != "parent"] == 2 * ["unguarded"]

    def test_concurrent_hooks_judge_where_the_context_was_passed(
        self, spans: InMemorySpanExporter, telemetry: OtelTelemetry
    ) -> None:
        provider = TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(2), shutdown_on_exit=False)
        provider.add_span_processor(ProvenanceSpanProcessor(telemetry=telemetry))
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"path": "zz.py"}'}
        with citespan.run(), pytest.raises(ProvenanceDenied):
            provider.get_tracer("my.agent").start_span("execute_tool t", otel_context.get_current(), attributes=own)
        provider.shutdown()

    def test_a_bug_of_ours_before_judging_stops_nothing(
        self, agent: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr("citespan.otel.processor.tool_of", lambda *_: 1 / 0)
        agent.call("t", {})
        assert agent.ran == ["t"]
        assert "ZeroDivisionError" in caplog.text

    def test_arguments_that_cannot_be_read_cannot_be_cited(self, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("citespan.otel.processor.arguments_of", lambda *_: 1 / 0)
        with citespan.run(), pytest.raises(ProvenanceDenied):
            agent.call("t", {})
        assert agent.ran == []

    def test_another_processor_that_fails_at_the_end_does_not_hide_the_refusal(
        self, provider: TracerProvider, agent: Agent
    ) -> None:
        class Failing(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                raise RuntimeError

        provider.add_span_processor(Failing())
        with pytest.raises(ProvenanceDenied):
            agent.call("t", {"path": "zz.py"})

    def test_threads_without_the_context_are_outside_any_run(self, agent: Agent) -> None:
        outcome: list[BaseException] = []

        def work() -> None:
            try:
                agent.call("patch_file", {"path": "a.py"})
            except ProvenanceDenied as denied:
                outcome.append(denied)

        with citespan.run():
            agent.call("list_files", {}, {"files": ["a.py"]})
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert len(outcome) == 1

    def test_an_explicit_context_is_the_one_that_counts(self, agent: Agent) -> None:
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"path": "a.py"}'}
        with citespan.run():
            agent.call("list_files", {}, {"files": ["a.py"]})
            here = otel_context.get_current()
            agent.tracer.start_span("execute_tool t", here, attributes=own).end()
            with pytest.raises(ProvenanceDenied):
                agent.tracer.start_span("execute_tool t", Context(), attributes=own)
        with pytest.raises(ProvenanceDenied):
            agent.tracer.start_span("execute_tool t", here, attributes=own)


def test_the_gate_needs_nothing_configured(spans: InMemorySpanExporter) -> None:
    """Added by hand to a provider, with no telemetry set up."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(ProvenanceSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(spans))
    agent = Agent(provider)
    calls: list[Callable[[], Any]] = [lambda: agent.call("t", {"path": "zz.py"})]
    with pytest.raises(ProvenanceDenied):
        calls[0]()
    assert statuses(spans) == [("execute_tool t", "blocked")]
