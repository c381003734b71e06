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

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import wrapt
from opentelemetry import context as otel_context

from citespan.core.decision import Decision, ProvenanceDenied, Violation
from citespan.guard.context import current_call
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.trouble import report
from citespan.instrument import NotActive, patch, require, unpatch

MODULE: Final = "mcp.client.session"
SCOPE: Final = "mcp-python-sdk"  # the tracer of the SDK itself (2.x), whose client span is a child of ours
OLDEST: Final = (1, 30)
BEFORE: Final = (3, 0)

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


def activate() -> None:
    """Wrap the client session, importing it. Twice is once.

    Raises:
        NotActive: mcp is missing, or not a version from 1.30 up to, and without, 3.0.
    """
    require("mcp", OLDEST, BEFORE)
    _wrap(import_module(MODULE))


def activate_when_imported(report: Callable[[NotActive], None] | None = None) -> None:
    """Wrap the client session once the program imports it, without importing it here.

    Args:
        report: told why it could not be wrapped; without it the import itself fails: nothing runs unguarded.
    """

    def imported(module: Any) -> None:
        try:
            require("mcp", OLDEST, BEFORE)
            _wrap(module)
        except NotActive as reason:
            if report is None:
                raise
            report(reason)

    wrapt.register_post_import_hook(imported, MODULE)


def deactivate() -> None:
    """Put the original methods back, by identity; nothing happens if they were never wrapped.

    Raises:
        UsageError: somebody wrapped one of them again since.
    """
    if (module := sys.modules.get(MODULE)) is not None:
        for method, wrapper in _WRAPPERS.items():
            unpatch(module.ClientSession, method, wrapper)
    registry.enforced_scopes.discard(SCOPE)


def name_server(session: Any, name: str) -> None:
    """Say which server a session talks to.

    A server names itself, and a dishonest one can take the name of a trusted one. The host knows what it
    connected to; its word wins.
    """
    _catalog(session).server = name


def _wrap(module: Any) -> None:
    for method, wrapper in _WRAPPERS.items():
        patch(module.ClientSession, method, wrapper)
    registry.enforced_scopes.add(SCOPE)


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
    current = current_call()
    try:
        tool = await _describe(session, name)
        if current is not None and current.covers(name, arguments, tool.server):
            return await wrapped(*args, **kwargs)
        ticket = begin(tool, arguments)
    except ProvenanceDenied as refusal:
        if refusal.decision.abort or refusal.decision.on_violation == "abort":
            raise
        return _refused(refusal)
    token = otel_context.attach(ticket.context)
    try:
        result = await wrapped(name, None if arguments is None else ticket.arguments, *rest, **options)
    except BaseException as error:
        ticket.fail(error)
        raise
    finally:
        otel_context.detach(token)
    try:
        learned = _read(result)
    except Exception as error:  # the body ran: its result goes to the caller, but nobody can vouch for its content
        ticket.unrecorded(f"the result could not be read: {type(error).__name__}")
        return result
    if learned is None:
        ticket.failed("the server answered with an error or asked for input")
    else:
        ticket.finish(learned[0])
    return result


_WRAPPERS: Final[dict[str, Callable[..., Any]]] = {
    "call_tool": _call_tool,
    "list_tools": _list_tools,
    "initialize": _initialize,
}


def _bind(
    name: str, arguments: Mapping[str, Any] | None = None, *rest: Any, **options: Any
) -> tuple[str, Mapping[str, Any] | None, tuple[Any, ...], dict[str, Any]]:
    """The parameters of `call_tool`, which have the same names and order in 1.x and 2.x."""
    return name, arguments, rest, options


def _catalog(session: Any) -> Catalog:
    """The session's catalog, kept on the session so that it lives and dies with it."""
    catalog: Catalog = vars(session).setdefault(_KEY, Catalog())
    return catalog


async def _describe(session: Any, name: str) -> Tool:
    """What is known of a tool. A mistake in here denies the call (design section 5.5)."""
    try:
        return await _look_up(_catalog(session), session, name)
    except Exception as error:
        report("could not read what an MCP session knows of", name, error)
        broken = Violation("guard", (), f"guard=the MCP adapter failed ({type(error).__name__})")
        raise ProvenanceDenied(
            Decision(name, None, True, "blocked", "enforce", "tell", (), (broken,), 0, "", True)
        ) from None


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
        page = sys.modules[MODULE].types.PaginatedRequestParams(cursor=cursor)
        listing = await session.list_tools(params=page)


def _refused(refusal: ProvenanceDenied) -> Any:
    """The SDK's own way to say no: a result that is an error, with the reason and what to observe first."""
    content = [{"type": "text", "text": str(refusal)}]
    return sys.modules[MODULE].types.CallToolResult.model_validate({"content": content, "isError": True})


def _read(result: Any) -> tuple[Any] | None:
    """What a result says, in a tuple of one; None if it is an error or not the result of the call at all."""
    failed = _either(result, "is_error", "isError")
    if failed is not False:
        return None
    structured = _either(result, "structured_content", "structuredContent")
    if structured is not None:
        return (structured,)
    items = [item for block in result.content if (item := _item(block)) is not None]
    return (items[0],) if len(items) == 1 and isinstance(items[0], str) else (items,)


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
