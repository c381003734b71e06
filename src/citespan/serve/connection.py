"""A connection that may not dawdle.

uvicorn waits for the first request of one, for its headers, and for whoever does not read an answer, without an end.
"""

from __future__ import annotations

from asyncio import BaseTransport, TimerHandle
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class Connection(H11Protocol):
    """HTTP/1.1, with a time limit on what comes before a request's body, and on the reading of an answer.

    `wait` is the limit in seconds, `most` how many connections may be open; set by a subclass, see `bounded`.
    """

    wait: float
    most: int
    _waiting: TimerHandle | None = None
    _stuck: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(cast(Any, transport))
        if len(self.connections) > self.most:
            self.transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Bytes came: of headers, or of the body of the request that is being answered."""
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        """An answer waits for its reader, but not for ever."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.wait, self.transport.abort)

    def resume_writing(self) -> None:
        """The reader goes on."""
        super().resume_writing()
        self._flow()

    def _flow(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        self._flow()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever its type says
        if cycle is not None and not cycle.response_complete:
            self._stop()
        elif self._waiting is None and not self.transport.is_closing():
            self._waiting = self.loop.call_later(self.wait, self.transport.abort)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def bounded(wait: float, most: int) -> type[Connection]:
    """A class of connections with these bounds: uvicorn makes them, and passes on nothing of its own accord."""
    return type("BoundedConnection", (Connection,), {"wait": wait, "most": most})
