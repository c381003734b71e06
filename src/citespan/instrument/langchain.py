"""LangChain and LangGraph: every tool call goes through `BaseTool.run` or `arun`, and is judged there.

| wrapped | what for |
|---|---|
| `BaseTool.run`, `arun` | judge, run the tool, or tell the model no |
| `_to_args_and_kwargs` of `BaseTool` and `Tool` | arguments are validated once, and the body gets the judged ones |
| `_format_output` | the raw result, before it becomes a message |
| `on_llm_end` of the callback managers | which calls one model response asked for: a step |
| `Pregel.stream`, `astream` | an invocation of a graph: a run; `invoke`, `batch` and events stand on these |
| `convert_mcp_tool_to_langchain_tool`, `create_session` | which MCP server a tool belongs to, as the host calls it |

An argument is judged as it was validated (`"5"` may have become `5`), or as the model wrote it where validation made an
object of it. A default that the model did not send is not judged, and neither is what the host injects.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from citespan.core.decision import ProvenanceDenied
from citespan.guard.trouble import report
from citespan.instrument._base import Refusal, call, call_async, stream, stream_async
from citespan.instrument._langchain_call import FRAME, SERVED, Frame, Served, hand_out_arguments, keep_result
from citespan.instrument._langgraph import conversation_of, note_response
from citespan.instrument._patch import Adapter, Patch, Version, Wrap
from citespan.instrument.mcp_client import name_server

TOOLS: Final = "langchain_core.tools.base"
#: how langgraph marks the tools by which one agent hands over to another: they move control, not data
HANDOFF: Final = "__handoff_destination"


def _run(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    frame, native = _frame(wrapped, tool, *args, **kwargs)

    def body(judged: Mapping[str, Any] | None) -> Any:
        if judged is not None:
            frame.hand_out(judged)
        with frame:
            return native(frame.given)

    if _passes(frame):
        return body(None)
    return call(ADAPTER, frame.read, body, Refusal(frame.tell, _abort), frame.learned)


async def _arun(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    frame, native = _frame(wrapped, tool, *args, **kwargs)

    async def body(judged: Mapping[str, Any] | None) -> Any:
        if judged is not None:
            frame.hand_out(judged)
        with frame:
            return await native(frame.given)

    if _passes(frame):
        return await body(None)
    return await call_async(ADAPTER, frame.read, body, Refusal(frame.tell, _abort), frame.learned)


def _frame(wrapped: Any, tool: Any, tool_input: Any, *rest: Any, **options: Any) -> tuple[Frame, Callable[[Any], Any]]:
    """A call, and how to let the framework make it."""
    frame = Frame(tool, tool_input, options.get("tool_call_id"), options.get("config"))
    return frame, lambda given: wrapped(given, *rest, **options)


def _passes(frame: Frame) -> bool:
    """Whether there is nothing to judge: a handoff, or arguments with which the framework runs no body."""
    return frame.error is not None or HANDOFF in (frame.tool.metadata or ())


def _abort(refusal: ProvenanceDenied) -> BaseException:
    """The refusal in the one form that graphs and their middleware let through; without langgraph it is that itself."""
    errors = sys.modules.get("langgraph.errors")
    return refusal if errors is None else _stopping(errors.GraphBubbleUp)(refusal.decision, refusal.hint)


def _interrupts(error: BaseException) -> bool:
    """Whether a tool asks a human, and is run from its start once there is an answer."""
    errors = sys.modules.get("langgraph.errors")
    return errors is not None and isinstance(error, errors.GraphInterrupt)


@cache
def _stopping(bubbles: Any) -> Any:
    class RunStopped(ProvenanceDenied, bubbles):  # type: ignore[misc]
        """A refusal that ends the run."""

        def __reduce__(self) -> Any:
            return ProvenanceDenied, (self.decision, self.hint)

    return RunStopped


# --- steps and runs


def _on_llm_end(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    try:
        note_response(args[0] if args else kwargs["response"])
    except Exception as error:
        report("could not read (so its step is its graph's) a model response in", "LangChain", error)
    return wrapped(*args, **kwargs)


def _stream(wrapped: Any, graph: Any, args: Any, kwargs: Any) -> Any:
    return stream(ADAPTER, lambda: conversation_of(graph, *args, **kwargs), lambda: wrapped(*args, **kwargs))


def _astream(wrapped: Any, graph: Any, args: Any, kwargs: Any) -> Any:
    return stream_async(ADAPTER, lambda: conversation_of(graph, *args, **kwargs), lambda: wrapped(*args, **kwargs))


# --- MCP


def _convert(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    session, tool = _source(*args, **kwargs)
    made, server = wrapped(*args, **kwargs), kwargs.get("server_name")
    if session is not None and server is not None:
        name_server(session, server)
    # on its own function: the tool itself is a model, whose copies and dumps must not change
    setattr(made.coroutine, SERVED, Served(server, tool.name))
    return made


def _source(session: Any, tool: Any, **_: Any) -> tuple[Any, Any]:
    return session, tool


@asynccontextmanager
async def _create_session(wrapped: Any, _: Any, args: Any, kwargs: Any) -> AsyncIterator[Any]:
    """A session for one call: the hook inside it calls the server what the host calls it."""
    async with wrapped(*args, **kwargs) as session:
        frame = FRAME.get()
        if frame is not None and frame.served is not None and frame.served.server is not None:
            name_server(session, frame.served.server)
        yield session


def _patches(_: Version) -> tuple[Patch, ...]:
    core = (
        Wrap(TOOLS, "BaseTool.run", _run),
        Wrap(TOOLS, "BaseTool.arun", _arun),
        Wrap(TOOLS, "BaseTool._to_args_and_kwargs", hand_out_arguments),
        Wrap("langchain_core.tools.simple", "Tool._to_args_and_kwargs", hand_out_arguments),
        Wrap(TOOLS, "_format_output", keep_result),
        Wrap("langchain_core.callbacks.manager", "CallbackManagerForLLMRun.on_llm_end", _on_llm_end),
        Wrap("langchain_core.callbacks.manager", "AsyncCallbackManagerForLLMRun.on_llm_end", _on_llm_end),
    )
    graphs = (
        Wrap("langgraph.pregel.main", "Pregel.stream", _stream),
        Wrap("langgraph.pregel.main", "Pregel.astream", _astream),
    )
    adapters = (
        Wrap("langchain_mcp_adapters.tools", "convert_mcp_tool_to_langchain_tool", _convert),
        Wrap("langchain_mcp_adapters.tools", "create_session", _create_session),
    )
    return (
        *core,
        *(graphs if find_spec("langgraph") else ()),
        *(adapters if find_spec("langchain_mcp_adapters") else ()),
    )


ADAPTER: Final = Adapter(
    name="langchain",
    title="LangChain",
    distribution="langchain-core",
    oldest=(1, 1),
    before=(2, 0),
    patches_of=_patches,
    scopes=("openinference.instrumentation.langchain", "opentelemetry.instrumentation.langchain"),
    covers="every tool that is a `BaseTool`: in `create_agent`, `ToolNode`, any graph, or called by hand",
    misses="tools that a model's provider runs; a tool class with an `invoke` or `run` of its own; `RemoteGraph`",
    run="an invocation of a graph; with a checkpointer its `thread_id` there",
    step="one model response; for models of other libraries the graph's superstep",
    tell='a `ToolMessage` with `status="error"`; without a tool call id the refusal is raised',
    abort="`ProvenanceDenied`, which is a `GraphBubbleUp` too",
    pauses=_interrupts,
)
