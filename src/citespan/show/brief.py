r"""Tool calls read from the bytes of a line, without parsing it: run, start and verdict, enough to choose by.

Reads lines as citespan, OTLP/JSON exporters and the collector's `file` exporter write them. Any other line is None
here, and the caller parses it; the two ways must agree, which a property test holds. What they rest on:

- Inside a JSON string a quotation mark stands behind a backslash. So `{"key":"provenance.status"` in a JSON line is
  never part of a text: it opens an object.
- From `{"traceId":"` to `"startTimeUnixNano":"` stands no brace, so both belong to one object, a span (links and
  events have no start).
- One writer wrote the line: the spans of a line have their keys in one order.
- Only an escape as in `\u0061` can hide a key or a verdict; a line that has one is not read here.
- A line that does not begin and end as a whole one does was cut, or is no trace.

A line that is read here may still break the encoding elsewhere: `citespan audit` parses each of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from citespan import semconv
from citespan.calls.model import Verdict
from citespan.core.decision import Status

BEGIN: Final = b'{"resourceSpans":[{'
_END: Final = (b"}]}\n", b"}]}")
_SPAN: Final = b'{"traceId":"'
_IDS: Final = b'","spanId":"'
_START: Final = b'"startTimeUnixNano":"'
#: letters, digits, `.` and `_` as escapes: what could hide a key or a value that is looked for
_HIDING: Final = re.compile(rb"\\u00(?:2[eE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])")
_TRACE_END: Final = 32
_IDS_END: Final = _TRACE_END + len(_IDS)
_SPAN_END: Final = _IDS_END + 16


def _text(key: str) -> bytes:
    return b'{"key":"' + key.encode() + b'","value":{"stringValue":"'


_STATUS: Final = _text(semconv.STATUS)
_OPERATION: Final = _text(semconv.OPERATION)
_CALL: Final = _OPERATION + semconv.EXECUTE_TOOL.encode() + b'"}}'
_TOOL: Final = _text(semconv.TOOL_NAME)
_WITHIN: Final = b'{"key":"' + semconv.WITHIN.encode() + b'","value":{"boolValue":true}}'
#: by the first bytes of a verdict: all of it, up to the quotation mark
_WIDTH: Final = 3
_VERDICTS: Final = {
    (name.encode() + b'"')[:_WIDTH]: (name.encode() + b'"', cast(Verdict, name)) for name in get_args(Status)
}
#: what makes a tool call of a span that has no operation
_FOREIGN: Final = (
    f'"name":"{semconv.EXECUTE_TOOL} '.encode(),
    *(f'"{key}"'.encode() for key in (semconv.MCP_METHOD, semconv.OPENINFERENCE_KIND, semconv.TRACELOOP_KIND)),
)
_STATUS_KEY: Final = f'"{semconv.STATUS}"'.encode()
_WITHIN_KEY: Final = f'"{semconv.WITHIN}"'.encode()
_OURS: Final = (f'"{semconv.OPERATION}"'.encode(), _STATUS_KEY)
_OUR_LINK: Final = b'","attributes":[{"key":"' + semconv.LINK_ARGUMENTS.encode() + b'"'
_NO_VERDICT: Final[tuple[bytes, Verdict]] = (b"\n", "none")
_BLOCKED: Final = _STATUS + b'blocked"'
#: a tool's name that is written in one way only
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_.:\- ]+")


_Brief: TypeAlias = tuple[bytes, Verdict, int]


def briefs(line: bytes) -> list[tuple[bytes, Verdict, int]] | None:
    r"""The tool calls of a line in its order; None where it has to be parsed to be read.

    Returns:
        For each call the trace id as it is written; its verdict; its start in nanoseconds since 1970, or 0 for a call
        in no trouble. Plain tuples, since there are millions.

    Example:
        >>> briefs(b'{"resourceSpans":[{"scopeSpans":[]}]}\n'), briefs(b'{"resourceSpans" : []}\n')
        ([], None)
    """
    if not line.startswith(BEGIN) or not line.endswith(_END):
        return None
    if b"\\" in line and b"\\u00" in line and _HIDING.search(line):
        return None
    at = line.find(_SPAN) + len(_SPAN)
    start = line.find(_START, at)
    if start >= 0 and _ends_with_links(line, line.find(_SPAN, start)):  # one span, as most lines have
        call = _call(line, at, start)
        return None if call is None else [call] if call else []
    calls: list[_Brief] = []
    left = line.count(_START)
    before, *pieces = line.split(_SPAN)
    if not _is_no_call(before):
        return None
    for piece in pieces:
        start = piece.find(_START)
        if start >= 0:
            left -= 1
            call = _call(piece, 0, start)
            if call is None:
                return None
            if call:
                calls.append(call)
        elif not _is_link(piece):
            return None
    return None if left else calls


def _call(data: bytes, at: int, start: int) -> _Brief | tuple[()] | None:
    """A span whose id is at a place, and its start at another: () for no call, None where it must be parsed."""
    if data[at + _TRACE_END : at + _IDS_END] != _IDS or data.count(b"{", at, start) or data.count(b"}", at, start):
        return None
    status = data.rfind(_STATUS, start)
    if status < 0 or data.rfind(_CALL, start) < 0:
        other = _without_verdict(data, start)
        return (data[at : at + _TRACE_END], other, 0) if other else None if other is None else ()
    status += len(_STATUS)
    whole, verdict = _VERDICTS.get(data[status : status + _WIDTH], _NO_VERDICT)
    if not data.startswith(whole, status):
        return None
    if verdict == "ok":
        return data[at : at + _TRACE_END], verdict, 0
    start += len(_START)
    digits = data[start : data.find(b'"', start)]
    return (data[at : at + _TRACE_END], verdict, int(digits)) if digits.isdigit() else None


class Span(NamedTuple):
    """A span of a line that `briefs` reads. trace_id, span_id: lower-case hex. piece: its bytes, and what follows."""

    trace_id: bytes
    span_id: bytes
    piece: bytes


def spans(line: bytes, runs: Collection[bytes]) -> Iterator[Span]:
    """The spans of some runs in a line that `briefs` reads.

    Args:
        runs: their trace ids, lower-case hex.
    """
    for piece in line.split(_SPAN)[1:]:
        run = piece[:_TRACE_END].lower()
        if run in runs and _START in piece:
            yield Span(run, piece[_IDS_END:_SPAN_END].lower(), piece)


def may_have_run(piece: bytes, tool: bytes) -> bool:
    """Whether a span may be the call of a tool that was not refused; False is certain.

    Args:
        tool: what `mark` made of the tool's name.
    """
    return _BLOCKED not in piece and (tool in piece or _TOOL not in piece)


def mark(tool: str) -> bytes:
    """Bytes that stand in each call of a tool, but in those that leave its name to that of the span."""
    return _TOOL + tool.encode() + b'"' if _SIMPLE.fullmatch(tool) else _TOOL


def _ends_with_links(line: bytes, at: int) -> bool:
    """Whether nothing but links begins with a trace id from a place on; -1 for no place."""
    if at < 0:
        return True
    rest = line[at:]
    return _START not in rest and all(_is_link(piece) for piece in rest.split(_SPAN)[1:])


def _is_link(piece: bytes) -> bool:
    """Whether what begins with a trace id, and has no start, is a link, or at least no call."""
    if piece.startswith(_OUR_LINK, _SPAN_END):
        return _OPERATION not in piece
    return _is_no_call(piece)


def _is_no_call(piece: bytes) -> bool:
    return not any(mark in piece for mark in (*_OURS, *_FOREIGN))


def _without_verdict(piece: bytes, start: int) -> Verdict | Literal[""] | None:
    """What a span is that has not both an operation and a verdict: "" for no call, None where it must be parsed."""
    if piece.find(_CALL, start) >= 0:
        if _STATUS_KEY in piece:
            return None
        if _WITHIN_KEY not in piece:
            return "none"
        return "within" if _WITHIN in piece else None
    if _OPERATION in piece:
        return ""
    return None if any(mark in piece for mark in (*_OURS, *_FOREIGN)) else ""
