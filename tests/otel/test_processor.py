"""The second gate: tool spans that nobody guards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import citespan
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy, ToolRule
from citespan.guard import guard
from citespan.guard.guard import begin
from citespan.guard.ports import Tool, ToolCall
from citespan.guard.registry import registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry

SWALLOWS = "opentelemetry.instrumentation.some_framework"


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


@pytest.fixture
def gate(provider: TracerProvider, telemetry: OtelTelemetry) -> ProvenanceSpanProcessor:
    registry.telemetry = telemetry
    made = ProvenanceSpanProcessor()
    provider.add_span_processor(made)
    return made


@pytest.fixture
def agent(provider: TracerProvider, gate: ProvenanceSpanProcessor) -> Agent:
    return Agent(provider)


def statuses(spans: InMemorySpanExporter) -> list[tuple[str, Any]]:
    return [
        (span.name, (span.attributes or {}).get("provenance.status"))
        for span in spans.get_finished_spans()
        if not span.name.startswith("invoke_agent")
    ]


def last(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    return [span for span in spans.get_finished_spans() if span.name == name][-1]


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
        with citespan.run(), pytest.raises(ProvenanceDenied, match=r"patch_file\.path"):
            agent.call("patch_file", {"path": "zz.py"})
        assert agent.ran == []
        span = last(spans, "execute_tool patch_file")
        assert span.status.status_code is StatusCode.ERROR
        attributes = dict(span.attributes or {})
        assert attributes["provenance.status"] == "blocked"
        assert attributes["error.type"] == "provenance_budget_exceeded"
        assert attributes["provenance.violations"] == ("assumed_fields=[path]",)
        assert [event.name for event in span.events] == ["provenance.uncited"]

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
            pytest.raises(ProvenanceDenied, match=r"\.path"),
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
        monkeypatch.setattr(guard, "decide", lambda *_: 1 / 0)
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
        assert dict(span.attributes or {})["provenance.assumed_fields"] == ("path",)
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
        with citespan.run(), self._body_of("patch_file"):
            agent.call("patch_file", {"path": "zz.py"}, {"ok": True})
        assert ("execute_tool patch_file", None) in statuses(spans)

    def test_another_tool_inside_a_judged_calls_body_is_judged(self, agent: Agent) -> None:
        with citespan.run(), self._body_of("ask_agent"), pytest.raises(ProvenanceDenied):
            agent.call("patch_file", {"path": "zz.py"})

    @staticmethod
    def _body_of(tool: str) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def body() -> Any:
            ticket = begin(Tool(tool), {})
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
