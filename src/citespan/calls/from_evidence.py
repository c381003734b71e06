"""From a line of the evidence file (docs/evidence.md) to the call that it tells of.

Strict about what makes a line one of that schema; wrong types of single keys read as absent, like on spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

import orjson

from citespan.calls.model import Argument, Call, Cited, Leaf, Verdict, rank
from citespan.calls.paths import head
from citespan.core.kinds import KINDS, Status
from citespan.core.leaves import escape
from citespan.errors import TraceFileError
from citespan.files import Progress, Recording, Unreadable, name_of, opened
from citespan.stores.evidence import SCHEMA

#: bytes of one line; its writer keeps to 512 leaves
MAX_LINE: Final = 32 * 1024 * 1024
_STATUSES: Final = frozenset(get_args(Status))
#: kinds whose leaves a span keeps the first of, with its source and digest
_CITED: Final = frozenset({"observed", "derived", "user"})


class Malformed(ValueError):
    """A line that is none of the schema; the text says why."""


def read_evidence(source: str | Path | Recording, progress: Progress | None = None) -> Iterator[Call]:
    """The calls of an evidence file, gzipped or not, in its order.

    Args:
        source: a path, `-` for standard input, or a file that is open already (`citespan.files.opened`).
        progress: told on the way how many bytes more of the file were read.

    Raises:
        TraceFileError: the file cannot be read, or a line is none of schema `citespan.evidence/1`; names file, line
            and reason.

    Example:
        `[call.tool for call in read_evidence("evidence.jsonl") if call.status == "blocked"]`
    """
    name = source.name if isinstance(source, Recording) else name_of(source)
    try:
        with opened(source, progress) as recording:
            yield from _read(recording)
    except Unreadable as error:
        raise TraceFileError(f"{name}: {error.reason}") from None
    except OSError as error:
        raise TraceFileError(f"{name}: {error.strerror or type(error).__name__}") from error


def _read(recording: Recording) -> Iterator[Call]:
    number = 0
    while line := _line(recording, number + 1):
        number += 1
        place = f"{recording.name}:{number}"
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            raise TraceFileError(f"{place}: a line of more than {MAX_LINE} bytes")
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not text.isspace():
            try:
                yield call_of_line(text, place)
            except Malformed as error:
                raise TraceFileError(f"{place}: {error}") from error
        recording.advance()


def _line(recording: Recording, number: int) -> bytes:
    try:
        return recording.file.readline(MAX_LINE + 1)
    except Unreadable as error:
        raise TraceFileError(f"{recording.name}:{number}: {error.reason}") from None


def call_of_line(line: bytes, place: str) -> Call:
    """The call that one line of an evidence file tells of.

    Args:
        line: with or without its line break. place: `file:line`.

    Raises:
        Malformed: the line is none of schema `citespan.evidence/1`.

    Example:
        >>> call_of_line(b'{"schema": "citespan.evidence/1", "tool": "look"}', "evidence.jsonl:1").tool
        'look'
    """
    said = _document(line)
    run = _text(said.get("run"))
    arguments = _arguments(said.get("leaves"))
    cut = said.get("leaves_cut")
    return Call(
        tool=said["tool"],
        server=_text(said.get("server")),
        status=_verdict(said.get("status")),
        mode=_text(said.get("mode")),
        policy=_text(said.get("policy")),
        violations=_texts(said.get("violations")),
        assumed_fields=tuple(dict.fromkeys(path for argument in arguments for path in argument.counted)),
        arguments=arguments,
        trace_id=_text(said.get("trace_id")).lower(),
        span_id=_text(said.get("span_id")).lower(),
        start=_time(said.get("time_unix_nano")),
        run=run,
        truncated=(f"leaves={cut}",) if type(cut) is int and cut > 0 else (),
        place=place,
    )


def _document(line: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        cut = "" if line.endswith(b"\n") else " (the last line is unfinished)"
        raise Malformed(f"no JSON: {error.msg} at column {error.colno}{cut}") from error
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        raise Malformed(f"no line of an evidence file: its `schema` must be {SCHEMA}")
    if not isinstance(said.get("tool"), str) or not said["tool"]:
        raise Malformed("`tool` is missing: the name of the called tool")
    return said


def _arguments(found: Any) -> tuple[Argument, ...]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and isinstance(each.get("path"), str) and each.get("kind") in KINDS:
            groups.setdefault(head(each["path"]), []).append(each)
    return tuple(_argument(escape(name), leaves) for name, leaves in groups.items())


def _argument(name: str, said: list[Mapping[str, Any]]) -> Argument:
    leaves = tuple(_leaf(each) for each in said)
    first = next((leaf for leaf in leaves if leaf.kind in _CITED), None)
    before = leaves[: leaves.index(first) + 1] if first is not None else leaves
    return Argument(
        name=name,
        kind=max(leaves, key=lambda leaf: rank(leaf.kind)).kind,
        cited=first.cited if first is not None else None,
        projection=first.projection if first is not None else "exact",
        weak=any(leaf.weak for leaf in before),
        leaves=leaves if len(leaves) > 1 else (),
        counted=tuple(dict.fromkeys(leaf.path for leaf in leaves if leaf.counted)),
        accepts=tuple(dict.fromkeys(text for each in said for text in _texts(each.get("accepts")))),
        nearest=tuple(dict.fromkeys(text for each in said for text in _texts(each.get("nearest")))),
    )


def _leaf(said: Mapping[str, Any]) -> Leaf:
    tool, _, field = _text(said.get("source")).partition(".")
    return Leaf(
        path=said["path"],
        kind=said["kind"],
        cited=Cited(tool, field, _text(said.get("source_span")).lower()) if tool or field else None,
        projection=_text(said.get("projection")) or "exact",
        weak=said.get("weak") is True,
        counted=said.get("counted") is True,
    )


def _verdict(said: Any) -> Verdict:
    return cast(Verdict, said) if isinstance(said, str) and said in _STATUSES else "none"


def _time(said: Any) -> int:
    return said if type(said) is int and said > 0 else 0


def _text(said: Any) -> str:
    return said if isinstance(said, str) else ""


def _texts(said: Any) -> tuple[str, ...]:
    return tuple(each for each in said if isinstance(each, str)) if isinstance(said, list) else ()
