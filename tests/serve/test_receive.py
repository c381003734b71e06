"""A body becomes spans within bounds; a span that cannot be used is refused alone; nothing else comes out of one."""

from __future__ import annotations

import gzip
import zlib

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.serve.harness import recorded
from tests.traces.messages import parse_line

from citespan.serve.bodies import Encoding, TooLarge, Undecodable, unzip
from citespan.serve.limits import Limits
from citespan.serve.packed import unpack
from citespan.serve.receive import Received, receive
from citespan.traces.decode import decode
from citespan.traces.model import SpanRecord

RUN = recorded()
AS_JSON = RUN.body()
AS_PROTOBUF = parse_line(AS_JSON).SerializeToString()
LIMITS = Limits()
TRACE, SPAN = "5b" * 16, "7c" * 8


def spans_of(found: Received) -> list[SpanRecord]:
    return [span for batch in found.batches for span in unpack(batch)]


def body(*spans: dict[str, object]) -> bytes:
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


@pytest.mark.parametrize("encoding, data", [("json", AS_JSON), ("protobuf", AS_PROTOBUF)])
def test_what_comes_out_is_what_went_in(encoding: Encoding, data: bytes) -> None:
    """All of each span, in either encoding, as the reader of trace files has it."""
    found = receive(data, encoding, LIMITS)
    assert spans_of(found) == list(decode(orjson.loads(AS_JSON), ""))
    assert found.rejected == 0


def test_a_span_that_cannot_be_used_is_refused_alone() -> None:
    """And its trace, where it says which, is known to lack it."""
    good = {"traceId": TRACE, "spanId": SPAN}
    found = receive(body(good, {"traceId": TRACE, "spanId": "7c"}, {"spanId": SPAN}, good), "json", LIMITS)
    assert len(spans_of(found)) == 2
    assert found.rejected == 2
    assert found.lacking == {TRACE: 1}
    assert found.why.startswith("resourceSpans[0].scopeSpans[0].spans[1]: spanId: 16 hex digits")


def test_the_same_holds_in_protobuf() -> None:
    """Ids of a wrong length, a status that is none."""
    request = ExportTraceServiceRequest()
    scoped = request.resource_spans.add().scope_spans.add()
    scoped.spans.add(trace_id=b"[" * 16, span_id=b"|" * 8)
    scoped.spans.add(trace_id=b"[" * 16, span_id=b"|")
    scoped.spans.add(trace_id=b"[" * 3, span_id=b"|" * 8)
    found = receive(request.SerializeToString(), "protobuf", LIMITS)
    assert (len(spans_of(found)), found.rejected, found.lacking) == (1, 2, {TRACE: 1})


def test_a_time_that_no_clock_shows_is_refused() -> None:
    """Times are counted with later on."""
    found = receive(body({"traceId": TRACE, "spanId": SPAN, "endTimeUnixNano": str(2**63)}), "json", LIMITS)
    assert (found.batches, found.rejected) == ((), 1)


def test_a_span_over_its_limit_is_refused() -> None:
    """Before it is decoded: it could be made of millions of attributes."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"[" * 16, span_id=b"|" * 8)
    span.name = "x" * 2000
    found = receive(request.SerializeToString(), "protobuf", Limits(span=1000))
    assert (found.batches, found.rejected, found.lacking) == ((), 1, {TRACE: 1})


def test_a_resource_over_its_limit_takes_its_spans_with_it() -> None:
    """All of them are refused, and their traces know."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="x" * 2000)
    scoped = group.scope_spans.add()
    for _ in range(3):
        scoped.spans.add(trace_id=b"[" * 16, span_id=b"|" * 8)
    found = receive(request.SerializeToString(), "protobuf", Limits(span=1000))
    assert (found.batches, found.rejected, found.lacking) == ((), 3, {TRACE: 3})


