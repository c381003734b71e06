"""Files that somebody made to break a reader: an answer or an error of ours, in bounded memory, nothing else."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from tests.traces.forms import DOCUMENTS, FORMS, LINES, attribute, document, framed, message, span
from tests.traces.test_jaeger import EXPORT

from citespan.errors import TraceFileError
from citespan.files.documents import documents
from citespan.traces.decode import MAX_DEPTH, Malformed, decode
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans

MIB: Final = 1024 * 1024
#: bytes that reading a trace file may take, above what the interpreter takes
MEMORY: Final = 270 * MIB

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a document, its own included."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def with_another(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A copy in which something else stands at a path."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = with_another(copy[path[0]], path[1:], other)
    return copy


def outcome(file: Path) -> list[SpanRecord] | str:
    """What came of reading: spans, or what follows the file's name in the error."""
    try:
        return list(read_spans(file))
    except TraceFileError as error:
        said = str(error)
    assert said.startswith(f"{file}:")
    return said.removeprefix(str(file))


@pytest.mark.parametrize("whole", [DOCUMENTS[0], EXPORT], ids=["OTLP", "Jaeger"])
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wrong_types_everywhere(whole: dict[str, Any], data: st.DataObject, tmp_path: Path) -> None:
    """Any value anywhere: spans that are what their types say, or a reason."""
    path = data.draw(st.sampled_from(sorted(places(whole), key=repr)))
    file = tmp_path / "recorded"
    file.write_text(json.dumps(with_another(whole, path, data.draw(json_values))), encoding="utf-8")
    found = outcome(file)
    for record in found if isinstance(found, list) else ():
        assert {type(text) for text in (record.name, record.scope, record.message, *record.attributes)} == {str}
        assert (len(record.trace_id), len(record.span_id)) == (32, 16)
        assert -(2**63) <= record.start < 2**64
        assert orjson.dumps([record.attributes, record.resource], default=repr)


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=3))
def test_bytes_changed_anywhere(data: bytes, cuts: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    """Cut, overwritten, put in between: spans, or file and reason."""
    for where, size, instead in cuts:
        at = int(where * len(data))
        data = data[:at] + instead + data[at + size :]
    file = tmp_path / "recorded"
    file.write_bytes(data)
    assert outcome(file) is not None


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=300), prefix=st.sampled_from([b"", b"{", b"\n", b"\x1f\x8b\x08", b"\0\0\0\x20\n", b'{"'])
)
def test_any_bytes(data: bytes, prefix: bytes, tmp_path: Path) -> None:
    """Also ones that begin as a form does."""
    file = tmp_path / "recorded"
    file.write_bytes(prefix + data)
    assert outcome(file) is not None


@given(
    texts=st.lists(
        st.tuples(st.dictionaries(st.text(max_size=6), json_values, max_size=3), st.sampled_from([None, 0, 2])),
        max_size=5,
    ),
    between=st.sampled_from(["", "\n", "\r\n", " ", "\n\n"]),
    size=st.integers(1, 50),
)
def test_documents_are_cut_where_they_end(texts: list[Any], between: str, size: int) -> None:
    """Whatever is in their strings, and however few bytes come at once."""

    class Slow(io.BytesIO):
        def read(self, limit: int | None = -1, /) -> bytes:
            return super().read(size)

    written = [json.dumps(value, indent=indent, ensure_ascii=False) for value, indent in texts]
    encoded = between.join(written).encode("utf-8", "surrogatepass")
    found = [each for part in documents(Slow(encoded)) for each in _values(part.text)]
    assert found == [json.loads(text) for text in written]


def _values(text: bytes) -> Iterator[Any]:
    decoder, rest = json.JSONDecoder(), text.decode("utf-8", "surrogatepass").strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


