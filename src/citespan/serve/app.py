"""The HTTP side: which question is asked, and how its answer is written down."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from citespan.audit import RULES
from citespan.errors import EXIT_INCOMPLETE, EXIT_VIOLATIONS
from citespan.serve.bodies import TooLarge, Undecodable
from citespan.serve.browser import Guarded, page_policy
from citespan.serve.desk import Desk, State
from citespan.serve.gate import Full, Gate, Part, Questions
from citespan.serve.judge import TooSlow
from citespan.serve.openapi import DEFAULT_LIMIT, MAX_LIMIT, openapi
from citespan.serve.otlp import accepted, content_type
from citespan.serve.problems import INGEST, RETRY, Contained, broken, document, encoding_of, refused
from citespan.serve.store import Dropped, Trace

_TRACE_ID: Final = re.compile(r"[0-9a-fA-F]{32}")
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_DROPPED: Final = {
    "memory": "dropped: the memory for traces was full, and others came later",
    "traces": "dropped: there were too many traces, and others came later",
    "age": "dropped: nothing had come for it in a long time",
}


def application(desk: Desk) -> ASGIApp:
    """The service as an ASGI application. It does not close the desk.

    Example:
        `application(Desk(Limits(), policy=None))`
    """
    gate = Gate(desk.limits.requests, desk.limits.under_way)
    routes = [
        Route(INGEST, _Ingest(desk, gate).answer, methods=["POST"]),
        Route("/traces", _with(desk, _traces)),
        Route("/traces/{trace_id}", _with(desk, _trace)),
        Route("/traces/{trace_id}/report", _with(desk, _report)),
        Route("/violations", _with(desk, _violations)),
        Route("/healthz", _with(desk, _health)),
        Route("/openapi.json", _with(desk, _openapi)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refused, Exception: broken})
    app.router.redirect_slashes = False
    return Guarded(Questions(Contained(app), desk.limits.questions, desk.limits.pages))


def _with(desk: Desk, answer: Callable[[Desk, Request], Any]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        response: Response = await answer(desk, request)
        return response

    return endpoint


class _Ingest:
    """`POST /v1/traces`."""

    def __init__(self, desk: Desk, gate: Gate) -> None:
        self._desk = desk
        self._gate = gate

    async def answer(self, request: Request) -> Response:
        encoding = encoding_of(request.headers)
        if encoding is None:
            raise HTTPException(415, "the Content-Type has to be application/x-protobuf or application/json")
        packing = request.headers.get("content-encoding", "identity").strip().lower()
        if packing not in {"gzip", "identity", ""}:
            raise HTTPException(415, "the Content-Encoding has to be gzip, or none")
        try:
            with self._gate.enter() as part:
                body = await self._body(request, part)
                found = await self._desk.take(body, encoding, zipped=packing == "gzip")
        except Full:
            raise HTTPException(503, "too much is being received; send it again", RETRY) from None
        except TooLarge as error:
            raise HTTPException(413, str(error)) from None
        except Undecodable as error:
            raise HTTPException(400, str(error)) from None
        except ClientDisconnect:
            raise HTTPException(400, "the body ends too early") from None
        return Response(accepted(found.rejected, found.why, encoding), media_type=content_type(encoding))

    async def _body(self, request: Request, part: Part) -> bytes:
        limit = self._desk.limits.body
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said[:18]) > limit:
            raise TooLarge(f"the body is more than {limit} bytes")
        body = bytearray()
        try:
            async with asyncio.timeout(self._desk.limits.arrive):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > limit:
                        raise TooLarge(f"the body is more than {limit} bytes")
                    part.take(len(chunk))
                    body += chunk
        except TimeoutError:
            why = f"the body did not arrive within {self._desk.limits.arrive:g} s"
            raise HTTPException(408, why, {"Connection": "close"}) from None
        return bytes(body)


async def _traces(desk: Desk, request: Request) -> Response:
    limit, offset = _number(request, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT), _number(request, "offset", 0, 0, 10**9)
    deadline = desk.deadline()
    listed = list(desk.newest())[offset : offset + limit]
    rows = [_row(trace, await desk.state(trace, deadline)) for trace in listed]
    total = len(desk.store)
    following = offset + limit if offset + limit < total else None
    return document({"traces": rows, "total": total, "dropped": desk.store.dropped, "next_offset": following})


async def _trace(desk: Desk, request: Request) -> Response:
    trace = _found(desk, request)
    if isinstance(trace, Dropped):
        why = _DROPPED[trace.why]
        stands = {"trace_id": trace.trace_id, "status": "dropped", "incomplete": True, "reasons": [why]}
        return document({"exit_code": EXIT_INCOMPLETE, "findings": [], **stands})
    state, audit = await desk.audit(trace, desk.deadline())
    said = {"exit_code": EXIT_INCOMPLETE, "findings": []} | orjson.loads(audit)
    if state.status == "incomplete":
        said["exit_code"] = said["exit_code"] or EXIT_INCOMPLETE
    return document(said | _row(trace, state))


async def _report(desk: Desk, request: Request) -> Response:
    trace = _found(desk, request)
    if isinstance(trace, Dropped):
        raise HTTPException(410, _DROPPED[trace.why])
    try:
        page = await desk.page(trace, desk.deadline())
    except TooSlow:
        raise HTTPException(503, f"the page was not ready within {desk.limits.audit:g} s", RETRY) from None
    return HTMLResponse(page, headers={"Content-Security-Policy": page_policy(page)})


async def _violations(desk: Desk, request: Request) -> Response:
    limit = _number(request, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT)
    since = _number(request, "since", 0, 0, 10**15 - 1)
    wanted = {key: request.query_params[key] for key in ("rule", "severity", "tool") if key in request.query_params}
    deadline = desk.deadline()
    found: list[dict[str, Any]] = []
    unread, more = 0, False
    for trace in desk.newest():
        if more or trace.came < since:
            break
        state, audit = await desk.audit(trace, deadline)
        if state.judged is None:
            unread += 1
            continue
        for finding in reversed(orjson.loads(audit).get("findings", ())):
            if any(finding.get(key, "") != value for key, value in wanted.items()):
                continue
            if len(found) == limit:
                more = True
                break
            rule = RULES.get(finding.get("rule", ""))
            finding["violation"] = rule is not None and rule.exit_code == EXIT_VIOLATIONS
            found.append(finding | {"trace_id": trace.trace_id, "trace_status": state.status})
    return document({"violations": found, "more": more, "not_audited": unread, "dropped": desk.store.dropped})


async def _health(desk: Desk, request: Request) -> Response:
    store = desk.store
    return document({"status": "ok", "traces": len(store), "bytes": store.size, "dropped": store.dropped})


async def _openapi(desk: Desk, request: Request) -> Response:
    return document(openapi())


def _row(trace: Trace, state: State) -> dict[str, Any]:
    judged = state.judged
    return {
        "trace_id": trace.trace_id,
        "status": state.status,
        "incomplete": state.status == "incomplete",
        "reasons": list(state.reasons),
        "spans": trace.spans,
        "calls": None if judged is None else judged.calls,
        "violations": None if judged is None else judged.violations,
        "last_span_came": round(trace.came, 3),
    }


def _found(desk: Desk, request: Request) -> Trace | Dropped:
    trace_id = request.path_params["trace_id"]
    if not _TRACE_ID.fullmatch(trace_id):
        raise HTTPException(404, "a trace id is 32 hex digits")
    trace = desk.find(trace_id.lower())
    if trace is None:
        raise HTTPException(404, "no span of this trace has come, or it was dropped long ago")
    return trace


def _number(request: Request, key: str, default: int, least: int, most: int) -> int:
    values = request.query_params.getlist(key)
    if not values:
        return default
    if len(values) > 1 or not _WHOLE.fullmatch(values[0]) or not least <= int(values[0]) <= most:
        raise HTTPException(400, f"{key}: a whole number from {least} to {most} is needed")
    return int(values[0])
