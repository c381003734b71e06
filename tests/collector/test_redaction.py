"""Raw content that others put on spans, and secrets in what is left, go no further than the collector."""

from __future__ import annotations

import json

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.collector.agents import delete_file, list_files, run, sending
from tests.collector.programs import until
from tests.collector.stack import Stack, tags_of
from tests.otel.receiver import attributes_of

from citespan import semconv
from citespan.core.policy import Policy

#: stands in every value that must not arrive
RAW = "zanzibar"
CONTENT = sorted([*semconv.CONTENT_KEYS, *(f"{prefix}0.content" for prefix in semconv.CONTENT_PREFIXES)])
SECRETS = {
    "exception.message": f"401 for Authorization: Bearer {RAW}{RAW}",
    "note": f"key sk-{RAW}{RAW}",
    "http.request.header.authorization": f"Basic {RAW}",
    "db.password": RAW,
}


@pytest.fixture(scope="module")
def arrived(running: Stack) -> str:
    """Everything that came of one foreign span, as text: from Jaeger, from Tempo's place, from the file."""
    with sending(running.gateway.http, "leaky") as provider:
        tracer = provider.get_tracer("somebody's agent")
        content = {key: json.dumps({"path": RAW}) for key in CONTENT}
        named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shell", "gen_ai.tool.call.id": "call_7"}
        with tracer.start_as_current_span("execute_tool shell", attributes={**content, **named, **SECRETS}) as span:
            span.add_event("gen_ai.choice", {**content, **SECRETS, "index": 3})
            span.set_status(StatusCode.ERROR)

    def everywhere() -> str | None:
        traces = running.jaeger.traces("leaky")
        mine = [span for span in running.tempo.spans(0) if any(event.name == "gen_ai.choice" for event in span.events)]
        lines = [line for line in running.gateway.violations.read_text().splitlines() if '"leaky"' in line]
        return f"{json.dumps(traces)}{mine}{lines}" if traces and mine and lines else None

    return until(everywhere, "the span is in Jaeger, in Tempo's place and in the file")


def test_content_of_others_does_not_arrive(arrived: str) -> None:
    """Arguments, results and messages, on spans and on events, by any convention that citespan knows."""
    assert RAW not in arrived
    for key in CONTENT:
        assert f'"{key}"' not in arrived, key


def test_the_rest_of_the_span_arrives(running: Stack, arrived: str) -> None:
    """Names, ids and numbers; and the keys of what was masked."""
    (trace,) = running.jaeger.traces("leaky")
    (span,) = trace["spans"]
    tags = tags_of(span)
    assert tags["gen_ai.tool.name"] == "shell"
    assert tags["gen_ai.tool.call.id"] == "call_7"
    assert tags["provenance.status"] == "unguarded"
    assert SECRETS.keys() <= tags.keys()
    (event,) = span["logs"]
    assert tags_of(event)["index"] == 3


def test_of_what_citespan_writes_only_previews_are_removed(running: Stack) -> None:
    """Every other attribute of span, event and link is the one that was sent."""
    kept = InMemorySpanExporter()
    with sending(running.gateway.http, "previewing") as provider:
        provider.add_span_processor(SimpleSpanProcessor(kept))
        with run(provider, Policy(mode="tag"), previews=True):
            list_files("/srv/checkout")
            delete_file(RAW)
    sent = {span.context.span_id: span for span in kept.get_finished_spans()}
    assert any(key.startswith(semconv.PREVIEW) for span in sent.values() for key in span.attributes)

    def received() -> list[object] | None:
        mine = [span for span in running.tempo.spans(0) if int.from_bytes(span.span_id, "big") in sent]
        return mine if len(mine) == len(sent) else None

    for span in until(received, "the three spans are in Tempo's place"):
        original = sent[int.from_bytes(span.span_id, "big")]
        expected = {key: value for key, value in original.attributes.items() if not key.startswith(semconv.PREVIEW)}
        assert attributes_of(span) == {k: list(v) if isinstance(v, tuple) else v for k, v in expected.items()}
        assert [attributes_of(event) for event in span.events] == [dict(event.attributes) for event in original.events]
        assert len(span.links) == len(original.links)
    assert RAW not in running.gateway.violations.read_text()
    assert RAW not in json.dumps(running.jaeger.traces("previewing"))
