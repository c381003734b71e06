"""JSON documents out of a file: one per line as a rule, else over several lines, or several without a line break.

A line that looks like a whole document is passed on as it is, at the speed of reading. Where one does not, the rest
of the file is cut by its brackets. Nothing is parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, BinaryIO, Final, NamedTuple

from citespan.files.forms import BYTE_ORDER_MARK
from citespan.files.recording import Unreadable

#: bytes of one document or line: a collector's batch of 8,192 spans, each with what citespan writes. To read and decode
#: one takes 12 times its size
MAX_DOCUMENT: Final = 20 * 1024 * 1024
_BLANK: Final = b" \t\r\n"
_BLANKS: Final = re.compile(rb"[ \t\r\n]*+")
#: blank lines after each other that are read as lines. A kilobyte of gzip holds a million
MANY_BLANK: Final = 1000
#: of brackets in each other; no parser here takes more
_MAX_DEPTH: Final = 1024
_PIECE: Final = 256 * 1024
#: from outside a string on to the next bracket, over whole strings. A string holds no line break
_TO_BRACKET: Final = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"[^"{}\[\]]*+)*+')


class Document(NamedTuple):
    """Bytes that should be one JSON document (rarely several, on one line).

    Args:
        number: the line that it starts on, 1 for the first. text: its bytes.
    """

    number: int
    text: bytes


def documents(file: BinaryIO, limit: int = MAX_DOCUMENT) -> Iterator[Document]:
    r"""The documents of a file, in its order. Blank lines and a byte-order mark are skipped.

    What is no JSON comes as a document too, a line at a time, for the parser to say so.

    Args:
        limit: bytes of a document; a longer one is refused without having been read on.

    Raises:
        Unreadable: a document is too long.

    Example:
        >>> import io
        >>> [document.text for document in documents(io.BytesIO(b'{"a":1}\n{\n"b": 2}{}'))]
        [b'{"a":1}\n', b'{\n"b": 2}', b'{}']
    """
    number = blank = 0
    while line := file.readline(limit + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line or (line.isspace() and blank < MANY_BLANK):
            blank += 1
            continue
        blank = 0
        if _looks_whole(line, limit):
            yield Document(number, line)
        else:
            yield from _cut(file, line, number, limit)
            return


def pass_blank_lines(file: BufferedReader[Any]) -> int:
    r"""Read on to the next line that is not blank, or not far from it; how many lines that were.

    Example:
        >>> import io
        >>> pass_blank_lines(io.BufferedReader(io.BytesIO(b"\n\r\n \n {}")))
        3
    """
    number = 0
    while ahead := file.peek():
        blank = _BLANKS.match(ahead)
        lines = ahead[: ahead.rfind(b"\n", 0, blank.end() if blank else 0) + 1]
        if not lines:
            break
        number += file.read(len(lines)).count(b"\n")
    return number


def split(document: Document) -> Iterator[Document]:
    """The documents of a line that holds several."""
    cutter = _Cutter(document.number, len(document.text))
    yield from cutter.feed(document.text)
    yield from cutter.end()


def _looks_whole(line: bytes, limit: int) -> bool:
    start = line if line[:1] == b"{" else line[:64].lstrip(_BLANK)
    if start[:1] != b"{" or not line[-3:].rstrip(_BLANK).endswith(b"}"):
        return False
    return len(line) <= limit or line.endswith(b"\n")


def _cut(file: BinaryIO, piece: bytes, number: int, limit: int) -> Iterator[Document]:
    cutter = _Cutter(number, limit)
    while piece:
        yield from cutter.feed(piece)
        piece = file.read(_PIECE)
    yield from cutter.end()


class _Cutter:
    """Cuts documents by their brackets, from pieces of any size."""

    def __init__(self, number: int, limit: int) -> None:
        self._number = number
        self._limit = limit
        self._buffer = bytearray()
        self._at = 0
        self._depth = 0

    def feed(self, piece: bytes) -> Iterator[Document]:
        """The documents that a piece completes."""
        self._buffer += piece
        buffer, start, at, depth = self._buffer, 0, self._at, self._depth
        while True:
            if not depth:
                start = at = self._skip_blank(start)
                if start < len(buffer) and buffer[start] not in b"{[":
                    end = buffer.find(b"\n", start) + 1
                    if not end:
                        break
                    yield self._document(start, end)
                    start = at = end
                    continue
            found = _TO_BRACKET.match(buffer, at)
            at = found.end() if found else at
            if at >= len(buffer):
                break
            byte = buffer[at]
            if byte == 0x22:  # a string that does not end here, or has a line break in it
                broken = buffer.find(b"\n", at) + 1
                if not broken:
                    break
                yield self._document(start, broken)
                start = at = broken
                depth = 0
                continue
            at += 1
            depth += 1 if byte in b"{[" else -1
            if not depth:
                yield self._document(start, at)
                start = at
            elif depth > _MAX_DEPTH:
                raise Unreadable("no JSON: nested too deep", self._number)
        if len(buffer) - start > self._limit:
            raise Unreadable(f"a document or line of more than {self._limit} bytes", self._number)
        del buffer[:start]
        self._at, self._depth = at - start, depth

    def end(self) -> Iterator[Document]:
        """What is left: a document that never ended."""
        if self._buffer.strip(_BLANK):
            yield self._document(0, len(self._buffer))

    def _skip_blank(self, start: int) -> int:
        found = _BLANKS.match(self._buffer, start)
        end = found.end() if found else start
        self._number += self._buffer.count(b"\n", start, end)
        return end

    def _document(self, start: int, end: int) -> Document:
        if end - start > self._limit:
            raise Unreadable(f"a document or line of more than {self._limit} bytes", self._number)
        text = bytes(memoryview(self._buffer)[start:end])
        document = Document(self._number, text)
        self._number += text.count(b"\n")
        return document