@pytest.mark.parametrize(
    "value, reason",
    [
        ({"intValue": "9" * 30}, "no integer"),
        ({"intValue": 10**30}, "no integer"),
        ({"intValue": "1_000"}, "no integer"),
        ({"intValue": "\u0661"}, "no integer"),
        ({"intValue": 1.5}, "no integer"),
        ({"doubleValue": []}, "no number"),
        ({"doubleValue": {}}, "no number"),
        ({"bytesValue": 5}, "no base64"),
        ({"bytesValue": "é"}, "no base64"),
    ],
)
def test_numbers_and_values_that_are_none(value: Any, reason: str) -> None:
    """Beyond 64 bits, in another script, of another type."""
    found = document(span(attributes=[{"key": "k", "value": value}]))
    with pytest.raises(Malformed, match=rf"spans\[0\]\.attributes\[0\]\.\w+: {reason}"):
        list(decode(orjson.loads(json.dumps(found)), ""))


@pytest.mark.parametrize("depth, fits", [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (300, False)])
def test_values_inside_each_other(depth: int, fits: bool, tmp_path: Path) -> None:
    """A bound of ours, not of the stack; in protobuf it is the same or less."""
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    file = tmp_path / "recorded"
    file.write_text(json.dumps(document(span(attributes=[{"key": "k", "value": value}]))))
    assert isinstance(outcome(file), list) is fits


def test_the_last_of_two_same_keys_counts(tmp_path: Path) -> None:
    """In an object and in a list of attributes."""
    twice = [attribute("k", stringValue="a"), attribute("k", stringValue="b")]
    text = json.dumps(document(span(attributes=twice))).replace(
        '"name": "citespan"', '"name": "other", "name": "citespan"'
    )
    file = tmp_path / "recorded"
    file.write_text(text)
    (record,) = read_spans(file)
    assert (record.attributes, record.scope) == ({"k": "b"}, "citespan")


def test_a_hundred_thousand_attributes(tmp_path: Path) -> None:
    """Are read."""
    many = [attribute(f"k{number}", intValue="1") for number in range(100_000)]
    file = tmp_path / "recorded"
    file.write_bytes(orjson.dumps(document(span(attributes=many))))
    (record,) = read_spans(file)
    assert len(record.attributes) == 100_000


