"""Raw content stays in the process."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode

from citespan import semconv
from citespan.otel.exporter import ProvenanceSpanExporter


def exported(
    allow_content: bool = False, limits: SpanLimits | None = None
) -> tuple[TracerProvider, InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(ProvenanceSpanExporter(kept, allow_content)))
    return provider, kept


CONTENT = sorted(semconv.CONTENT_KEYS) + [f"{prefix}0.content" for prefix in semconv.CONTENT_PREFIXES]


@pytest.mark.parametrize("key", CONTENT)
def test_content_is_dropped_from_spans_and_their_events(key: str) -> None:
    provider, kept = exported()
    with provider.get_tracer("x").start_as_current_span(
        "execute_tool t", attributes={key: "secret", "kept": 1}
    ) as span:
        span.add_event("e", {key: "secret", "kept": 1})
    (copy,) = kept.get_finished_spans()
    assert dict(copy.attributes or {}) == {"kept": 1, "provenance.status": "unguarded"}
    assert dict(copy.events[0].attributes or {}) == {"kept": 1}
    assert "secret" not in copy.to_json()


def test_texts_of_exceptions_are_dropped_from_spans_about_agents() -> None:
    """A framework's exception shows the model's arguments; on the span of a query it is what an operator looks for."""
    provider, kept = exported()
    for attributes in ({"gen_ai.operation.name": "chat"}, {"openinference.span.kind": "LLM"}, {"db.system": "x"}):
        with provider.get_tracer("x").start_as_current_span("s", attributes=attributes) as span:
            span.record_exception(ValueError("input_value=['secret']"))
            span.set_status(StatusCode.ERROR, "ValueError: input_value=['secret']")
    about_a_model, about_a_chain, about_a_query = kept.get_finished_spans()
    for copy in (about_a_model, about_a_chain):
        assert "secret" not in copy.to_json()
        assert copy.status.status_code is StatusCode.ERROR
        assert dict(copy.events[0].attributes or {})["exception.type"] == "ValueError"
    assert about_a_query.status.description == "ValueError: input_value=['secret']"


def test_content_is_kept_where_it_is_allowed() -> None:
    provider, kept = exported(allow_content=True)
    with provider.get_tracer("x").start_as_current_span("chat", attributes={"input.value": "wanted"}):
        pass
    (copy,) = kept.get_finished_spans()
    assert dict(copy.attributes or {}) == {"input.value": "wanted"}


def test_everything_else_of_the_span_is_as_it_was() -> None:
    provider, kept = exported(limits=SpanLimits(max_span_attributes=3, max_events=1, max_links=1))
    links = [Link(SpanContext(1, index, is_remote=False), {"n": index}) for index in (1, 2)]
    span = provider.get_tracer("x", "1", "https://schema").start_span("n", kind=SpanKind.CLIENT, links=links)
    for key in ("a", "b", "input.value", "c"):
        span.set_attribute(key, key)
    span.add_event("first")
    span.add_event("second", {"input.value": "secret", "a": 1})
    span.set_status(StatusCode.ERROR, "why")
    span.end()
    (copy,) = kept.get_finished_spans()
    assert isinstance(span, ReadableSpan)
    for field in ("name", "context", "parent", "kind", "status", "start_time", "end_time", "resource", "links"):
        assert getattr(copy, field) == getattr(span, field), field
    assert copy.instrumentation_scope == span.instrumentation_scope
    assert (copy.dropped_attributes, copy.dropped_events, copy.dropped_links) == (1, 1, 1)
    assert copy.events[0].timestamp == span.events[0].timestamp
    assert dict(copy.attributes or {}) == {"b": "b", "c": "c"}
    assert dict(span.attributes or {})["input.value"] == "input.value", "the span itself is untouched"


def test_a_clean_span_is_not_copied() -> None:
    provider, kept = exported()
    with provider.get_tracer("x").start_as_current_span("n", attributes={"a": 1}):
        pass
    assert len(kept.get_finished_spans()) == 1


def test_a_tool_span_that_was_judged_keeps_its_verdict() -> None:
    provider, kept = exported()
    with provider.get_tracer("x").start_as_current_span("execute_tool t", attributes={"provenance.status": "ok"}):
        pass
    assert dict(kept.get_finished_spans()[0].attributes or {}) == {"provenance.status": "ok"}


def test_an_exporter_that_raises_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    class Raising(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise RuntimeError("secret")

    exporter = ProvenanceSpanExporter(Raising())
    assert [exporter.export([]), exporter.export([])] == 2 * [SpanExportResult.FAILURE]
    assert caplog.text.count("RuntimeError") == 1
    assert "secret" not in caplog.text


def test_shutdown_and_flush_reach_the_exporter() -> None:
    kept = InMemorySpanExporter()
    exporter = ProvenanceSpanExporter(kept)
    assert exporter.force_flush()
    exporter.shutdown()
    assert kept._stopped
