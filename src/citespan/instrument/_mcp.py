"""What the adapters of MCP share: what a listing and a result say, and which run a request to a server belongs to.

How a result is read, in this order:

- `isError`: teaches nothing. Neither does what is no result of a tool (a request for input, a task, an extension's).
- structured content, as the server sent it. Servers built on the SDK send a scalar as `{"result": ...}`, and
  it stays so: the ledger calls a bare scalar `result` too, so a policy names one field whichever way it came.
- one text block: its text, whose field is again `tool.result`. More blocks: a list of texts; a resource gives
  its `uri` and `name`, an image or a sound gives nothing.

Whose run a request to a server is, first match wins:

| | the run |
|---|---|
| the handler's OTel Context has one | that one: the server's host opened it, or the client is in this process |
| `_meta.traceparent` names a trace | the trace's: one run of a client is one trace, whatever connections it uses |
| the transport has a connection | the connection's |
| none of these | none, so nothing can be cited (design section 2: no ledger, no citation) |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from citespan.guard.context import RUN, current_run, with_value
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run
from citespan.instrument._base import Failed, Learned, Unread, Value

MAX_PAGES: Final = 100
LISTING_SECONDS: Final = 10.0
_CATALOG: Final = "_citespan_catalog"
_RUN: Final = "_citespan_run"
_CARRIER: Final = TraceContextTextMapPropagator()


class Catalog:
    """What was told of a server's tools, as it was first told: a later listing loosens nothing.

    Args:
        server: its name.
    """

    def __init__(self, server: str | None = None) -> None:
        self.server = server
        self.tools: dict[str, Tool] = {}
        self.listed = False
        self.lock: Any = None

    def learn(self, listing: Any) -> None:
        """Add the tools of one page of `tools/list`; known names stay as they are."""
        for tool in field(listing, "tools") or ():
            name = field(tool, "name")
            if name not in self.tools:
                self.tools[name] = Tool(
                    name=name,
                    schema=either(tool, "input_schema", "inputSchema"),
                    description=field(tool, "description"),
                    hint=either(field(tool, "annotations"), "read_only_hint", "readOnlyHint"),
                    type="extension",
                )

    def tool(self, name: str) -> Tool:
        """A tool with the server it belongs to; one that no listing named has no schema and no hint."""
        return self.tools.get(name, Tool(name=name, type="extension"))._replace(server=self.server)

    async def walk(self, page: Callable[[str | None], Awaitable[Any]]) -> None:
        """Follow the pages of `tools/list`, at most `MAX_PAGES` of them: a server could go on for ever."""
        cursor: str | None = None
        for _ in range(MAX_PAGES + 1):
            listing = await page(cursor)
            self.learn(listing)
            cursor = either(listing, "next_cursor", "nextCursor")
            if not cursor:
                return


def catalog(owner: Any, server: str | None = None) -> Catalog:
    """The catalog that is kept on a session or a server, so that it lives and dies with it."""
    found: Catalog = vars(owner).setdefault(_CATALOG, Catalog(server))
    return found


def read(result: Any) -> Learned:
    """What a result says: an object of the SDK, or what goes over the wire."""
    if either(result, "is_error", "isError"):
        return Failed("the tool answered with an error")
    content = field(result, "content")
    if content is None or hasattr(result, "input_required"):
        return Unread("not the tool's result: a request for input, or a task that goes on")
    structured = either(result, "structured_content", "structuredContent")
    if structured is not None:
        return Value(structured)
    items = [item for block in content if (item := _item(block)) is not None]
    return Value(items[0] if len(items) == 1 and isinstance(items[0], str) else items)


def _item(block: Any) -> str | dict[str, str] | None:
    if field(block, "type") == "text":
        text: str = field(block, "text")
        return text
    resource = field(block, "resource") or block
    named = {key: str(value) for key in ("uri", "name") if (value := field(resource, key)) is not None}
    return named or None


def field(holder: Any, name: str) -> Any:
    """A field of an object of the SDK, or of what goes over the wire; None if it has none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def either(holder: Any, modern: str, wire: str) -> Any:
    """A field by its name in 2.x, else by its name in 1.x and on the wire; None if the holder has neither."""
    if isinstance(holder, Mapping):
        return holder.get(wire)
    return getattr(holder, modern) if hasattr(holder, modern) else getattr(holder, wire, None)


def carry(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """`_meta` of a request with the trace context of the current span, unless it has one."""
    carried = dict(meta or {})
    if "traceparent" not in carried:
        _CARRIER.inject(carried)
    return carried


def serving(meta: Any, connection: Any) -> Context:
    """The context that a request to a server is judged and served under: its run, and its trace.

    Args:
        meta: `_meta` of the request, as a mapping or the SDK's object. connection: an object that lives as long as
            the connection of the client, None where there is none.
    """
    context = otel_context.get_current()
    remote = _remote(meta)
    here = trace.get_current_span(context).get_span_context()
    if remote.is_valid and remote.trace_id != here.trace_id:
        context = trace.set_span_in_context(trace.NonRecordingSpan(remote), context)
    if current_run(context) is not None:
        return context
    if remote.is_valid:
        run = Run()
        registry.conversations.join("mcp", f"{remote.trace_id:032x}", run)
    elif connection is not None:
        run = vars(connection).setdefault(_RUN, Run(kept=True))
    else:
        return context
    # not `run.attach`: a server is no agent, so it opens no `invoke_agent` span, and nothing is nested
    return with_value(RUN, run, context)


def _remote(meta: Any) -> trace.SpanContext:
    """The client's span, as `_meta` names it; an invalid one where it names none."""
    if not isinstance(meta, Mapping):
        meta = getattr(meta, "model_extra", None) or {}
    carrier = {key: meta[key] for key in ("traceparent", "tracestate") if type(meta.get(key)) is str}
    return trace.get_current_span(_CARRIER.extract(carrier, Context())).get_span_context()
