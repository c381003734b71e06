"""Spans of calls and runs: opened, adopted, refused, ended."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags
from tests.otel.values import assumed, judged, observed, tag

from citespan import semconv
from citespan.guard.ports import CallSpan
from citespan.otel.digest import Digester
from citespan.otel.telemetry import OtelTelemetry

CITED = [tag(("path",), "a.py", observed())]
UNCITED = [tag(("path",), "zz.py", assumed())]
EXECUTE = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "patch_file"}


def start(telemetry: OtelTelemetry, tags: list[Any] = CITED, context: Context | None = None, **more: Any) -> CallSpan:
    call, decision = judged(tags, **more)
    return telemetry.start_call(
        call, decision, otel_context.get_current() if context is None else context, guard_seconds=1e-5
    )


def only(spans: InMemorySpanExporter) -> Any:
    (span,) = spans.get_finished_spans()
    return span


def test_a_call_is_one_internal_span_with_scope_version_and_schema(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    started = start(telemetry)
    started.end()
    span = only(spans)
    assert (span.name, span.kind) == ("execute_tool patch_file", SpanKind.INTERNAL)
    assert span.status.status_code is StatusCode.UNSET
    assert started.ref == (format(span.context.trace_id, "032x"), format(span.context.span_id, "016x"))
    scope = span.instrumentation_scope
    assert (scope.name, scope.schema_url) == ("citespan", semconv.SCHEMA_URL)
    assert scope.version
    assert len(span.links) == 1


def test_the_body_runs_under_the_calls_span(telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
    started = start(telemetry)
    inside = trace.get_current_span(started.context(Context()))
    assert started.ref is not None
    assert format(inside.get_span_context().span_id, "016x") == started.ref.span_id


def test_a_refused_call_is_an_error_without_exception_event_or_value(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    start(telemetry, UNCITED).end()
    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "refused: assumed_fields=[path]"
    assert span.attributes["error.type"] == "provenance_budget_exceeded"
    assert span.attributes["provenance.status"] == "blocked"
    assert [event.name for event in span.events] == ["provenance.uncited"]
    assert "zz.py" not in span.to_json()


def test_a_bodys_own_exception_gives_its_class_and_no_text(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    start(telemetry).end(error=FileNotFoundError("/home/ann/secret"))
    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "FileNotFoundError"
    assert span.attributes["provenance.status"] == "ok"
    assert "secret" not in span.to_json()


def test_a_generator_that_is_left_is_no_error(telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
    start(telemetry).end(error=GeneratorExit())
    assert only(spans).status.status_code is StatusCode.UNSET


def test_a_result_that_was_not_recorded_says_why(telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
    start(telemetry).end(note="a model made it")
    assert only(spans).attributes["provenance.unrecorded"] == "a model made it"


def test_a_span_is_ended_once(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    started = start(telemetry)
    started.end()
    started.end(error=ValueError())
    assert only(spans).status.status_code is StatusCode.UNSET
    assert caplog.records == []


def test_a_verdict_that_changes_before_the_body_ran_is_replaced(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    started = start(telemetry)
    _, decision = judged(UNCITED)
    started.amend(decision)
    started.end()
    span = only(spans)
    assert span.attributes["provenance.status"] == "blocked"
    assert span.attributes["error.type"] == "provenance_budget_exceeded"
    assert span.status.status_code is StatusCode.ERROR


class TestAFrameworksOwnSpan:
    """Where the current span already is the call's, it tells the provenance."""

    def test_it_is_used_and_left_open(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter
    ) -> None:
        tracer = provider.get_tracer("a.framework")
        with tracer.start_as_current_span("execute_tool patch_file", attributes=EXECUTE) as span:
            started = start(telemetry)
            started.end(note="a note")
            assert span.is_recording()
        theirs = only(spans)
        assert theirs.instrumentation_scope.name == "a.framework"
        assert theirs.attributes["provenance.kind.path"] == "observed"
        assert theirs.attributes["provenance.unrecorded"] == "a note"
        assert len(theirs.links) == 1
        assert started.ref is not None
        assert started.ref.span_id == format(theirs.context.span_id, "016x")

    @pytest.mark.parametrize(
        "name,attributes",
        [
            ("execute_tool patch_file", {}),
            ("patch_file", {"openinference.span.kind": "TOOL"}),
            ("x", {"openinference.span.kind": "TOOL", "tool.name": "patch_file"}),
            ("patch_file.tool", {"traceloop.span.kind": "tool"}),
            ("x", {"traceloop.span.kind": "tool", "traceloop.entity.name": "patch_file"}),
            ("tools/call patch_file", {"mcp.method.name": "tools/call"}),
        ],
    )
    def test_other_conventions_are_known(
        self,
        telemetry: OtelTelemetry,
        provider: TracerProvider,
        spans: InMemorySpanExporter,
        name: str,
        attributes: dict[str, str],
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span(name, attributes=attributes):
            start(telemetry).end()
        assert only(spans).attributes["provenance.status"] == "ok"

    @pytest.mark.parametrize(
        "name,attributes",
        [
            ("execute_tool other", {**EXECUTE, "gen_ai.tool.name": "other"}),
            ("chat patch_file", {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "patch_file"}),
            ("patch_file", {}),
        ],
    )
    def test_another_span_is_not_taken(
        self,
        telemetry: OtelTelemetry,
        provider: TracerProvider,
        spans: InMemorySpanExporter,
        name: str,
        attributes: dict[str, str],
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span(name, attributes=attributes):
            start(telemetry).end()
        ours, theirs = spans.get_finished_spans()
        assert ours.parent is not None
        assert ours.parent.span_id == theirs.context.span_id
        assert "provenance.status" not in (theirs.attributes or {})

    def test_a_tool_that_calls_itself_gets_a_span_of_its_own(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span("execute_tool patch_file", attributes=EXECUTE):
            outer = start(telemetry)
            inner = start(telemetry, context=outer.context(otel_context.get_current()))
            innermost = start(telemetry, context=inner.context(otel_context.get_current()))
            for each in (innermost, inner, outer):
                each.end()
        assert len(spans.get_finished_spans()) == 3
        assert len({outer.ref, inner.ref, innermost.ref}) == 3

    def test_a_refusal_stands_on_it(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span("execute_tool patch_file", attributes=EXECUTE):
            start(telemetry, UNCITED).end()
        theirs = only(spans)
        assert theirs.status.status_code is StatusCode.ERROR
        assert theirs.attributes["error.type"] == "provenance_budget_exceeded"
        assert len(theirs.events) == 1

    @pytest.mark.parametrize("present", [0, 60, 100, 118, 125, 128])
    def test_it_keeps_its_tool_name_and_the_verdict_however_full_it_is(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter, present: int
    ) -> None:
        own = {**EXECUTE, **{f"theirs.{index}": index for index in range(present - len(EXECUTE))}}
        tags = [tag((f"a{index}",), "zz", assumed() if index % 2 else observed()) for index in range(200)]
        with provider.get_tracer("a.framework").start_as_current_span("execute_tool patch_file", attributes=own):
            start(telemetry, tags, call_id="c", run_id="r", run_name="n", step="s", evicted=2).end()
        attributes = only(spans).attributes
        assert len(attributes) <= 128
        assert attributes["gen_ai.tool.name"] == "patch_file"
        core = {"status", "mode", "policy", "budget", "violations", "assumed_fields"}
        assert {f"provenance.{name}" for name in core} <= attributes.keys()
        if present <= 100:
            assert only(spans).dropped_attributes == 0
            assert {
                "provenance.count.assumed",
                "provenance.count.observed",
                "provenance.truncated",
            } <= attributes.keys()
            assert sum(key.startswith("theirs.") for key in attributes) == max(0, present - len(EXECUTE))

    def test_a_verdict_that_changes_is_replaced_on_it(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span("execute_tool patch_file", attributes=EXECUTE):
            started = start(telemetry)
            started.amend(judged(UNCITED)[1])
            started.end()
        started.amend(judged(CITED)[1])
        assert only(spans).attributes["provenance.status"] == "blocked"

    def test_its_own_genai_attributes_stay(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter
    ) -> None:
        own = {**EXECUTE, "gen_ai.tool.type": "datastore", "gen_ai.tool.description": "theirs"}
        with provider.get_tracer("a.framework").start_as_current_span("execute_tool patch_file", attributes=own):
            start(telemetry).end()
        assert only(spans).attributes["gen_ai.tool.type"] == "datastore"
        assert only(spans).attributes["gen_ai.tool.description"] == "theirs"


class TestRuns:
    """`invoke_agent {name}`, whose end is what closed means."""

    def test_a_run_is_a_span_and_its_calls_are_children(
        self, telemetry: OtelTelemetry, spans: InMemorySpanExporter
    ) -> None:
        run = telemetry.start_run("coder", "thread-42", Context())
        start(telemetry, context=run.context(Context())).end()
        run.end()
        call, opened = spans.get_finished_spans()
        assert opened.name == "invoke_agent coder"
        assert dict(opened.attributes or {}) == {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": "thread-42",
            "gen_ai.agent.name": "coder",
        }
        assert call.parent is not None
        assert call.parent.span_id == opened.context.span_id

    def test_a_run_without_a_name(self, telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
        telemetry.start_run(None, None, Context()).end()
        assert only(spans).name == "invoke_agent"

    def test_a_run_that_failed_names_the_class(self, telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
        telemetry.start_run("coder", None, Context()).end(error=ValueError("secret"))
        assert only(spans).attributes["error.type"] == "ValueError"
        assert "secret" not in only(spans).to_json()

    @pytest.mark.parametrize(
        "agent",
        [
            {"gen_ai.operation.name": "invoke_agent"},
            {"openinference.span.kind": "AGENT"},
            {"traceloop.span.kind": "agent"},
        ],
    )
    def test_none_is_opened_where_an_agents_span_is_current(
        self, telemetry: OtelTelemetry, provider: TracerProvider, spans: InMemorySpanExporter, agent: dict[str, str]
    ) -> None:
        with provider.get_tracer("a.framework").start_as_current_span("theirs", attributes=agent) as span:
            here = otel_context.get_current()
            run = telemetry.start_run("coder", None, here)
            assert run.context(here) == here
            run.end()
            assert span.is_recording()
        assert only(spans).name == "theirs"


class TestWithoutRecording:
    """Nothing changes but the spans."""

    def test_no_provider_at_all(self) -> None:
        telemetry = OtelTelemetry(trace.NoOpTracerProvider(), digester=Digester(b"k"))
        started = start(telemetry, UNCITED)
        assert started.ref is None
        here = Context({"key": "value"})
        assert started.context(here) == here
        started.amend(judged(UNCITED)[1])
        started.end(error=ValueError())

    def test_no_provider_under_a_remote_parent_is_not_the_parents_span(self) -> None:
        remote = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1)))
        here = trace.set_span_in_context(remote, Context())
        started = start(OtelTelemetry(trace.NoOpTracerProvider()), context=here)
        assert started.ref is None
        assert trace.get_current_span(started.context(here)) is remote

    def test_an_unsampled_call_keeps_its_ids_and_its_body_unsampled(self) -> None:
        telemetry = OtelTelemetry(TracerProvider(sampler=ALWAYS_OFF))
        started = start(telemetry)
        assert started.ref is not None
        inside = trace.get_current_span(started.context(Context())).get_span_context()
        assert format(inside.span_id, "016x") == started.ref.span_id
        assert not inside.trace_flags.sampled
        started.end()


class TestEvents:
    """`provenance.uncited` on the span, as log records, or both: one emitter."""

    @pytest.mark.parametrize("events,on_span,in_log", [("span", 1, 0), ("log", 0, 1), ("both", 1, 1)])
    def test_where_they_go(
        self, provider: TracerProvider, spans: InMemorySpanExporter, events: Any, on_span: int, in_log: int
    ) -> None:
        kept = InMemoryLogRecordExporter()
        logs = LoggerProvider()
        logs.add_log_record_processor(SimpleLogRecordProcessor(kept))
        telemetry = OtelTelemetry(provider, logger_provider=logs, events=events)
        start(telemetry, UNCITED).end()
        span = only(spans)
        assert len(span.events) == on_span
        records = [each.log_record for each in kept.get_finished_logs()]
        assert len(records) == in_log
        for record in records:
            assert record.event_name == "provenance.uncited"
            assert record.attributes["provenance.argument.path"] == "path"
            assert (record.trace_id, record.span_id) == (span.context.trace_id, span.context.span_id)
        logs.shutdown()