@pytest.mark.parametrize(
    "encoding, data",
    [
        ("json", b""),
        ("json", b"spans"),
        ("json", b"[]"),
        ("json", b'{"resourceSpans": {}}'),
        ("json", b'{"resourceSpans": [3]}'),
        ("json", b'{"resourceSpans": [{"scopeSpans": 1}]}'),
        ("json", b'{"resourceSpans": [{"resource": 1}]}'),
        ("json", b'{"resourceSpans": [{"scopeSpans": [{"scope": 1}]}]}'),
        ("json", b"[" * 5000),
        ("json", b"\xff\xfe"),
        ("protobuf", b"{}"),
        ("protobuf", AS_PROTOBUF[:-1]),
        ("protobuf", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ],
)
def test_a_body_that_is_no_request_is_refused_whole(encoding: Encoding, data: bytes) -> None:
    """With the reason."""
    with pytest.raises(Undecodable, match=r"\w+"):
        receive(data, encoding, LIMITS)


@pytest.mark.parametrize("encoding, data", [("json", b"{}"), ("json", b'{"resourceSpans": []}'), ("protobuf", b"")])
def test_an_empty_request_is_one(encoding: Encoding, data: bytes) -> None:
    """The protocol asks for success."""
    assert receive(data, encoding, LIMITS) == Received(())


def test_a_request_of_something_else_is_taken_with_a_word() -> None:
    """Unknown fields are ignored, as the protocol asks; the sender is told that it was for nothing."""
    found = receive(b'{"resourceMetrics": []}', "json", LIMITS)
    assert (found.batches, found.rejected) == ((), 0)
    assert "resourceSpans" in found.why


def test_json_has_a_smaller_limit() -> None:
    """It takes many times its bytes while it is read."""
    with pytest.raises(TooLarge):
        receive(AS_JSON, "json", Limits(body=4 * len(AS_JSON) - 4))
    assert receive(AS_JSON, "json", Limits(body=4 * len(AS_JSON))).batches


@pytest.mark.parametrize("encoding, data", [("json", body(*[{}] * 1000)), ("protobuf", b"\x0a\x00" * 1000)])
def test_decoding_ends_when_its_time_is_over(encoding: Encoding, data: bytes) -> None:
    """Small bodies can hold a great number of things."""
    with pytest.raises(TooLarge, match="was not decoded within"):
        receive(data, encoding, Limits(decode=-1))


def test_a_bomb_is_not_unpacked() -> None:
    """A hundred times the limit in a body of a tenth of it."""
    with pytest.raises(TooLarge):
        unzip(gzip.compress(b"0" * 10_000_000), 100_000)


def test_gzip_of_several_streams_is_one_body() -> None:
    """As gzip has it; but each costs, so there may be a few."""
    assert unzip(gzip.compress(b"a") * 16, 16) == b"a" * 16
    with pytest.raises(Undecodable):
        unzip(gzip.compress(b"") * 17, 16)


@pytest.mark.parametrize(
    "data", [b"", b"no gzip", gzip.compress(b"spans", mtime=0)[:-9], gzip.compress(b"spans", mtime=0) + b"x"]
)
def test_what_is_no_gzip_is_refused(data: bytes) -> None:
    """Cut, or followed by something else, too."""
    with pytest.raises(Undecodable):
        unzip(data, 1000)


@given(st.binary(max_size=3000), st.integers(0, 2000))
def test_unpacking_never_makes_more_than_the_limit(data: bytes, limit: int) -> None:
    """And makes all of it where it is within."""
    packed = gzip.compress(data)
    if len(data) <= limit:
        assert unzip(packed, limit) == data
    else:
        with pytest.raises(TooLarge):
            unzip(packed, limit)


EDITS = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["cut", "flip", "copy", "insert"]), st.binary(max_size=4)))


def mangled(data: bytes, edits: list[tuple[float, str, bytes]]) -> bytes:
    for where, how, extra in edits:
        at = int(where * len(data))
        if how == "cut":
            data = data[:at] + data[at + 1 + len(extra) :]
        elif how == "copy":
            data = data[:at] + data[at // 2 : at] + data[at:]
        elif how == "insert":
            data = data[:at] + extra + data[at:]
        else:
            data = data[:at] + bytes(byte ^ 0x41 for byte in data[at : at + 1]) + data[at + 1 :]
    return data[:50_000]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from([("json", AS_JSON), ("protobuf", AS_PROTOBUF)]), EDITS)
def test_a_damaged_body_is_decoded_or_refused(
    start: tuple[Encoding, bytes], edits: list[tuple[float, str, bytes]]
) -> None:
    """Nothing else is raised, and what is decoded can be unpacked."""
    encoding, data = start
    try:
        found = receive(mangled(data, edits), encoding, LIMITS)
    except (Undecodable, TooLarge):
        return
    for span in spans_of(found):
        assert len(span.trace_id) == 32
        assert len(span.span_id) == 16


KEYS = (
    *("resource", "scopeSpans", "spans", "scope", "attributes", "key", "value", "events", "links", "status", "code"),
    *("name", "traceId", "spanId", "stringValue", "arrayValue", "kvlistValue", "values", "intValue"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(VALUES)
def test_wrong_types_anywhere_are_decoded_or_refused(value: object) -> None:
    """At each level of a request."""
    span = {"traceId": TRACE, "spanId": SPAN}
    for document in (
        {"resourceSpans": value},
        {"resourceSpans": [{"scopeSpans": value, "resource": value}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [value, span], "scope": {}}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": value, "events": value}]}]}]},
    ):
        try:
            data = orjson.dumps(document)
        except TypeError:  # an integer of more than 64 bits
            return
        try:
            found = receive(data, "json", LIMITS)
        except Undecodable:
            continue
        assert len(spans_of(found)) + found.rejected <= 2


def test_compressed_bytes_of_another_format_are_no_gzip() -> None:
    """`deflate` is another Content-Encoding."""
    with pytest.raises(Undecodable):
        unzip(zlib.compress(b"spans"), 100)
