"""MCP server of the official SDK: every `tools/call` is judged before its handler runs.

Wrapped, in mcp 2.x: `ServerRunner._compose_server_middleware`, through which every request of every server passes,
inside all of the host's own middleware. In 1.x: `Server._handle_request`. Both cover high-level and low-level servers,
any transport, and servers that were made before `activate`. Whose run a request is, see `citespan.instrument._mcp`.

What a client sends is never a human's word here: the server does not see who wrote it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Final

import wrapt
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context

from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.guard.ports import Tool
from citespan.instrument import _mcp
from citespan.instrument._base import Call, Learned, Refusal, call_async
from citespan.instrument._mcp import catalog, read, serving
from citespan.instrument._patch import Adapter, Patch, Version, Wrap, loaded

SCOPE: Final = "mcp-python-sdk"  # the tracer of the SDK itself (2.x): its server span says `execute_tool`, and is used
SERVER: Final = "mcp.server.lowlevel.server"
RUNNER: Final = "mcp.server.runner"
#: of the JSON-RPC error that an aborted call ends in; MCP reserves none of -32050 to -32099
DENIED_CODE: Final = -32050

#: gives one page of the server's own `tools/list`
Page = Callable[[str | None], Awaitable[Any]]


def _compose(wrapped: Any, runner: Any, args: Any, kwargs: Any) -> Any:
    """2.x: the handler of every message, as the innermost link of the chain of middleware."""

    def compose(inner: Any) -> Any:
        async def handle(request: Any) -> Any:
            if request.method != semconv.MCP_TOOLS_CALL:
                return await inner(request)
            return await _serve_2(runner, request, inner)

        return wrapped(handle)

    return compose(*args, **kwargs)


async def _serve_2(runner: Any, request: Any, inner: Any) -> Any:
    params: Mapping[str, Any] = request.params or {}
    entry = runner.server.get_request_handler("tools/list")

    def page(cursor: str | None) -> Any:
        asked = entry.params_type.model_validate({"cursor": cursor})
        return entry.handler(replace(request, method="tools/list", params=None), asked)

    def body(judged: Any) -> Any:
        sent = {**params, "arguments": judged} if "arguments" in params else params
        return inner(replace(request, params=sent))

    channel = runner.connection.outbound if runner.connection.has_standalone_channel else None
    return await serve(
        ADAPTER,
        serving(request.meta, channel),
        await describe(runner.server, params.get("name"), page if entry else None),
        params.get("arguments"),
        body,
        _REFUSAL,
    )


async def _handle_request_1(wrapped: Any, server: Any, args: Any, kwargs: Any) -> Any:
    """1.x: every request, with the handlers of its server at hand."""

    def handle(message: Any, request: Any, session: Any, *rest: Any, **options: Any) -> Any:
        types = loaded("mcp.types")
        handler = server.request_handlers.get(types.CallToolRequest)
        if handler is None or type(request) is not types.CallToolRequest:
            return wrapped(message, request, session, *rest, **options)

        async def guarded(request: Any) -> Any:
            return await _serve_1(server, session, message.request_meta, request, handler)

        served = _Served(server, {**server.request_handlers, types.CallToolRequest: guarded})
        return wrapped.__func__(served, message, request, session, *rest, **options)

    return await handle(*args, **kwargs)


class _Served(wrapt.ObjectProxy):  # type: ignore[type-arg, unused-ignore]
    """A server as one request sees it: with handlers of its own."""

    def __init__(self, server: Any, handlers: Mapping[Any, Any]) -> None:
        super().__init__(server)
        self._self_handlers = handlers

    @property
    def request_handlers(self) -> Mapping[Any, Any]:
        """The handlers, by type of request."""
        return self._self_handlers


async def _serve_1(server: Any, session: Any, meta: Any, request: Any, handler: Any) -> Any:
    types = loaded("mcp.types")
    lister = server.request_handlers.get(types.ListToolsRequest)

    async def page(cursor: str | None) -> Any:
        asked = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        return (await lister(types.ListToolsRequest(params=asked))).root

    def body(judged: Any) -> Any:
        given = None if request.params.arguments is None else judged
        return handler(request.model_copy(update={"params": request.params.model_copy(update={"arguments": given})}))

    return await serve(
        ADAPTER,
        serving(meta, session),
        await describe(server, request.params.name, page if lister else None),
        request.params.arguments,
        body,
        _REFUSAL_1,
        lambda result: read(result.root),
    )


async def describe(server: Any, name: Any, page: Page | None) -> Tool | Exception:
    """What a server says of its tool, as it first said it; or why that cannot be told, which denies the call."""
    import anyio

    try:
        if not isinstance(name, str):
            raise TypeError("the request names no tool")
        known = catalog(server, server.name)
        if name not in known.tools and page is not None:
            # a server that cannot list is still callable: its tools have no schema and no hint
            with suppress(Exception), anyio.move_on_after(_mcp.LISTING_SECONDS):
                await known.walk(page)
        return known.tool(name)
    except Exception as error:
        return error


async def serve(
    adapter: Adapter,
    context: Context,
    tool: Tool | Exception,
    arguments: Any,
    body: Callable[[Any], Awaitable[Any]],
    refusal: Refusal,
    learned: Callable[[Any], Learned] = read,
) -> Any:
    """Judge one request to a server under its own context, and let the handler have it; see `_base.call_async`."""

    def called() -> Call:
        if isinstance(tool, Exception):
            raise tool
        if not (arguments is None or isinstance(arguments, Mapping)):
            raise TypeError("the arguments are no object")
        return Call(tool, arguments, reparsed=True)

    if isinstance(tool, Tool):
        _name_span(tool.name)
    token = otel_context.attach(context)
    try:
        return await call_async(adapter, called, body, refusal, learned)
    finally:
        otel_context.detach(token)


def _name_span(tool: str) -> None:
    """Say which tool it is for on a server's span of the request that will be named later: the verdict goes there."""
    span: Any = trace.get_current_span()
    attributes = getattr(span, "attributes", None) or {}
    if attributes.get(semconv.MCP_METHOD) == semconv.MCP_TOOLS_CALL == getattr(span, "name", None):
        span.set_attribute(semconv.TOOL_NAME, tool)


