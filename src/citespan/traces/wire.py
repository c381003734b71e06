"""The fields of a protobuf message, without making the message: what it holds can be read piece by piece.

The wire format is that of https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_WIDTHS: Final = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT: Final = 10


class Broken(ValueError):
    """Bytes that are no protobuf message; the text says why."""


class Field(NamedTuple):
    """One field: its number, its wire type, and where its content is (for `BYTES`; else where it stands)."""

    number: int
    wire: int
    start: int
    end: int


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends.

    Raises:
        Broken: it does not end, or is too long.

    Example:
        >>> varint(bytes([0x96, 0x01]), 0)
        (150, 2)
    """
    value = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
            if shift >= 7 * _MAX_VARINT:
                raise Broken("a number of too many bytes")
    except IndexError:
        raise Broken("it ends inside a number") from None


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    r"""The fields of the message that stands in `data[start:end]`, in their order.

    Raises:
        Broken: these bytes are no message.

    Example:
        >>> list(fields(b"\x0a\x01a\x10\x05", 0, 5))
        [Field(number=1, wire=2, start=2, end=3), Field(number=2, wire=0, start=4, end=5)]
    """
    at = start
    while at < end:
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise Broken("a field without a number")
        if wire == BYTES:
            size, at = varint(data, at)
        elif wire == VARINT:
            size = varint(data, at)[1] - at
        elif wire in _WIDTHS:
            size = _WIDTHS[wire]
        else:
            raise Broken(f"a field of wire type {wire}")
        if size > end - at:
            raise Broken("a field is longer than what it is in")
        yield Field(number, wire, at, at + size)
        at += size
