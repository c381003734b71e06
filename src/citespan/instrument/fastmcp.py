"""FastMCP servers (the distribution `fastmcp`): every tool call is judged before the server's middleware and its tool.

Wrapped: `FastMCP.call_tool`, through which requests and calls by the host both pass, and `FastMCPProviderTool`, by
which a server hands a call on to one that is mounted in it. A call enters `call_tool` several times: with middleware
and without, on the outer server and on the mounted one, which knows the tool by another name. It is judged where it
enters first, under the name that the client used; `_Way` carries what comes after.

Requests also pass the official SDK below (`citespan.instrument.mcp_server`); where both adapters are active one judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from opentelemetry import context as otel_context

from citespan.core.decision import ProvenanceDenied
from citespan.guard.context import current_call, current_run, with_value
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.guard.state import RunState
from citespan.instrument._base import Refusal
from citespan.instrument._mcp import either, field, read, serving
from citespan.instrument._patch import Adapter, Wrap, loaded
from citespan.instrument.mcp_server import aborted, serve

SERVER: Final = "fastmcp.server.server"
PROVIDER: Final = "fastmcp.server.providers.fastmcp_provider"
_WAY: Final = otel_context.create_key("citespan-fastmcp-way")
#: what a server said of a tool, by run, server, and the name and version that were asked for
_TOLD: Final[WeakKeyDictionary[RunState, WeakKeyDictionary[Any, dict[tuple[str, str], Tool]]]] = WeakKeyDictionary()


class _Way:
    """Where a judged call goes next: to this tool of this server, once."""

    def __init__(self, server: Any, tool: str) -> None:
        self._next: tuple[Any, str] | None = (server, tool)

    def leads_to(self, server: Any, tool: str) -> bool:
        """True the first time that the call arrives there."""
        if self._next is None or self._next[0] is not server or self._next[1] != tool:
            return False
        self._next = None
        return True


async def _on(way: _Way, wrapped: Any, *args: Any, **kwargs: Any) -> Any:
    token = otel_context.attach(with_value(_WAY, way, otel_context.get_current()))
    try:
        return await wrapped(*args, **kwargs)
    finally:
        otel_context.detach(token)


async def _call_tool(wrapped: Any, server: Any, args: Any, kwargs: Any) -> Any:
    name, arguments, options = _bind(*args, **kwargs)

    async def body(judged: Any) -> Any:
        if options.get("run_middleware", True):
            return await _on(_Way(server, name), wrapped, name, judged, **options)
        return await wrapped(name, judged, **options)

    way = otel_context.get_value(_WAY)
    if isinstance(way, _Way) and way.leads_to(server, name):
        return await body(arguments)
    request = loaded("fastmcp.server.context").Context(fastmcp=server).request_context
    where = serving(field(request, "meta"), _connection(field(request, "session")))
    tool = await _tool(current_run(where), server, name, options.get("version"))
    return await serve(ADAPTER, where, tool, arguments, body, _REFUSAL, read)


def _bind(
    name: str, arguments: dict[str, Any] | None = None, **options: Any
) -> tuple[str, Mapping[str, Any] | None, dict[str, Any]]:
    return name, arguments, options


async def _delegate(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    """A tool of a mounted server: inside a judged call, the call goes on there."""
    if current_call() is None:
        return await wrapped(*args, **kwargs)
    return await _on(_Way(tool._server, tool._original_name), wrapped, *args, **kwargs)


async def _tool(run: Run | None, server: Any, name: str, version: Any) -> Tool:
    """What the server said of its tool when a run first called it: a later word loosens nothing.

    It is asked once, since it works out anew each time which tools there are.
    """
    if run is None:
        return await _describe(server, name, version)
    told = _TOLD.setdefault(run.state, WeakKeyDictionary()).setdefault(server, {})
    known = told.get((name, str(version)))
    if known is None:
        known = await _describe(server, name, version)
        if known.schema is not None:  # else it is not there, or not yet
            told[name, str(version)] = known
    return known


async def _describe(server: Any, name: str, version: Any) -> Tool:
    """What the server says of its tool; one that it does not know has no schema and no hint."""
    tool: Any = None
    with suppress(Exception):  # it does not exist, or the client may not see it: the server says so itself
        tool = await server.get_tool(name, version=version)
    schema = field(tool, "parameters")
    return Tool(
        name=name,
        server=server.name,
        schema=schema if isinstance(schema, Mapping) else None,
        description=field(tool, "description"),
        hint=either(field(tool, "annotations"), "read_only_hint", "readOnlyHint"),
        type="extension",
    )


def _connection(session: Any) -> Any:
    """What lives as long as the client's connection: the session in mcp 1.x, in 2.x the channel back, if any."""
    connection = getattr(session, "_connection", None)
    if connection is None:
        return session
    return connection.outbound if connection.has_standalone_channel else None


def _told(refusal: ProvenanceDenied) -> Any:
    raise loaded("fastmcp.exceptions").ToolError(str(refusal)) from None


def _aborted(refusal: ProvenanceDenied) -> BaseException:
    """An error of the protocol. The SDK's 1.x server lets one class through and makes all others results."""
    errors = loaded("mcp.shared.exceptions")
    return aborted(refusal, getattr(errors, "MCPError", errors.UrlElicitationRequiredError))


_REFUSAL: Final = Refusal(tell=_told, abort=_aborted)
ADAPTER: Final = Adapter(
    name="fastmcp",
    title="FastMCP",
    distribution="fastmcp",
    oldest=(3, 0),
    before=(5, 0),
    patches=(
        Wrap(SERVER, "FastMCP.call_tool", _call_tool),
        Wrap(PROVIDER, "FastMCPProviderTool._run", _delegate),
        Wrap(PROVIDER, "FastMCPProviderTool.run", _delegate),
    ),
    scopes=("fastmcp",),
    covers="every tool call of a server: requests, mounted servers, and calls by the host",
    misses="prompts and resources; the result of a tool that goes on as a background task",
    run="the host's, else the trace in `_meta.traceparent`, else the connection",
    step="none: order of start and result",
    tell="`ToolError`, a result with `isError` for the client",
    abort="a JSON-RPC error, code -32050",
    serves=True,
)