@cache
def denial(base: type[Exception]) -> type[Exception]:
    """The class of an exception that is a refusal, and that an SDK turns into an error of the protocol.

    Args:
        base: the SDK's own class for such an error, or a class below it.
    """

    class Denied(ProvenanceDenied, base):  # type: ignore[misc, valid-type]
        """A refusal that reaches the client as a JSON-RPC error."""

        error: Any

        def __reduce__(self) -> tuple[type[ProvenanceDenied], tuple[Any, str]]:
            return ProvenanceDenied, (self.decision, self.hint)

    Denied.__name__ = Denied.__qualname__ = "ProvenanceDenied"
    return Denied


def aborted(refusal: ProvenanceDenied, base: type[Exception]) -> BaseException:
    """The refusal as an error of the protocol."""
    made: Any = denial(base)(refusal.decision, refusal.hint)  # type: ignore[arg-type]
    made.error = loaded("mcp.types").ErrorData(code=DENIED_CODE, message=str(refusal))
    return made  # type: ignore[no-any-return]


def _told(refusal: ProvenanceDenied) -> Any:
    content = [{"type": "text", "text": str(refusal)}]
    return loaded("mcp.types").CallToolResult.model_validate({"content": content, "isError": True})


def _told_1(refusal: ProvenanceDenied) -> Any:
    return loaded("mcp.types").ServerResult(_told(refusal))


def _aborted(refusal: ProvenanceDenied) -> BaseException:
    return aborted(refusal, loaded("mcp.shared.exceptions").MCPError)


def _aborted_1(refusal: ProvenanceDenied) -> BaseException:
    return aborted(refusal, loaded("mcp.shared.exceptions").McpError)


def _patches(version: Version) -> tuple[Patch, ...]:
    if version >= (2, 0):
        return (Wrap(RUNNER, "ServerRunner._compose_server_middleware", _compose),)
    return (Wrap(SERVER, "Server._handle_request", _handle_request_1),)


_REFUSAL: Final = Refusal(tell=_told, abort=_aborted)
_REFUSAL_1: Final = Refusal(tell=_told_1, abort=_aborted_1)
ADAPTER: Final = Adapter(
    name="mcp-server",
    title="MCP server",
    distribution="mcp",
    oldest=(1, 30),
    before=(3, 0),
    patches_of=_patches,
    scopes=(SCOPE,),
    covers="every `tools/call` that a server of the official SDK serves, high-level or low-level, on any transport",
    misses="tools that the host calls without a request; prompts and resources",
    run="the host's, else the trace in `_meta.traceparent`, else the connection",
    step="none: order of start and result",
    tell="a result with `isError`",
    abort="a JSON-RPC error, code -32050",
    serves=True,
)
