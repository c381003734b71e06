"""MCP client: every `ClientSession.call_tool` is judged before the request leaves the process.

Wrapped, in mcp 1.30 and 2.x: `ClientSession.call_tool` (the call), `list_tools` (what is known of the tools)
and `initialize` (the server's name). Everything above a session calls these: `Client`, `ClientSessionGroup`,
the MCP support of agent frameworks. How a result is read: see `citespan.instrument._mcp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from citespan.core.decision import ProvenanceDenied
from citespan.guard.ports import Tool
from citespan.instrument import _mcp
from citespan.instrument._base import Call, Refusal, call_async
from citespan.instrument._mcp import Catalog, carry, catalog, either, read
from citespan.instrument._patch import Adapter, Patch, Version, Wrap, loaded

MODULE: Final = "mcp.client.session"
SCOPE: Final = "mcp-python-sdk"  # the tracer of the SDK itself (2.x), whose client span is a child of ours


def name_server(session: Any, name: str) -> None:
    """Say which server a session talks to.

    A server names itself, and a dishonest one can take the name of a trusted one. The host knows what it
    connected to; its word wins.
    """
    catalog(session).server = name


async def _initialize(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    result = await wrapped(*args, **kwargs)
    known = catalog(session)
    if known.server is None:
        known.server = _server_name(either(result, "server_info", "serverInfo"))
    return result


async def _list_tools(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    listing = await wrapped(*args, **kwargs)
    catalog(session).learn(listing)
    return listing


async def _call_tool(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    name, arguments, rest, options = _bind(*args, **kwargs)
    found = await _describe(session, name)

    def called() -> Call:
        if isinstance(found, Exception):
            raise found
        return Call(found, arguments, reparsed=True)

    def send(judged: Any) -> Any:
        return wrapped(name, None if arguments is None else judged, *rest, **options)

    return await call_async(ADAPTER, called, send, _REFUSAL, read)


async def _call_tool_1(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    """As `_call_tool`, for mcp 1.x, whose requests carry no trace context of their own (SEP-414)."""

    def carrying(*args: Any, meta: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        return wrapped(*args, meta=carry(meta) or None, **kwargs)

    return await _call_tool(carrying, session, args, kwargs)


def _bind(
    name: str, arguments: Mapping[str, Any] | None = None, *rest: Any, **options: Any
) -> tuple[str, Mapping[str, Any] | None, tuple[Any, ...], dict[str, Any]]:
    """The parameters of `call_tool`, which have the same names and order in 1.x and 2.x."""
    return name, arguments, rest, options


async def _describe(session: Any, name: str) -> Tool | Exception:
    """What is known of a tool, or why nothing is: that denies the call (design section 5.5)."""
    try:
        return await _look_up(catalog(session), session, name)
    except Exception as error:
        return error


async def _look_up(known: Catalog, session: Any, name: str) -> Tool:
    """The tool as first listed. If no listing named it yet, the server is asked, once per session."""
    import anyio

    if known.server is None:
        known.server = _server_name(getattr(session, "server_info", None))
    if name not in known.tools and not known.listed:
        known.lock = known.lock or anyio.Lock()
        async with known.lock:
            if not known.listed:
                # A server that cannot list is still callable: its tools have no schema and no hint.
                with suppress(Exception), anyio.move_on_after(_mcp.LISTING_SECONDS):
                    await known.walk(lambda cursor: _page(session, cursor))
                known.listed = True
    return known.tool(name)


def _page(session: Any, cursor: str | None) -> Any:
    if cursor is None:
        return session.list_tools()
    return session.list_tools(params=loaded(MODULE).types.PaginatedRequestParams(cursor=cursor))


def _refused(refusal: ProvenanceDenied) -> Any:
    """The SDK's own way to say no: a result that is an error, with the reason and what to observe first."""
    content = [{"type": "text", "text": str(refusal)}]
    return loaded(MODULE).types.CallToolResult.model_validate({"content": content, "isError": True})


def _server_name(info: Any) -> str | None:
    name = getattr(info, "name", None)
    return name if isinstance(name, str) and name else None


def _patches(version: Version) -> tuple[Patch, ...]:
    return (
        Wrap(MODULE, "ClientSession.call_tool", _call_tool if version >= (2, 0) else _call_tool_1),
        Wrap(MODULE, "ClientSession.list_tools", _list_tools),
        Wrap(MODULE, "ClientSession.initialize", _initialize),
    )


_REFUSAL: Final = Refusal(tell=_refused)
ADAPTER: Final = Adapter(
    name="mcp",
    title="MCP client",
    distribution="mcp",
    oldest=(1, 30),
    before=(3, 0),
    patches_of=_patches,
    scopes=(SCOPE,),
    covers="every tool call of a `ClientSession`, and of all that stands on one",
    misses="the server's own sampling and elicitation requests",
    run="the run that is current",
    step="none: order of start and result",
    tell="a result with `isError`",
    abort="`ProvenanceDenied` from `call_tool`",
)
