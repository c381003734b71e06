"""A trace file is told by what it holds: the same spans out of each form, or the form's name and what to do."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from tests.traces.forms import DOCUMENTS, FORMS, LINES, NAMES, PRETTY, framed, message, span, whole

from citespan.errors import TraceFileError
from citespan.files import form_of, kind_of_head, kind_of_record, opened
from citespan.traces.decode import decode
from citespan.traces.lines import json_lines, spans_of_line
from citespan.traces.reader import read_spans
from citespan.trajectories import read_trajectories
from citespan.trajectories.reader import TRACE

#: the line that the second document begins on where both are pretty
SECOND = json.dumps(DOCUMENTS[0], indent=2).count("\n") + 2

ALL = pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A name that says nothing."""
    return tmp_path / "recorded"


@ALL
def test_the_same_spans_out_of_each(data: bytes, file: Path) -> None:
    """All fields of them, in their order; only the place differs."""
    file.write_bytes(data)
    expected = [record for each in DOCUMENTS for record in decode(each, "")]
    assert whole(list(read_spans(file))) == expected


@ALL
def test_on_standard_input_too(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is read once, and here a few bytes at a time."""

    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(min(size or 7, 7))

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Slow(data)))
    assert [record.name for record in read_spans("-")] == NAMES


@ALL
def test_progress_adds_up_to_the_bytes_on_disk(data: bytes, file: Path) -> None:
    """Also where fewer bytes are on disk than are read."""
    file.write_bytes(data)
    sizes: list[int] = []
    list(read_spans(file, sizes.append))
    assert sum(sizes) == len(data)


@ALL
def test_no_form_is_taken_for_a_trajectory(data: bytes, file: Path) -> None:
    """Its reader says that it is a trace."""
    file.write_bytes(data)
    with opened(file) as recording:
        assert kind_of_head(recording.head) == "trace"
    with pytest.raises(TraceFileError) as error:
        list(read_trajectories(file))
    assert TRACE in str(error.value)


@pytest.mark.parametrize(
    "data, places",
    [
        (LINES, ["1", "1", "2"]),
        (PRETTY, ["1", "1", str(SECOND)]),
        (framed(message(0), message(1)), ["message 1", "message 1", "message 2"]),
        (message(0) + message(1), ["byte 0", "byte 0", f"byte {len(message(0))}"]),
    ],
    ids=["lines", "pretty", "framed", "message"],
)
def test_the_place_leads_to_the_span(data: bytes, places: list[str], file: Path) -> None:
    """A line, a message, or a byte."""
    file.write_bytes(data)
    assert [record.place for record in read_spans(file)] == [f"{file}:{place}" for place in places]


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"\x28\xb5\x2f\xfd\x04\x58", "compressed with zstd: decompress it first"),
        (b"\0\0\x02\x6c\x28\xb5\x2f\xfd\x44", "each message is compressed with zstd"),
        (gzip.compress(gzip.compress(LINES)), "gzip inside gzip"),
        (LINES.decode().encode("utf-16"), "UTF-16"),
        (LINES.decode().encode("utf-16-be"), "UTF-16"),
        (LINES.decode().encode("utf-16-le"), "UTF-16"),
        (gzip.compress(LINES)[:-9], "gzip: the file ends inside its compressed data"),
        (gzip.compress(LINES)[:40] + bytes(30) + gzip.compress(LINES)[70:], "gzip: "),
        (gzip.compress(LINES) + b"more", "gzip: something else follows"),
        (b"\x1f\x8b\x07\0\0\0", "gzip: "),
        (b"\0" * 100, ":1: no JSON: NUL bytes, from column 1 on"),
        (LINES + b'{"resourceSpans":[\0\0\0\0\n', ":3: no JSON: NUL bytes, from column 19 on"),
        (LINES + b'{"resourceSpans":"\xff"}\n', ":3: no JSON: not UTF-8 at byte 19"),
        (b"PK\x03\x04\x14\0\x06", ":1: no JSON"),
        (b"hello\n", ":1: no JSON: unexpected character, expected a JSON value at column 1"),
        (LINES[: len(LINES) // 3], ":1: no JSON: .*unfinished"),
        (LINES[:18] + b"\n" + LINES, ":1: no JSON: the document is unfinished: another begins on line 2"),
        (LINES[: LINES.index(b"citespan")] + b"\n" + LINES, ":1: no JSON: "),
        (PRETTY[:-20], f":{SECOND}: no JSON: .*unfinished"),
        (LINES + b'{"resourceSpans":[]}}\n', ":3: no JSON: "),
        (LINES + b"1 2\n", ":3: no JSON: unexpected content after document at column 3"),
        (
            b'{"schema":"citespan.evidence/1","tool":"t"}\n',
            ":1: this is an evidence file, not a trace: `citespan diff`",
        ),
        (b'{"id":"r","calls":[]}\n', ":1: this is a trajectory file, not a trace: `citespan replay`"),
        (b'{"resourceLogs":[]}\n{"logs":[]}\n', ":2: no `resourceSpans`"),
        (framed(message(0))[:-5], r":message 1: the file ends inside it, after \d+ of \d+ bytes"),
        (framed(message(0)) + b"\0\0", ":message 2: the file ends inside its length"),
        (
            framed(message(0), b"\x0a\x7fabc"),
            ":message 2: no OTLP traces message: a field is longer than what it is in",
        ),
        (framed(message(0)) + b"\x09\0\0\0", ":message 2: a message of 150994944 bytes, which is more than"),
        (message(0)[:-5], r":byte 0: the file ends inside it, after \d+ of \d+ bytes"),
        (message(0) + b"trailing", rf":byte {len(message(0))}: no OTLP traces message goes on like this"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, reason: str, file: Path) -> None:
    """File, line and reason; what is before it comes first."""
    file.write_bytes(data)
    with pytest.raises(TraceFileError, match=rf"^{file}.*{reason}"):
        list(read_spans(file))


def test_what_comes_before_a_broken_place_is_read(file: Path) -> None:
    """A trace whose end is lost still shows its beginning."""
    packed = gzip.compress(LINES + json.dumps(DOCUMENTS[0]).encode())
    file.write_bytes(packed[:-8])
    found = read_spans(file)
    assert [next(found).name for _ in NAMES] == NAMES


@pytest.mark.parametrize("blank", [b"\n", b"\n\n", b"\r\n\r\n\r\n", b" \n\t\n", b"\n" * 10_000])
@pytest.mark.parametrize("indent", [None, 0, 1, 2, "\t"])
def test_blank_lines_and_a_brace_are_no_message(blank: bytes, indent: int | str | None) -> None:
    """Though they are bytes that one may begin with."""
    text = blank + json.dumps(DOCUMENTS[0], indent=indent).encode()
    assert form_of(text[:4096]) == "json"


def test_raw_lines_for_a_reader_that_looks_at_bytes_first(file: Path) -> None:
    """Each whole, with its number; spans come of the ones that are asked for."""
    file.write_bytes(gzip.compress(LINES))
    with opened(file) as recording:
        lines = list(json_lines(recording) or ())
        assert [(line.number, line.text) for line in lines] == list(enumerate(LINES.splitlines(keepends=True), 1))
        assert [record.name for record in spans_of_line(recording, lines[1])] == ["c"]


def test_raw_lines_of_another_form_are_none(file: Path) -> None:
    """And the open file can still be read, standard input as well."""
    file.write_bytes(framed(message(0)))
    with opened(file) as recording:
        assert json_lines(recording) is None
        assert [record.name for record in read_spans(recording)] == ["a", "b"]


def test_a_document_tells_what_it_is() -> None:
    """By its keys, whatever their order."""
    assert kind_of_record({"schemaUrl": "", **DOCUMENTS[0]}) == "trace"
    assert kind_of_record({"data": [{"traceID": "1", "spans": []}]}) == "trace"
    assert kind_of_record({"schema": "citespan.evidence/1"}) == "evidence"
    assert kind_of_record({"calls": [], "id": "r"}) == "trajectory"
    assert kind_of_record({"data": {}}) == kind_of_record([]) == kind_of_record(span()) == "unknown"
