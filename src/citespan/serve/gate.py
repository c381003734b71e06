"""How much is being received and answered at once. Single-threaded: the event loop owns it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from citespan.serve.problems import INGEST, RETRY, refusal


class Full(Exception):
    """There is no room for another request, or for more of this one, just now."""


class Gate:
    """Counts requests, and the bytes of their bodies, until they are done with.

    Example:
        >>> gate = Gate(requests=1, room=10)
        >>> with gate.enter() as part:
        ...     part.take(10)
        >>> gate.room
        10
    """

    def __init__(self, requests: int, room: int) -> None:
        self.requests = requests
        self.room = room

    @contextmanager
    def enter(self) -> Iterator[Part]:
        """One request.

        Raises:
            Full: as many as may be are under way.
        """
        if not self.requests:
            raise Full
        self.requests -= 1
        part = Part(self)
        try:
            yield part
        finally:
            self.requests += 1
            self.room += part.taken


class Part:
    """What one request takes up."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.taken = 0

    def take(self, size: int) -> None:
        """Take room for bytes that came.

        Raises:
            Full: there is none.
        """
        if size > self._gate.room:
            raise Full
        self._gate.room -= size
        self.taken += size


class Questions:
    """An application that answers so many questions at once; each counts until its answer has been read.

    Args:
        most: questions of any kind. pages: reports, of which each can be large.
    """

    def __init__(self, app: ASGIApp, most: int, pages: int) -> None:
        self._app = app
        self._questions = Gate(most, 0)
        self._pages = Gate(pages, 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == INGEST:
            await self._app(scope, receive, send)
            return
        gate = self._pages if scope["path"].endswith("/report") else self._questions
        with ExitStack() as under_way:
            app = self._app
            try:
                under_way.enter_context(gate.enter())
            except Full:
                app = refusal(scope, 503, "too many questions at once; ask again", RETRY)
            await app(scope, receive, send)