def test_many_documents_on_one_line_take_the_memory_of_one(tmp_path: Path) -> None:
    """They are not listed first."""
    said = read_in_a_process([b"{}" * (MIB // 8)])
    assert said["spans"] == 0
    assert said["peak"] < 20 * MIB


#: reads standard input, and says what came of it and what memory it took beyond what was loaded before
PROGRAM: Final = """
import json, sys
from citespan.errors import TraceFileError
from citespan.traces import binary
from citespan.traces.reader import read_spans
def most():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
before, reason, spans = most(), "", 0
try:
    for _ in read_spans("-"):
        spans += 1
except TraceFileError as error:
    reason = str(error)
print(json.dumps({"reason": reason, "spans": spans, "peak": most() - before}))
"""


def read_in_a_process(pieces: Any) -> dict[str, Any]:
    """Hand bytes to a reader of its own until it has had enough."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it has had enough
        for piece in pieces:
            process.stdin.write(piece)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    with process.stdout:
        said: dict[str, Any] = json.loads(process.stdout.read())
    process.wait()
    return said


def repeated(start: bytes, piece: bytes) -> Iterator[bytes]:
    """A gigabyte, if somebody reads that far."""
    yield start
    for _ in range(1024 * MIB // len(piece)):
        yield piece


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "start, piece, reason",
    [
        (b'{"resourceSpans":"', b"a" * MIB, "a document or line of more than 20971520 bytes"),
        (b"", b"a" * MIB, "a document or line of more than 20971520 bytes"),
        (b"", b"\0" * MIB, "a document or line of more than 20971520 bytes"),
        (b'{"resourceSpans":[', b'{"a":1},' * (MIB // 8), "a document or line of more than 20971520 bytes"),
        (b"", b"[" * MIB, "nested too deep"),
        (b"", gzip.compress(b"\0" * 64 * MIB), "a document or line of more than 20971520 bytes"),
        (
            struct.pack(">I", 2**27) + b"\n\x04\x12\x02\n\0",
            b"\0" * MIB,
            "a message of 134217728 bytes, which is more than",
        ),
        (b"\n\xff\xff\xff\x7f\x12\x02\n\0", b"\0" * MIB, "a message of 268435455 bytes, which is more than"),
    ],
    ids=["a string", "no JSON", "NUL", "objects", "brackets", "gzip", "a message after its length", "a message"],
)
def test_a_gigabyte_without_a_line_break_is_refused_unread(start: bytes, piece: bytes, reason: str) -> None:
    """A bound is passed, and that is said."""
    said = read_in_a_process(repeated(start, piece))
    assert reason in said["reason"]
    assert said["peak"] < 100 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "data, spans",
    [
        (orjson.dumps(document(*[span()] * (18 * MIB // len(orjson.dumps(span()))))), None),
        (b'{"resourceSpans":[' + b"[]," * (6 * MIB) + b"[]]}", 0),
        (b'{"resourceSpans":[' + b"{}," * (1 * MIB) + b"{}]}", 0),
        (b'{"resourceSpans":[' + b"1.5," * (4 * MIB) + b"1]}", 0),
        (framed(b"\n\0" * (MIB // 2)), 0),
    ],
    ids=["spans", "arrays", "objects", "numbers", "empty messages"],
)
def test_the_longest_document_takes_less_than_300_mb(data: bytes, spans: int | None) -> None:
    """Read and decoded, or refused for what it holds."""
    said = read_in_a_process([data])
    assert said["reason"] or said["spans"] == (data.count(b"traceId") // 2 if spans is None else spans)
    assert said["peak"] < MEMORY


def test_a_span_of_two_million_empty_attributes_is_one(tmp_path: Path) -> None:
    """Protobuf makes much of little; a span is bounded, whatever its message is."""
    size = 5 * MIB
    inner = b"\x0a\x10" + b"\1" * 16 + b"\x12\x08" + b"\2" * 8 + b"\x4a\0" * (size // 2)
    wrapped = b""
    for tag in (0x12, 0x12, 0x0A):
        inner = bytes([tag]) + _varint(len(inner)) + inner
    file = tmp_path / "recorded"
    file.write_bytes(wrapped + inner)
    assert "a span or resource of" in outcome(file)  # type: ignore[operator]


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def test_other_signals_in_protobuf_are_no_traces(tmp_path: Path) -> None:
    """Logs and metrics have the same outline."""
    logs = LogsData()
    record = logs.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano, record.trace_id = 5, b"\1" * 16
    file = tmp_path / "recorded"
    file.write_bytes(logs.SerializeToString())
    assert ":byte 0: " in outcome(file)  # type: ignore[operator]


def test_what_a_file_says_is_not_in_the_error(tmp_path: Path) -> None:
    """A line may hold anything, a secret too."""
    for line in (b'{"resourceSpans":[{"secret', b'{"resourceSpans":["secret"]}', LINES.replace(b'"s"', b'["secret"]')):
        file = tmp_path / "recorded"
        file.write_bytes(line)
        said = outcome(file)
        assert isinstance(said, str)
        assert "secret" not in said


def test_messages_are_read_alike_as_json(tmp_path: Path) -> None:
    """The same records of a message whole, and of one after its length."""
    whole, after = tmp_path / "whole", tmp_path / "after"
    whole.write_bytes(message(0))
    after.write_bytes(framed(message(0)))
    assert [record._replace(place="") for record in read_spans(whole)] == [
        record._replace(place="") for record in read_spans(after)
    ]


def test_blank_lines_are_passed_over_in_great_numbers(tmp_path: Path) -> None:
    """What a small file of gzip can hold of them is not read line by line; what follows has its line number still."""
    file = tmp_path / "recorded"
    file.write_bytes(gzip.compress(LINES + b"\n" * (64 * MIB) + b"\r\n" + LINES))
    assert [record.name for record in read_spans(file)] == ["a", "b", "c"] * 2
    places = [record.place.rpartition(":")[2] for record in read_spans(file)]
    assert places == ["1", "1", "2", *map(str, [64 * MIB + 4] * 2), str(64 * MIB + 5)]
