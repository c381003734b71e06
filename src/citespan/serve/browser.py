"""What keeps a web page from using the service through its reader's browser.

A page of another site can make the browser send requests to loopback, and by letting its own name resolve to 127.0.0.1
it can read the answers (DNS rebinding). Such requests name the page's host, or its origin: both are refused. What the
service itself shows may load nothing and be framed by nobody.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citespan.serve.problems import refusal

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z.-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"<script(?:\s[^>]*)?>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)

HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}


def loopback(host: str) -> bool:
    """Whether a name or address can only be this machine.

    Example:
        >>> loopback("localhost"), loopback("127.0.0.1"), loopback("[::1]"), loopback("127.0.0.1.example.org")
        (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


class Guarded:
    """An application that answers only who speaks to loopback by its name, and pages of its own origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def shown(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        why = _stranger(headers.getlist("host"), headers.getlist("origin"), scope["scheme"])
        app = self._app if why is None else refusal(scope, *why)
        await app(scope, receive, shown)


def _stranger(hosts: list[str], origins: list[str], scheme: str) -> tuple[int, str] | None:
    found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if found is None or not loopback(found[1]):
        return 400, "the Host header has to be localhost, 127.0.0.1 or [::1]: this service is for this machine only"
    if any(origin.lower() != f"{scheme}://{hosts[0].lower()}" for origin in origins):
        return 403, "requests of web pages are refused (the Origin header is not this service's)"
    return None


def page_policy(page: str) -> str:
    """The Content-Security-Policy of a self-contained page: its own scripts and styles, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src {_hashes(_SCRIPT.findall(page))}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hashes(texts: Iterable[str]) -> str:
    found = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in texts)
    return " ".join(f"'sha256-{each}'" for each in found) or "'none'"
