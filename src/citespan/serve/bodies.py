"""Bodies of requests: in which encodings they come, how they are unpacked from gzip, and why they are refused."""

from __future__ import annotations

import zlib
from typing import Final, Literal, TypeAlias

Encoding: TypeAlias = Literal["protobuf", "json"]

_GZIP: Final = 31
#: gzip streams in one body: each costs a copy of what is behind it
_STREAMS: Final = 16


class Undecodable(ValueError):
    """A body that is no OTLP traces request; the text says where and why, without a value."""


class TooLarge(ValueError):
    """A body that is over the limit, as it came or unpacked, or takes too long to decode."""


def unzip(body: bytes, limit: int) -> bytes:
    """A gzip body unpacked; never more than `limit` bytes of it are made.

    Raises:
        Undecodable: it is no gzip, or ends too early. TooLarge: it is over the limit.

    Example:
        >>> import gzip
        >>> unzip(gzip.compress(b"spans"), 5)
        b'spans'
    """
    made = bytearray()
    for _ in range(_STREAMS):
        stream = zlib.decompressobj(_GZIP)
        try:
            made += stream.decompress(body, limit + 1 - len(made))
        except zlib.error:
            raise Undecodable("the body is no gzip, though its Content-Encoding says so") from None
        if len(made) > limit:
            raise TooLarge(f"unpacked, the body is more than {limit} bytes")
        if not stream.eof:
            raise Undecodable("the gzip body ends too early")
        body = stream.unused_data  # gzip may be several streams, one after the other
        if not body:
            return bytes(made)
    raise Undecodable(f"more than {_STREAMS} gzip streams in one body")
