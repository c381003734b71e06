"""MCP client: every `ClientSession.call_tool` is judged before the request leaves the process.

Wrapped, in mcp 1.30 and 2.x: `ClientSession.call_tool` (the call), `list_tools` (what is known of the tools)
and `initialize` (the server's name). Everything above a session calls these: `Client`, `ClientSessionGroup`,
the MCP support of agent frameworks.

How a result is read, in this order:

- `isError`: teaches nothing. Neither does what is no `CallToolResult` (an input request, an extension's).
- structured content, as the server sent it. Servers built on the SDK send a scalar as `{"result": ...}`, and
  it stays so: the ledger calls a bare scalar `result` too, so a policy names one field whichever way it came.
- one text block: its text, whose field is again `tool.result`. More blocks: a list of texts; a resource gives
  its `uri` and `name`, an image or a sound gives nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from citespan.core.decision import ProvenanceDenied
from citespan.guard.ports import Tool
from citespan.instrument._base import Call, Failed, Learned, Refusal, Value, call_async
from citespan.instrument._patch import Adapter, Wrap, loaded

MODULE: Final = "mcp.client.session"
SCOPE: Final = "mcp-python-sdk"  # the tracer of the SDK itself (2.x), whose client span is a child of ours
MAX_PAGES: Final = 100
LISTING_SECONDS: Final = 10.0
_KEY: Final = "_citespan_catalog"


class Catalog:
    """What one session told of its server, as it was first told: a later listing loosens nothing."""

    def __init__(self) -> None:
        self.server: str | None = None
        self.tools: dict[str, Tool] = {}
        self.listed = False
        self.lock: Any = None

    def learn(self, listing: Any) -> None:
        """Add the tools of one page of `tools/list`; known names stay as they are."""
        for tool in listing.tools:
            if tool.name not in self.tools:
                annotations = getattr(tool, "annotations", None)
                self.tools[tool.name] = Tool(
                    name=tool.name,
                    schema=_either(tool, "input_schema", "inputSchema"),
                    description=tool.description,
                    hint=_either(annotations, "read_only_hint", "readOnlyHint"),
                    type="extension",
                )

    def tool(self, name: str) -> Tool:
        """A tool with the server it belongs to; one that no listing named has no schema and no hint."""
        return self.tools.get(name, Tool(name=name, type="extension"))._replace(server=self.server)


def name_server(session: Any, name: str) -> None:
    """Say which server a session talks to.

    A server names itself, and a dishonest one can take the name of a trusted one. The host knows what it
    connected to; its word wins.
    """
    _catalog(session).server = name


async def _initialize(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    result = await wrapped(*args, **kwargs)
    catalog = _catalog(session)
    if catalog.server is None:
        catalog.server = _server_name(_either(result, "server_info", "serverInfo"))
    return result


async def _list_tools(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    listing = await wrapped(*args, **kwargs)
    _catalog(session).learn(listing)
    return listing


async def _call_tool(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    name, arguments, rest, options = _bind(*args, **kwargs)
    found = await _describe(session, name)

    def read() -> Call:
        if isinstance(found, Exception):
            raise found
        return Call(found, arguments)

    def send(judged: Any) -> Any:
        return wrapped(name, None if arguments is None else judged, *rest, **options)

    return await call_async(ADAPTER, read, send, _REFUSAL, _read)


def _bind(
    name: str, arguments: Mapping[str, Any] | None = None, *rest: Any, **options: Any
) -> tuple[str, Mapping[str, Any] | None, tuple[Any, ...], dict[str, Any]]:
    """The parameters of `call_tool`, which have the same names and order in 1.x and 2.x."""
    return name, arguments, rest, options


def _catalog(session: Any) -> Catalog:
    """The session's catalog, kept on the session so that it lives and dies with it."""
    catalog: Catalog = vars(session).setdefault(_KEY, Catalog())
    return catalog


async def _describe(session: Any, name: str) -> Tool | Exception:
    """What is known of a tool, or why nothing is: that denies the call (design section 5.5)."""
    try:
        return await _look_up(_catalog(session), session, name)
    except Exception as error:
        return error


async def _look_up(catalog: Catalog, session: Any, name: str) -> Tool:
    """The tool as first listed. If no listing named it yet, the server is asked, once per session."""
    import anyio

    if catalog.server is None:
        catalog.server = _server_name(getattr(session, "server_info", None))
    if name not in catalog.tools and not catalog.listed:
        catalog.lock = catalog.lock or anyio.Lock()
        async with catalog.lock:
            if not catalog.listed:
                # A server that cannot list is still callable: its tools have no schema and no hint.
                with suppress(Exception), anyio.move_on_after(LISTING_SECONDS):
                    await _list_all(session, catalog)
                catalog.listed = True
    return catalog.tool(name)


async def _list_all(session: Any, catalog: Catalog) -> None:
    """Follow the pages of `tools/list`, at most `MAX_PAGES` of them: a server could go on for ever."""
    listing = await session.list_tools()
    for _ in range(MAX_PAGES):
        catalog.learn(listing)
        cursor = _either(listing, "next_cursor", "nextCursor")
        if not cursor:
            return
        page = loaded(MODULE).types.PaginatedRequestParams(cursor=cursor)
        listing = await session.list_tools(params=page)


def _refused(refusal: ProvenanceDenied) -> Any:
    """The SDK's own way to say no: a result that is an error, with the reason and what to observe first."""
    content = [{"type": "text", "text": str(refusal)}]
    return loaded(MODULE).types.CallToolResult.model_validate({"content": content, "isError": True})


def _read(result: Any) -> Learned:
    """What a result says."""
    if _either(result, "is_error", "isError") is not False:
        return Failed("the server answered with an error or asked for input")
    structured = _either(result, "structured_content", "structuredContent")
    if structured is not None:
        return Value(structured)
    items = [item for block in result.content if (item := _item(block)) is not None]
    return Value(items[0] if len(items) == 1 and isinstance(items[0], str) else items)


def _item(block: Any) -> str | dict[str, str] | None:
    if block.type == "text":
        text: str = block.text
        return text
    resource = getattr(block, "resource", block)
    named = {key: str(value) for key in ("uri", "name") if (value := getattr(resource, key, None)) is not None}
    return named or None


def _either(holder: Any, modern: str, legacy: str) -> Any:
    """A field by its name in 2.x, else by its name in 1.x; None if the holder has neither."""
    return getattr(holder, modern, getattr(holder, legacy, None))


def _server_name(info: Any) -> str | None:
    name = getattr(info, "name", None)
    return name if isinstance(name, str) and name else None


_REFUSAL: Final = Refusal(tell=_refused)
ADAPTER: Final = Adapter(
    name="mcp",
    title="MCP client",
    distribution="mcp",
    oldest=(1, 30),
    before=(3, 0),
    patches=(
        Wrap(MODULE, "ClientSession.call_tool", _call_tool),
        Wrap(MODULE, "ClientSession.list_tools", _list_tools),
        Wrap(MODULE, "ClientSession.initialize", _initialize),
    ),
    scopes=(SCOPE,),
    covers="every tool call of a `ClientSession`, and of all that stands on one",
    misses="the server's own sampling and elicitation requests",
    run="the run that is current",
    step="none: order of start and result",
    tell="a result with `isError`",
    abort="`ProvenanceDenied` from `call_tool`",
)
