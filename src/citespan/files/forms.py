"""What a file holds, told by its content: a table for its first bytes, a table for one JSON document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from citespan.files.recording import GZIP, Recording, Unreadable

#: how it is written. json: documents of JSON, on a line each or not. protobuf: one message. framed: messages, each
#: after its length in four bytes, the most significant first, as a collector's `file` exporter writes `format: proto`
Form: TypeAlias = Literal["json", "protobuf", "framed"]
#: what it tells of
FileKind: TypeAlias = Literal["trace", "evidence", "trajectory", "unknown"]

EVIDENCE_SCHEMA: Final = "citespan.evidence/"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_LENGTH: Final = 4
#: tags of the fields that a `ResourceSpans`, and a `Resource`, may begin with (opentelemetry-proto)
_GROUP_TAGS: Final = (0x0A, 0x12, 0x1A)
_RESOURCE_TAGS: Final = (0x0A, 0x10, 0x1A)
_MESSAGE: Final = 0x0A


class _Refused(NamedTuple):
    reason: str


def form_of(head: bytes) -> Form:
    """How a file is written, by its first bytes (decompressed ones). What nothing else claims is taken for JSON.

    Args:
        head: all of a file or its first kilobytes.

    Raises:
        Unreadable: it is of a form that is known, and not read; says what to do.

    Example:
        >>> form_of(b'{"resourceSpans":[]}')
        'json'
    """
    form = _claimed(head)
    if isinstance(form, _Refused):
        raise Unreadable(form.reason)
    return form


def _claimed(head: bytes) -> Form | _Refused:
    return next((form for recognises, form in _FORMS if recognises(head)), "json")


def is_message(head: bytes) -> bool:
    r"""Whether bytes start as an OTLP traces message does: a `ResourceSpans`, and in it what one may begin with.

    A blank line and a `{` are bytes of such a message too, so the fields inside decide.

    Example:
        >>> is_message(b"\n\x06\n\x00\x12\x02\n\x00"), is_message(b'\n{\n  "resourceSpans"')
        (True, False)
    """
    if head[:1] != b"\n":
        return False
    size, at = _varint(head, 1)
    if size <= 0:
        return size == 0
    if at >= len(head) or head[at] not in _GROUP_TAGS:
        return False
    inner, begin = _varint(head, at + 1)
    if not 0 <= inner <= size:
        return False
    if head[at] != _MESSAGE or inner == 0 or begin >= len(head):
        return True
    return head[begin] in _RESOURCE_TAGS


def is_framed(head: bytes) -> bool:
    """Whether bytes start as a message after its length does."""
    return len(head) > _LENGTH and head[0] < 0x09 and is_message(head[_LENGTH : _LENGTH + 64])


def _is_framed_json(head: bytes) -> bool:
    return head[:1] == b"\0" and head[_LENGTH : _LENGTH + 2] == b'{"'


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends; -1 where there is none, or a length of over 32 bits."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return -1, at
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return -1, at


#: several blank lines before JSON are the bytes of a message too, but of one that is too short for a span
_BLANK_LINES: Final = re.compile(rb'[ \t\r\n]{2,}(?:\{\s*["}]|\Z)')

#: in this order; the first that recognises a file decides
_FORMS: Final[tuple[tuple[Callable[[bytes], bool], Form | _Refused], ...]] = (
    (lambda head: _BLANK_LINES.match(head) is not None, "json"),
    (is_message, "protobuf"),
    (is_framed, "framed"),
    (_is_framed_json, "framed"),
    (lambda head: head.startswith(GZIP), _Refused("gzip inside gzip: decompress it once")),
    (lambda head: head.startswith(_ZSTD), _Refused("compressed with zstd: decompress it first (zstd -d)")),
    (
        lambda head: head.startswith(_ZSTD, _LENGTH),
        _Refused(
            "each message is compressed with zstd, as a collector's `file` exporter does it: "
            "write the file without `compression`"
        ),
    ),
    (
        lambda head: head.startswith(_UTF16) or head[1:4] == b'\0"\0' or head[:2] == b"\0{",
        _Refused("text in UTF-16: write it as UTF-8"),
    ),
)

#: how the first document of a file begins. Keys may come in any order, writers have theirs
_BEGINNINGS: Final[tuple[tuple[re.Pattern[bytes], FileKind], ...]] = (
    (re.compile(rb'\{\s*"resource_?[sS]pans"\s*:'), "trace"),
    (re.compile(rb'\{\s*"result"\s*:\s*\{\s*"resourceSpans"'), "trace"),
    (re.compile(rb'\{\s*"data"\s*:\s*\[\s*\{\s*"(?:traceID|spans|processes)"'), "trace"),
    (re.compile(rb'\{\s*"schema"\s*:\s*"citespan\.evidence/'), "evidence"),
)


def kind_of_head(head: bytes) -> FileKind:
    r"""What a file tells of, by its first bytes; "unknown" where they do not show it.

    Example:
        >>> kind_of_head(b'\n{ "resourceSpans": [')
        'trace'
    """
    if _claimed(head) in {"protobuf", "framed"}:
        return "trace"
    start = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    return next((kind for pattern, kind in _BEGINNINGS if pattern.match(start)), "unknown")


def kind_of(recording: Recording) -> FileKind:
    """What an open file tells of, by its beginning; "unknown" also where that is broken: the reader says why."""
    try:
        return kind_of_head(recording.head)
    except Unreadable:
        return "unknown"


def kind_of_record(record: Any) -> FileKind:
    """What one JSON document tells of.

    Example:
        >>> kind_of_record({"schema": "citespan.evidence/1"})
        'evidence'
    """
    if not isinstance(record, Mapping):
        return "unknown"
    return next((kind for holds, kind in _RECORDS if holds(record)), "unknown")


_RECORDS: Final[tuple[tuple[Callable[[Mapping[str, Any]], bool], FileKind], ...]] = (
    (lambda record: "resourceSpans" in record or "resource_spans" in record, "trace"),
    (lambda record: str(record.get("schema")).startswith(EVIDENCE_SCHEMA), "evidence"),
    (lambda record: "calls" in record and "id" in record, "trajectory"),
    (lambda record: isinstance(result := record.get("result"), Mapping) and "resourceSpans" in result, "trace"),
    (
        lambda record: (
            isinstance(data := record.get("data"), list)
            and all(isinstance(each, Mapping) and "spans" in each for each in data)
        ),
        "trace",
    ),
)
