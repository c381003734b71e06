"""The process: a socket on loopback, uvicorn with bounds, an end on SIGINT and SIGTERM."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from ipaddress import ip_address
from types import FrameType
from typing import Final

import uvicorn

from citespan.core.policy import Policy
from citespan.errors import UsageError
from citespan.serve.app import application
from citespan.serve.browser import loopback
from citespan.serve.connection import bounded
from citespan.serve.desk import Desk
from citespan.serve.limits import Limits

#: bytes of a request's line and headers
HEADERS: Final = 16 * 1024
#: seconds that a connection may be idle between two requests, and that the end may take
IDLE: Final = 5
FAREWELL: Final = 5
_BACKLOG: Final = 128


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on a loopback address.

    Args:
        host: a loopback address, or `localhost`, which is 127.0.0.1 here. port: 0 for a free one.

    Raises:
        UsageError: it is no loopback address, or nobody can listen there.
    """
    if not loopback(host):
        raise UsageError(
            f"--host {host}: not a loopback address. The service has no TLS and no tokens: put a collector in front of "
            "it, and let that listen"
        )
    name = "127.0.0.1" if host.lower() == "localhost" else host.strip("[]")
    family = socket.AF_INET6 if ip_address(name).version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((name, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(f"{name}, port {port}: {error.strerror}; --port 0 takes a free one") from error
    return listener


def address(listener: socket.socket) -> str:
    """Where a socket listens, as a URL.

    Example:
        `http://127.0.0.1:4318`, `http://[::1]:4318`
    """
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(listener: socket.socket, limits: Limits, policy: Policy | None, ready: Callable[[], object]) -> None:
    """Serve until SIGINT or SIGTERM; requests that are being answered are answered. Call it in the main thread.

    Args:
        ready: called once, when requests are answered.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # each request that is no HTTP would be a line
    desk = Desk(limits, policy)
    config = uvicorn.Config(
        application(desk),
        http=bounded(limits.arrive, 2 * limits.connections),
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=FAREWELL,
        h11_max_incomplete_event_size=HEADERS,
    )
    server = _Server(config, ready)

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn raises the signal again when it has ended: here that is an end as asked for
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        desk.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell when it is done."""
        await super().startup(sockets)
        self._ready()
