"""Pydantic AI: every function tool is judged where the framework hands it to its toolset, inside its hooks and span.

Wrapped, from 1.89 on: `ToolManager._raw_execute` (the call: function tools, MCP servers, tools of any toolset, those
that code of the agent calls through `handle_call`) and `Agent.iter` (the run: every way to run an agent goes through
it).

What is judged is the JSON that the model wrote. What the body gets are Python objects, which the framework's validator
made of that JSON before. So "the body gets the copy that was judged" means here:

- an argument that is the same JSON before and after validation is handed over as the judged copy itself;
- one of which the validator, or a hook of the host, made something else (a model, a date, a default, another value) is
  handed over as that: it is the work of the host's code on the judged JSON, as what the body then does with it is;
- JSON that could be read in two ways (a key that is there twice) or in none does not say what the validator made of
  it: then what the body would get is judged.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from citespan.core.decision import ProvenanceDenied
from citespan.guard.context import current_run
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run
from citespan.instrument._base import Call, Conversation, Learned, Refusal, Value, call_async, in_run, tool_schema
from citespan.instrument._patch import Adapter, Wrap, loaded

NAME: Final = "pydantic-ai"
#: tools with which the model loads definitions of other tools: like a handoff, they only change what it may call
LOADING: Final = frozenset({"tool-search", "capability-load"})
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


async def _execute(wrapped: Any, _manager: Any, args: Any, kwargs: Any) -> Any:
    validated, options = _bind_execute(*args, **kwargs)
    definition = validated.tool.tool_def
    if definition.kind == "output" or getattr(definition, "tool_kind", None) in LOADING:
        return await wrapped(*args, **kwargs)
    unchanged: set[str] = set()

    def read() -> Call:
        written = _written(validated)
        unchanged.update(name for name, value in written.items() if _same(value, validated.validated_args.get(name)))
        ctx = validated.ctx
        return Call(
            _tool(validated.tool),
            written,
            validated.call.tool_call_id,
            # a conversation counts the steps of each of its runs anew
            f"{getattr(ctx, 'run_id', None)}:{ctx.run_step}",
            reparsed=True,
        )

    def body(judged: Any) -> Any:
        handed = {
            name: judged[name] if name in unchanged and name in judged else value
            for name, value in validated.validated_args.items()
        }
        return wrapped(replace(validated, validated_args=handed), **options)

    return await call_async(ADAPTER, read, body, _REFUSAL, lambda result: _learned(validated.tool, result))


def _bind_execute(validated: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The parameters of `_raw_execute`."""
    return validated, options


def _written(validated: Any) -> Mapping[str, Any]:
    """The arguments as the model wrote them; as validated, where its JSON does not say clearly what they are."""
    arguments = validated.call.args or {}
    if isinstance(arguments, str):
        try:
            arguments = _ONCE.decode(arguments)
        except (ValueError, RecursionError):
            arguments = None
    found: Mapping[str, Any] = arguments if isinstance(arguments, dict) else validated.validated_args
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


_ONCE: Final = json.JSONDecoder(object_pairs_hook=_once)


def _same(written: Any, validated: Any) -> bool:
    """Whether validation left a JSON value as it was, in its type as well."""
    if type(written) is not type(validated):
        return False
    if type(written) is dict:
        return written.keys() == validated.keys() and all(_same(written[key], validated[key]) for key in written)
    if type(written) is list:
        return len(written) == len(validated) and all(map(_same, written, validated))
    return type(written) in _SCALARS and bool(written == validated)


class Origin(NamedTuple):
    """The MCP server behind a tool, and the server's own name for the tool."""

    server: str | None
    name: str


def _tool(tool: Any) -> Tool:
    """What is known of a tool. One of an MCP server has the name that its MCP client calls it by."""
    definition = tool.tool_def
    hints = (definition.metadata or {}).get("annotations")
    hint = hints.get("readOnlyHint") if isinstance(hints, Mapping) else None
    found = Tool(
        name=definition.name,
        schema=tool_schema(definition.parameters_json_schema),
        description=definition.description,
        hint=hint if type(hint) is bool else None,
    )
    origin = _origin(tool)
    return found if origin is None else found._replace(name=origin.name, server=origin.server, type="extension")


