"""One JSON document of a trace file to spans: parsed within bounds, then read as what its keys say it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from citespan.errors import TraceFileError
from citespan.files import Document, FileKind, Recording, kind_of_record
from citespan.files.documents import split
from citespan.traces import jaeger
from citespan.traces.decode import Malformed, decode
from citespan.traces.model import SpanRecord

#: bytes up to which a document may be anything; in a longer one its values are counted before they are made
_SURELY_SMALL: Final = 4 * 1024 * 1024
#: bytes that parsing a document may take, by this estimate of what an object, an array and anything else needs
_MAX_WEIGHT: Final = 240 * 1024 * 1024
_OBJECT, _ARRAY, _SCALAR = 200, 88, 40
_ANOTHER: Final = re.compile(rb'\n\{"resource_?[sS]pans"')
_AFTER: Final = "unexpected content after document"

#: what a file is told that is no trace, and which command reads it
OTHERS: Final[dict[FileKind, str]] = {
    "evidence": "this is an evidence file, not a trace: `citespan diff` compares two of them",
    "trajectory": "this is a trajectory file, not a trace: `citespan replay` judges it",
}


def spans_of_line(recording: Recording, document: Document) -> Iterator[SpanRecord]:
    """The spans of one document of an open file.

    Raises:
        TraceFileError: it is no traces document; names file, line and reason.
    """
    place = f"{recording.name}:{document.number}"
    try:
        found = _parse(document)
    except orjson.JSONDecodeError as error:
        if error.msg != _AFTER or not document.text.lstrip().startswith(b"{"):
            raise TraceFileError(f"{recording.name}:{_explained(document, error)}") from None
        parts = split(document)
    except Malformed as error:
        raise TraceFileError(f"{place}: {error}") from None
    else:
        parts = iter(())
        try:
            yield from _read(found, place)
        except Malformed as error:
            raise TraceFileError(f"{place}: {error}") from None
    for part in parts:
        yield from spans_of_line(recording, part)


def _parse(document: Document) -> Any:
    text = document.text
    if len(text) > _SURELY_SMALL:
        weight = text.count(b"{") * _OBJECT + text.count(b"[") * _ARRAY + text.count(b",") * _SCALAR
        if weight + 2 * len(text) > _MAX_WEIGHT:
            raise Malformed("a document with too many values to read it at once; write fewer spans to a line")
    return orjson.loads(text)


def _read(found: Any, place: str) -> Iterator[SpanRecord]:
    if isinstance(found, Mapping) and "resourceSpans" not in found:
        if isinstance(result := found.get("result"), Mapping) and "resourceSpans" in result:
            return decode(result, place)  # as Jaeger's API answers that speaks OTLP
        if jaeger.is_export(found):
            return jaeger.spans_of(found, place)
        if (other := OTHERS.get(kind_of_record(found))) is not None:
            raise Malformed(other)
    return decode(found, place)


def _explained(document: Document, error: orjson.JSONDecodeError) -> str:
    """`line: reason` of what is no JSON."""
    number, text = document
    if (nul := text.find(b"\0")) >= 0:
        number += text.count(b"\n", 0, nul)
        column = nul - text.rfind(b"\n", 0, nul)
        return f"{number}: no JSON: NUL bytes, from column {column} on"
    if "UTF-8" in error.msg:
        return f"{number}: no JSON: not UTF-8{_outside_utf8(text)}"
    if cut := _ANOTHER.search(text):
        end = number + text.count(b"\n", 0, cut.start())
        return f"{end}: no JSON: the document is unfinished: another begins on line {end + 1}"
    if error.pos >= len(text.rstrip()):
        return f"{number}: no JSON: {error.msg}: the document is unfinished"
    return f"{number + error.lineno - 1}: no JSON: {error.msg} at column {error.colno}"


def _outside_utf8(text: bytes) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f" at byte {error.start + 1}"
    return ""
