"""What the service may use. Every bound has its number here."""

from __future__ import annotations

from typing import Final, NamedTuple

MIB: Final = 1024 * 1024


class Limits(NamedTuple):
    """Bounds of the service; sizes in bytes, times in seconds.

    Args:
        memory: of all spans that are kept, bookkeeping included; the oldest traces are dropped for new ones.
        traces: that are kept. spans: of one trace.
        dropped: traces that were dropped and are still known to have been.
        body: of one request, unpacked too (20 MiB is what the protocol recommends); of JSON a quarter, see `of_json`.
        span: of one span or resource in protobuf.
        keep: how long a trace is kept after its last span came.
        settle: how long after its last span a trace may still be judged clean only provisionally, and is `incomplete`.
        close: how long after its last span a run may end; then it is no longer waited for.
        audit: for one audit, or one page. decode: for decoding one body. arrive: for the headers of a
            request to come in, for its body, and for a reader to go on reading an answer.
        requests: with spans, that are being received at once. questions, pages: that are being answered at once, until
            the answer has been read. connections: that are open at once.

    Example:
        >>> Limits(memory=64 * MIB).of_a_trace // MIB
        16
    """

    memory: int = 256 * MIB
    traces: int = 10_000
    spans: int = 10_000
    dropped: int = 100_000
    body: int = 20 * MIB
    span: int = 2 * MIB
    keep: float = 3600.0
    settle: float = 2.0
    close: float = 60.0
    audit: float = 10.0
    decode: float = 10.0
    arrive: float = 20.0
    requests: int = 64
    questions: int = 32
    pages: int = 2
    connections: int = 256

    @property
    def of_a_trace(self) -> int:
        """Bytes of one trace: one alone cannot push out all others."""
        return self.memory // 4

    @property
    def of_json(self) -> int:
        """Bytes of a body in JSON: one takes up to 35 times its bytes while it is read, and all of it at once."""
        return self.body // 4

    @property
    def under_way(self) -> int:
        """Bytes of all bodies that are being received or wait to be decoded."""
        return 2 * self.body

    @property
    def answers(self) -> int:
        """Bytes of rendered audits that are kept for the next question."""
        return self.memory // 8