def _origin(tool: Any) -> Origin | None:
    """Where a tool comes from, through the toolsets that rename it; None if that is no MCP server."""
    name, toolset = tool.tool_def.name, tool.toolset
    while toolset is not None:
        prefix = getattr(toolset, "prefix", None) or getattr(toolset, "tool_prefix", None)
        renamed = getattr(toolset, "name_map", None)
        name = name.removeprefix(f"{prefix}_") if isinstance(prefix, str) else name
        name = renamed.get(name, name) if isinstance(renamed, Mapping) else name
        if hasattr(type(toolset), "server_info"):
            # the host knows what it connected to; a dishonest server can take the name of a trusted one
            given = getattr(toolset, "_explicit_id", getattr(toolset, "id", None))
            # `server_info` raises AttributeError where the server did not say who it is
            return Origin(given or getattr(getattr(toolset, "server_info", None), "name", None), name)
        toolset = getattr(toolset, "wrapped", None)
    return None


def _learned(tool: Any, result: Any) -> Learned:
    """What the model reads of a result. An MCP server's wrapper of a list is put back: policies name its field."""
    value = result.return_value if isinstance(result, loaded("pydantic_ai.messages").ToolReturn) else result
    schema = getattr(tool.tool_def, "return_schema", None) or {}
    wrapping = list(schema.get("properties") or ()) == ["result"] and not isinstance(value, Mapping)
    return Value({"result": value} if wrapping and _origin(tool) is not None else value)


@asynccontextmanager
async def _iter(wrapped: Any, agent: Any, args: Any, kwargs: Any) -> AsyncIterator[Any]:
    with in_run(ADAPTER, lambda: _conversation(agent, *args, **kwargs)) as run:
        async with wrapped(*args, **kwargs) as agent_run:
            try:
                yield agent_run
            finally:
                _keep(run, agent_run)


def _keep(run: Run, agent_run: Any) -> None:
    """Keep what a run knows for the runs that go on with its messages: they name its conversation, which was new."""
    key = getattr(agent_run, "conversation_id", None)
    # nothing that is worth a place if no tool was called
    if key and not run.kept and current_run() is run and (run.state.ledger.moment() or run.state.marks):
        registry.conversations.join(NAME, key, run)


def _conversation(
    agent: Any,
    user_prompt: Any = None,
    *,
    conversation: Any = None,
    message_history: Any = None,
    conversation_id: str | None = None,
    **_: Any,
) -> Conversation:
    """Its key is the one that the framework will choose, if anything names it: else the conversation is new."""
    history = tuple(message_history or getattr(conversation, "messages", None) or ())
    key = conversation_id or getattr(conversation, "conversation_id", None)
    if key is None:
        known = (getattr(message, "conversation_id", None) for message in reversed(history))
        key = next((found for found in known if found is not None), None)
    texts = [text for message in history for text in _said(message)]
    return Conversation(None if key == "new" else key, agent.name, (*texts, *_texts(user_prompt)))


def _said(message: Any) -> list[str]:
    """What a human says in a message. A tool's result may come with a user's part: such a message says nothing."""
    if message.kind != "request" or any(hasattr(part, "tool_call_id") for part in message.parts):
        return []
    return [text for part in message.parts if part.part_kind == "user-prompt" for text in _texts(part.content)]


def _texts(content: Any) -> list[str]:
    """Plain texts of a prompt: tagged texts, documents and files are what the application adds."""
    parts = content if isinstance(content, list | tuple) else [content]
    return [part for part in parts if type(part) is str]


def _tell(refusal: ProvenanceDenied) -> str:
    """The tool failed, and why. Before 2.16 no exception says so without using up a retry: there it is the result."""
    failed = getattr(loaded("pydantic_ai.exceptions"), "ToolFailed", None)
    if failed is not None:
        raise failed(str(refusal)) from None
    return str(refusal)


_REFUSAL: Final = Refusal(tell=_tell)
ADAPTER: Final = Adapter(
    name=NAME,
    title="Pydantic AI",
    distribution="pydantic-ai-slim",
    oldest=(1, 89),
    before=(3, 0),
    # by the name that every version has for it, so that one which lacks what is wrapped is noticed, and refused
    patches=(
        Wrap("pydantic_ai.agent", "ToolManager._raw_execute", _execute),
        Wrap("pydantic_ai.agent", "Agent.iter", _iter),
    ),
    scopes=(NAME,),
    covers="every function tool of any toolset, MCP servers among them, however the agent is run, and of agents that "
    "a tool calls",
    misses="tools that the model's provider runs (web search, code execution) and deferred tools that the caller runs; "
    "output tools and the search for tools are no tools; a realtime session is no run, so nothing is citable in it",
    run="the conversation: its id, else that of the messages that a run goes on with; else one per run",
    step="one model response (`ctx.run_step`)",
    tell="a tool result whose outcome is `failed`; before `ToolFailed` existed, the reason, as the result",
    abort="`ProvenanceDenied` itself, from `run`, `run_sync`, `run_stream`, `iter`",
)
