"""Trace lines: what the OTLP exporter's own encoder would say, in the protocol's JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState
from tests.traces.messages import parse_line, spans_of

from citespan.traces.decode import Malformed, decode
from citespan.traces.otlp_json import encode_line, traces_data

#: older encoders leave null out, and any structured value that has one in it
NULL_IS_SENT = bool(
    encode_spans([ReadableSpan("n", SpanContext(1, 1, is_remote=False), attributes={"null": None})])
    .resource_spans[0]
    .scope_spans[0]
    .spans[0]
    .attributes
)


def official(spans: Sequence[ReadableSpan]) -> TracesData:
    """The same spans as the OTLP exporter's encoder makes them."""
    return TracesData(resource_spans=encode_spans(spans).resource_spans)


def context(trace_id: int, span_id: int, *, remote: bool = False, state: Any = None) -> SpanContext:
    return SpanContext(trace_id, span_id, remote, TraceFlags(1), state)


def rich_spans() -> list[ReadableSpan]:
    """Spans with everything that the protocol has."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(
        resource=Resource({"service.name": "tests", "n": 1}, "https://schema/resource"),
        span_limits=SpanLimits(max_span_attributes=9, max_events=2, max_links=2),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("scope", "1.2", "https://schema/scope", {"scope.attribute": True})
    parent = context(1, 2, remote=True, state=TraceState([("k", "v")]))
    attributes = {
        "dropped": 0,
        "text": "ä\u2028\n",
        "int": -(2**63),
        "big": 2**53 + 1,
        "float": 1.5,
        "whole": 2.0,
        "bool": True,
        "texts": ["a", "b"],
        "empty": [],
        "ints": [1, 2],
    }
    with tracer.start_as_current_span("parent", kind=SpanKind.SERVER, attributes={}) as span:
        for index in range(3):
            span.add_event(f"event {index}", {"index": index})
        span.set_status(StatusCode.ERROR, "why")
        for index in range(3):
            span.add_link(context(3, index + 1, remote=index == 2), {"index": index})
        with tracer.start_as_current_span("child", kind=SpanKind.CLIENT, attributes=attributes) as child:
            child.set_status(StatusCode.OK)
    with provider.get_tracer("other").start_as_current_span("") as plain:
        plain.set_attribute("n", 1)
    spans = list(kept.get_finished_spans())
    spans.append(
        ReadableSpan(
            name="bare",
            context=parent,
            parent=parent,
            resource=Resource({}),
            attributes={
                "bytes": b"\xff\x00",
                "map": {"a": 1, "b": [{"c": math.inf}]},
                "nan": math.nan,
                "neg": -math.inf,
            },
        )
    )
    return spans


def test_a_line_parses_back_into_what_the_protobuf_exporter_sends() -> None:
    spans = rich_spans()
    parsed = parse_line(encode_line(spans))
    # NaN equals nothing, so the messages are compared as their deterministic bytes
    assert parsed.SerializeToString(deterministic=True) == official(spans).SerializeToString(deterministic=True)


def test_ids_are_hex_enums_numbers_and_long_integers_text() -> None:
    (group, *_) = json.loads(encode_line(rich_spans()))["resourceSpans"]
    child, parent = group["scopeSpans"][0]["spans"]
    assert (len(child["traceId"]), len(child["spanId"])) == (32, 16)
    assert child["parentSpanId"] == parent["spanId"]
    assert (child["kind"], child["status"]) == (3, {"code": 1})
    assert parent["status"] == {"message": "why", "code": 2}
    assert isinstance(child["startTimeUnixNano"], str)
    assert {"key": "big", "value": {"intValue": str(2**53 + 1)}} in child["attributes"]
    assert (parent["droppedEventsCount"], parent["droppedLinksCount"], child["droppedAttributesCount"]) == (1, 1, 1)
    assert group["scopeSpans"][0]["schemaUrl"] == "https://schema/scope"


def test_one_line_is_one_line() -> None:
    line = encode_line(rich_spans())
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert "\u2028".encode() in line


def span_with(**fields: Any) -> ReadableSpan:
    return ReadableSpan(**{"name": "n", "context": context(1, 1), **fields})


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [2**70], object(), {"a": {"b": object()}}])
def test_what_cannot_be_written_is_left_out_with_its_key(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    line = encode_line([span_with(attributes={"bad": value, "good": 1})])
    (record,) = decode(json.loads(line), "")
    assert record.attributes == {"good": 1}
    assert "is not written" in caplog.text


def test_a_value_that_is_nested_too_deep_is_left_out() -> None:
    deep: Any = 1
    for _ in range(1000):
        deep = [deep]
    (record,) = decode(json.loads(encode_line([span_with(attributes={"deep": deep, "good": 1})])), "")
    assert record.attributes == {"good": 1}


def test_a_lone_surrogate_anywhere_costs_no_batch() -> None:
    bad = "a\ud800"
    span = span_with(
        name=bad,
        attributes={bad: bad},
        events=[Event(bad, {bad: [bad]}, 1)],
        status=Status(StatusCode.ERROR, bad),
        instrumentation_scope=InstrumentationScope(bad, bad),
        resource=Resource({"r": bad}),
    )
    first, second = decode(json.loads(encode_line([span, span_with()])), "")
    assert (first.name, first.message, first.scope) == ("a?", "a?", "a?")
    assert first.attributes == {"a?": "a?"}
    assert second.name == "n"


VALUES = st.recursive(
    st.one_of(
        *[st.none()] * NULL_IS_SENT,
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(min_size=1), inner, max_size=3)),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(min_size=1), VALUES, max_size=6),
    st.text(),
    st.integers(1, 2**128 - 1),
    st.integers(1, 2**64 - 1),
)
def test_any_span_is_written_as_the_protobuf_exporter_sends_it_and_read_as_it_was(
    attributes: dict[str, Any], name: str, trace_id: int, span_id: int
) -> None:
    link = Link(context(trace_id, span_id), attributes)
    span = span_with(
        name=name,
        context=context(trace_id, span_id),
        attributes=attributes,
        links=[link],
        events=[Event(name, attributes, 5)],
        start_time=1,
        end_time=2**63 - 1,
    )
    line = encode_line([span])
    assert parse_line(line) == official([span])
    (record,) = decode(json.loads(line), "f:1")
    assert (record.name, record.trace_id, record.span_id) == (name, format(trace_id, "032x"), format(span_id, "016x"))
    assert record.attributes == record.links[0].attributes == record.events[0].attributes == attributes
    assert (record.start, record.end, record.place) == (1, 2**63 - 1, "f:1")


def test_protobuf_and_json_say_the_same() -> None:
    spans = rich_spans()
    message = official(spans)
    assert parse_line(encode_line(spans)) == message
    plain = [record._replace(attributes={}) for record in decode(json.loads(encode_line(spans)), "p")]
    assert [record._replace(attributes={}) for record in spans_of(message, "p")] == plain


@pytest.mark.parametrize("line", ['{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "AAAA"}]}]}]}', "[]", "{"])
def test_a_line_with_wrong_ids_is_refused_before_protobuf_misreads_it(line: str) -> None:
    with pytest.raises(ValueError, match=r"hex|object|unexpected"):
        parse_line(line)


def test_no_spans_are_no_groups() -> None:
    assert traces_data([]) == {"resourceSpans": []}


def test_a_span_of_no_trace_is_left_out() -> None:
    assert traces_data([ReadableSpan("n")]) == {"resourceSpans": []}


def test_what_only_protobuf_finds_wrong_is_refused_too() -> None:
    wrong = traces_data([span_with()])
    wrong["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceState"] = 5
    with pytest.raises(Malformed, match="traceState"):
        parse_line(json.dumps(wrong))


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(Malformed, match="resourceSpans"):
        list(decode({"spans": []}, ""))
