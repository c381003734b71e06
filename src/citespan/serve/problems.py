"""Answers that say no: problem documents (RFC 9457); for OTLP a `google.rpc.Status` in the request's encoding."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citespan.serve.bodies import Encoding
from citespan.serve.otlp import CONTENT_TYPES, content_type, failed

INGEST: Final = "/v1/traces"
PROBLEM: Final = "application/problem+json"
#: headers of an answer that says to come again
RETRY: Final = {"Retry-After": "1"}

_log = logging.getLogger("citespan")


def media_type(headers: Headers) -> str:
    """The media type of a request, "" for none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def encoding_of(headers: Headers) -> Encoding | None:
    """The OTLP encoding of a request, None for another content type."""
    return CONTENT_TYPES.get(media_type(headers))


def refusal(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that is refused.

    Args:
        status: of HTTP. detail: what is wrong, and what would be right; never a value that came with the request.
    """
    if scope["path"] == INGEST:
        encoding = encoding_of(Headers(scope=scope)) or "json"
        return Response(failed(status, detail, encoding), status, headers, content_type(encoding))
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return Response(orjson.dumps(body), status, headers, PROBLEM)


async def refused(request: Request, error: Exception) -> Response:
    """The answer for an `HTTPException`, those of the router included."""
    assert isinstance(error, HTTPException)
    details = {404: "there is nothing here; GET /openapi.json says what there is", 405: "another method is needed"}
    written = error.detail if error.detail != HTTPStatus(error.status_code).phrase else None
    detail = written or details.get(error.status_code, "refused")
    return refusal(request.scope, error.status_code, detail, error.headers)


async def broken(request: Request, error: Exception) -> Response:
    """The answer where the service made a mistake."""
    return refusal(request.scope, 500, "a mistake of the service; its log has the type of it")


class Contained:
    """An application whose mistakes are told by their type and place alone: a text could hold a value.

    A request that is still being answered when the service ends is told so.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def seen(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, seen)
        except asyncio.CancelledError:  # by the server: its time to end is over
            if scope["type"] == "http" and not begun:
                await refusal(scope, 503, "the service is ending", RETRY | {"Connection": "close"})(
                    scope, receive, send
                )
        except Exception as error:  # it was answered by `broken`, and is raised again for whoever keeps a log
            where = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("a request failed: %s in %s, line %s", type(error).__name__, where.name, where.lineno)


def document(body: Any) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(body), media_type="application/json")
