r"""Tool calls read from the bytes of a line, without parsing it: run, start and verdict, enough to choose by.

Reads lines as citespan, OTLP/JSON exporters and the collector's `file` exporter write them. Any other line is None
here, and the caller parses it; the two ways must agree, which a property test holds. What they rest on:

- Inside a JSON string a quotation mark stands behind a backslash. So `{"key":"provenance.status"` in a JSON line is
  never part of a text: it opens an object.
- From `{"traceId":"` to `"startTimeUnixNano":"` stands no brace, so both belong to one object, a span (links and
  events have no start).
- Only an escape as in `\u0061` can hide a key or a verdict; a line that has one is not read here.
- A verdict is believed where the bytes of its span, up to the next one's, say one verdict and one operation, and each
  of the two objects ends where it should. So no event, link, resource, or key that is there twice speaks for a span,
  and no span hides in the bytes of another: each verdict that a line holds is read here, or the line is parsed.
- A line that does not begin and end as a whole one does was cut, or is no trace; so was one in which another begins.

A line that is read here may still break the encoding elsewhere: `citespan audit` parses each of them. Where nobody
writes spans like that, a call may be counted that is none (by a verdict that an event alone has); what is shown is
parsed first, and has to be what its bytes said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from citespan import semconv
from citespan.calls.model import Verdict
from citespan.core.kinds import Status

BEGIN: Final = b'{"resourceSpans":[{'
_END: Final = (b"}]}\n", b"}]}")
_KEY: Final = b'{"key":'
_SPAN: Final = b'{"traceId":"'
_IDS: Final = b'","spanId":"'
_START: Final = b'"startTimeUnixNano":"'
#: letters, digits, `.` and `_` as escapes: what could hide a key or a value that is looked for
_HIDING: Final = re.compile(rb"\\u00(?:2[eE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])")
_TRACE_END: Final = 32
_IDS_END: Final = _TRACE_END + len(_IDS)
_SPAN_END: Final = _IDS_END + 16


def _text(key: str) -> bytes:
    return _KEY + b'"' + key.encode() + b'","value":{"stringValue":"'


_STATUS: Final = _text(semconv.STATUS)
_OPERATION: Final = _text(semconv.OPERATION)
_CALL: Final = _OPERATION + semconv.EXECUTE_TOOL.encode() + b'"}}'
_TOOL: Final = _text(semconv.TOOL_NAME)
_WITHIN: Final = b'{"key":"' + semconv.WITHIN.encode() + b'","value":{"boolValue":true}}'
#: by the first bytes of a verdict: all of it, up to the end of its attribute
_WIDTH: Final = 3
_VERDICTS: Final = {
    (name.encode() + b'"')[:_WIDTH]: (name.encode() + b'"}}', cast(Verdict, name)) for name in get_args(Status)
}
#: what makes a tool call of a span that has no operation
_FOREIGN: Final = (
    f'"name":"{semconv.EXECUTE_TOOL} '.encode(),
    *(f'"{key}"'.encode() for key in (semconv.MCP_METHOD, semconv.OPENINFERENCE_KIND, semconv.TRACELOOP_KIND)),
)
_STATUS_KEY: Final = f'"{semconv.STATUS}"'.encode()
_WITHIN_KEY: Final = f'"{semconv.WITHIN}"'.encode()
_OPERATION_KEY: Final = f'"{semconv.OPERATION}"'.encode()
_OURS: Final = (_OPERATION_KEY, _STATUS_KEY)
_OUR_LINK: Final = b'","attributes":[{"key":"' + semconv.LINK_ARGUMENTS.encode() + b'"'
_NO_VERDICT: Final[tuple[bytes, Verdict]] = (b"\n", "none")
_BLOCKED: Final = _STATUS + b'blocked"'
_START_KEY: Final = b'"startTimeUnixNano"'
_TRACE_KEY: Final = b'"traceId"'
#: digits of a start that surely fits into 64 bits
_DIGITS: Final = 19
#: a tool's name that is written in one way only
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_.:\- ]+")
#: trace id, verdict, start
_Brief: TypeAlias = tuple[bytes, Verdict, int]


def briefs(line: bytes) -> list[_Brief] | None:
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
    if (b"\\" in line and b"\\u00" in line and _HIDING.search(line)) or b"\0" in line or not _is_text(line):
        return None
    at = line.find(_SPAN) + len(_SPAN)
    if line.find(BEGIN, len(BEGIN), at) >= 0:
        return None
    start = line.find(_START, at)
    if start >= 0 and _ends_with_links(line, line.find(_SPAN, start)):  # one span, as most lines have
        call = _call(line, at, start)
        return None if call is None else [call] if call else []
    calls: list[_Brief] = []
    left = line.count(_START)
    before, *pieces = line.split(_SPAN)
    if not _is_no_call(before) or line.find(BEGIN, at) >= 0:
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
    status, operation = data.rfind(_STATUS_KEY), data.rfind(_OPERATION_KEY)
    if (status >= 0 and data.find(_STATUS_KEY, 0, status) >= 0) or (
        operation >= 0 and data.find(_OPERATION_KEY, 0, operation) >= 0
    ):
        return None
    said = status - len(_KEY)
    if status < start or not data.startswith(_CALL, max(operation - len(_KEY), start)):
        other = None if status >= 0 else _without_verdict(data, operation)
        return (data[at : at + _TRACE_END], other, 0) if other else None if other is None else ()
    if not data.startswith(_STATUS, said):
        return None
    status = said + len(_STATUS)
    whole, verdict = _VERDICTS.get(data[status : status + _WIDTH], _NO_VERDICT)
    if not data.startswith(whole, status):
        return None
    if verdict == "ok":
        return data[at : at + _TRACE_END], verdict, 0
    if not _has_one_id_and_start(data, at, start):
        return None
    start += len(_START)
    digits = data[start : data.find(b'"', start)]
    return (data[at : at + _TRACE_END], verdict, int(digits)) if len(digits) <= _DIGITS and digits.isdigit() else None


def _has_one_id_and_start(data: bytes, at: int, start: int) -> bool:
    """Whether no second id or start of a span stands behind the first, which then would not count."""
    while (at := data.find(_TRACE_KEY, at)) >= 0:
        if not data.startswith(b"{", at - 1):  # that of a link
            return False
        at += 1
    return data.find(_START_KEY, start + 1) < 0


def _is_text(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


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
        return _OPERATION_KEY not in piece and _STATUS_KEY not in piece
    return _is_no_call(piece)


def _is_no_call(piece: bytes) -> bool:
    return not any(sign in piece for sign in (*_OURS, *_FOREIGN))


def _without_verdict(piece: bytes, operation: int) -> Verdict | Literal[""] | None:
    """What a span without a verdict is: "" for no call, None where it must be parsed. operation: where it has one."""
    if operation < 0:
        return None if any(sign in piece for sign in _FOREIGN) else ""
    if not piece.startswith(_CALL, operation - len(_KEY)):
        return "" if piece.startswith(_OPERATION, operation - len(_KEY)) else None
    if _WITHIN_KEY not in piece:
        return "none"
    return "within" if _WITHIN in piece else None
