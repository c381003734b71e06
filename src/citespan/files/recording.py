"""Opening a file that somebody recorded: a path or standard input, gzipped or not, its first bytes known.

Gzip is undone on the way, in bounded memory, however much comes out of it.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STANDARD_INPUT: Final = "-"
#: bytes by which a file is recognised
HEAD: Final = 4096
GZIP: Final = b"\x1f\x8b"
_BUFFER: Final = 256 * 1024
_PACKED: Final = 64 * 1024
#: a line of JSON, after blank ones
_LINE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^\n]*\n")
_GZIP_WINDOW: Final = 31

#: told how many bytes more of the file (as it is on disk) have been read
Progress: TypeAlias = Callable[[int], object]


class Unreadable(Exception):
    """What is wrong with a file.

    Args:
        reason: said after the place. number: the line, None where it is not the line that is being read.
    """

    def __init__(self, reason: str, number: int | None = None) -> None:
        self.reason = reason
        self.number = number
        super().__init__(reason)


class Recording:
    """An open file.

    Args:
        name: as errors say it. raw: what to read from. head: bytes that were taken from `raw` already.
        progress: see `Progress`.
    """

    def __init__(self, name: str, raw: BinaryIO, head: bytes = b"", progress: Progress | None = None) -> None:
        self.name = name
        self._raw = _Counted(raw, head)
        packed = head.startswith(GZIP)
        self.file = io.BufferedReader(_Gunzipped(self._raw) if packed else self._raw, _BUFFER)
        self._progress = progress
        self._unpacked = b"" if packed else head

    @property
    def head(self) -> bytes:
        """The first bytes of what it holds, decompressed; fewer than `HEAD` only where the file has no more.

        Raises:
            Unreadable: the compressed data is broken.
        """
        if not self._unpacked:
            self._unpacked = self.file.peek(HEAD)[:HEAD]
        return self._unpacked

    def advance(self) -> None:
        """Tell the progress what was read since the last time."""
        size, self._raw.size = self._raw.size, 0
        if size and self._progress is not None:
            self._progress(size)


def name_of(source: str | Path) -> str:
    """What errors call a source."""
    return "<stdin>" if source == STANDARD_INPUT else str(source)


@contextlib.contextmanager
def opened(source: str | Path | Recording, progress: Progress | None = None) -> Iterator[Recording]:
    """Open a file, or standard input, for the length of a block. One that is open already is taken as it is.

    Args:
        source: a path, `-` for standard input, or an open recording, which keeps its own progress.
        progress: see `Progress`.

    Raises:
        OSError: it cannot be read.

    Example:
        `with opened("trace.jsonl.gz") as recording: recording.file.readline()`
    """
    if isinstance(source, Recording):
        yield source
        return
    with _open(source) as file:
        yield Recording(name_of(source), file, _head(file), progress)


def _open(source: str | Path) -> contextlib.AbstractContextManager[BinaryIO]:
    if source == STANDARD_INPUT:
        return contextlib.nullcontext(sys.stdin.buffer)
    return Path(source).open("rb", buffering=_BUFFER)


def _head(file: BinaryIO) -> bytes:
    """The first bytes. A pipe may give them in pieces, and its writer may wait for an answer to its first line."""
    head = b""
    while len(head) < HEAD and not _LINE.match(head) and (piece := _some(file, HEAD - len(head))):
        head += piece
    return head


def _some(file: Any, size: int) -> bytes:
    """What is there, at least one byte unless the file has ended: whoever writes to a pipe slowly is not waited for."""
    piece: bytes = file.read1(size)
    return piece


class _Counted(io.RawIOBase):
    """A file whose head was read already, and that counts; closing it leaves the file open."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file = file
        self._head = head
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._head or _some(self._file, len(view))
        self._head = piece[len(view) :]
        size = min(len(piece), len(view))
        view[:size] = piece[:size]
        self.size += size
        return size


class _Gunzipped(io.RawIOBase):
    """Gzip of one or several members, decompressed as it is asked for. What is before a broken place comes first."""

    def __init__(self, packed: io.RawIOBase) -> None:
        self._packed = packed
        self._member: Any = None
        self._waiting = b""
        self._broken: Unreadable | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        size = 0
        try:
            while not self._broken and size < len(view) and (data := self._data(len(view) - size)):
                view[size : size + len(data)] = data
                size += len(data)
        except Unreadable as error:
            self._broken = error
        if self._broken and not size:
            raise self._broken
        return size

    def _data(self, limit: int) -> bytes:
        """Some decompressed bytes; none at the end."""
        while piece := self._piece():
            if self._member is None:
                if not GZIP.startswith(piece[:2]):
                    raise Unreadable("gzip: something else follows the compressed data")
                self._member = zlib.decompressobj(_GZIP_WINDOW)
            try:
                data: bytes = self._member.decompress(piece, limit)
            except zlib.error as error:
                raise Unreadable(f"gzip: {str(error).partition(': ')[2] or 'broken'}") from None
            self._waiting = self._member.unconsumed_tail
            if self._member.eof:
                self._waiting, self._member = self._member.unused_data, None
            if data:
                return data
        if self._member is not None:
            raise Unreadable("gzip: the file ends inside its compressed data")
        return b""

    def _piece(self) -> bytes:
        """Compressed bytes; between two members without the zeros that some pad a file with."""
        while piece := self._waiting or self._packed.read(_PACKED) or b"":
            self._waiting = b""
            if self._member is None:
                piece = piece.lstrip(b"\0")
            if piece:
                return piece
        return b""
