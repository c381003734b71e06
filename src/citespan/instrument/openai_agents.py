"""OpenAI Agents SDK: every function tool is judged where the SDK asks it for its invoker, also one built before.

Wrapped, from 0.11 on:

- `FunctionTool.on_invoke_tool`, by a data descriptor: function tools, MCP tools, agents as tools. Arguments come as
  JSON text; the body gets the judged copy, as JSON text again. What is no JSON object cannot be judged: it is denied.
- `maybe_invoke_function_tool_failure_error_function`: it makes a text of what a body raised, which teaches nothing.
  Older versions do that in a closure, where nobody can see it.
- `MCPUtil.invoke_mcp_tool`: what an MCP server answered, before the SDK makes texts of it.
- `_FunctionToolBatchExecutor.execute`: the calls of one model response. `AgentRunner.run` and `.run_streamed`: runs.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import uuid4

import wrapt
from opentelemetry import context as otel_context

from citespan.core.decision import ProvenanceDenied
from citespan.guard.context import current_call, current_run
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run
from citespan.guard.trouble import report
from citespan.instrument._base import (
    Call,
    Conversation,
    Failed,
    Learned,
    Refusal,
    Unread,
    Value,
    call_async,
    in_run,
    open_run,
    tool_schema,
)
from citespan.instrument._mcp import either
from citespan.instrument._mcp import read as read_answer
from citespan.instrument._patch import Adapter, Place, Wrap, loaded

NAME: Final = "openai-agents"
INVOKER: Final = "on_invoke_tool"
#: what is being done in a context: a step's key (str) between a model response and its calls, a `Trial` in a body
_HERE: Final = otel_context.create_key("citespan-openai-agents")
_GUARDED: Final = "_citespan_guarded"
_CONVERSATION: Final = "_citespan_conversation"
_steps: Final = itertools.count()


class Trial:
    """One run of a tool's body, as what the SDK does around it tells of it.

    Args:
        context: the SDK's context of the call. failed: the body raised. answer: what an MCP server sent, if it did.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.failed = False
        self.answer: Any = None


class Guarded(wrapt.FunctionWrapper):  # type: ignore[type-arg]
    """A tool's invoker, judged. It says it is the SDK's own, which looks at its class, and copies as what it wraps."""

    def __init__(self, tool: Any, invoker: Any) -> None:
        super().__init__(invoker, functools.partial(_invoke, tool))
        self._self_tool = tool

    def __copy__(self) -> Any:
        return self.__wrapped__

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__wrapped__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _same, (self.__wrapped__,)


def _same(invoker: Any) -> Any:
    return invoker


class Invoker:
    """The descriptor: the tool keeps its own invoker, and whoever asks for it gets one that judges, always the same.

    Args:
        hidden: what a class of the program's own has in this place, which would hide the descriptor of its base.
    """

    def __init__(self, hidden: Any = None) -> None:
        self._hidden = hidden

    def __get__(self, tool: Any, owner: Any = None) -> Any:
        if tool is None or _descriptor(type(tool)) is not self:  # `super()` asks for what a base has itself
            return self._hidden_of(tool, owner)
        own = vars(tool)
        kept_there = INVOKER in own and not hasattr(type(self._hidden), "__set__")
        invoker = own[INVOKER] if kept_there else self._hidden_of(tool, owner)
        if NAME not in registry.adapters:
            return invoker
        kept = own.get(_GUARDED)
        # a copy of a tool has the attributes of the one it was made of
        if type(kept) is not Guarded or kept._self_tool is not tool or kept.__wrapped__ != invoker:
            kept = own[_GUARDED] = Guarded(tool, invoker)
        return kept

    def _hidden_of(self, tool: Any, owner: Any) -> Any:
        if self._hidden is None:
            raise AttributeError(INVOKER)  # as without it: a dataclass field without a default
        return self._hidden.__get__(tool, owner) if hasattr(type(self._hidden), "__get__") else self._hidden

    def __set__(self, tool: Any, invoker: Any) -> None:
        while type(invoker) is Guarded:  # `dataclasses.replace` hands over what it read
            invoker = invoker.__wrapped__
        if hasattr(type(self._hidden), "__set__"):
            self._hidden.__set__(tool, invoker)
        else:
            vars(tool)[INVOKER] = invoker


def _descriptor(kind: type) -> Any:
    return next(vars(each)[INVOKER] for each in kind.__mro__ if INVOKER in vars(each))


def _adopt(kind: type) -> None:
    """Put the descriptor in front of an invoker that a class of the program's own has as a method."""
    owner = next(each for each in kind.__mro__ if INVOKER in vars(each))
    if type(vars(owner)[INVOKER]) is not Invoker:
        setattr(owner, INVOKER, Invoker(vars(owner)[INVOKER]))


def _made(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    _adopt(type(tool))
    return wrapped(*args, **kwargs)


class Served(NamedTuple):
    """The MCP server and tool behind a function tool."""

    server: Any
    tool: Any


def _served(invoker: Any) -> Served | None:
    bound = getattr(invoker, "_invoke_tool_impl", None)
    if isinstance(bound, functools.partial) and getattr(bound.func, "__name__", "") == "invoke_mcp_tool":
        return Served(*bound.args[:2])
    return None


async def _invoke(tool: Any, wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    context, text = _bind_invoke(*args, **kwargs)
    trial, served = Trial(context), _served(wrapped)

    def read() -> Call:
        here = otel_context.get_value(_HERE)
        return Call(
            _tool(tool, served),
            _arguments(text),
            getattr(context, "tool_call_id", None),
            here if isinstance(here, str) else None,
            reparsed=True,
        )

    async def body(judged: Any) -> Any:
        if getattr(context, "_function_tool_arguments", None) is not None:
            context._function_tool_arguments = None  # parsed by the SDK from the text that was not judged
        token = otel_context.attach(otel_context.set_value(_HERE, trial))
        try:
            return await wrapped(context, text if judged is text or not text else json.dumps(judged))
        finally:
            otel_context.detach(token)

    def learned(result: Any) -> Learned:
        if trial.failed:
            return Failed("its body raised, and the framework made a text of it")
        if served is None:
            return Value(_plain(result))
        return Unread("the server's answer was not seen") if trial.answer is None else read_answer(trial.answer)

    return await call_async(ADAPTER, read, body, _REFUSAL, learned)


def _bind_invoke(ctx: Any, input: Any) -> tuple[Any, Any]:
    """The parameters of every invoker."""
    return ctx, input


def _tool(tool: Any, served: Served | None) -> Tool:
    model = getattr(tool, "_is_agent_tool", False) or getattr(tool, "_is_codex_tool", False)
    found = Tool(
        name=getattr(tool, "qualified_name", tool.name),
        schema=tool_schema(tool.params_json_schema),
        description=tool.description,
        output="model" if model else None,
    )
    if served is None:
        return found
    # the server's own name for it, whatever prefix the model is shown: policies name it so, and so does the MCP client
    hint = either(getattr(served.tool, "annotations", None), "read_only_hint", "readOnlyHint")
    return found._replace(name=served.tool.name, server=served.server.name, hint=hint, type="extension")


def _arguments(text: Any) -> Any:
    """What the model wrote; the text itself where that is no JSON object, which no guard can judge."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return text
    return found if type(found) is dict else text


def _plain(result: Any) -> Any:
    """A result without the SDK's envelopes: the text of a text part; images and files give nothing."""
    parts = result if isinstance(result, list | tuple) else (result,)
    envelopes = _envelopes()
    if not parts or not all(isinstance(part, envelopes) for part in parts):
        return result
    texts = [part.text for part in parts if isinstance(part, envelopes[0])]
    return texts[0] if len(parts) == len(texts) == 1 else texts


@functools.cache
def _envelopes() -> tuple[Any, ...]:
    tool = loaded("agents.tool")
    return tool.ToolOutputText, tool.ToolOutputImage, tool.ToolOutputFileContent


async def _failed(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """The SDK makes a text of an exception, unless that is a refusal by which the run is to stop."""
    refusal: BaseException | None = kwargs.get("error")
    while refusal is not None and not isinstance(refusal, ProvenanceDenied):
        refusal = refusal.__cause__
    if refusal is not None:
        _REFUSAL.say(refusal)
    here = otel_context.get_value(_HERE)
    if isinstance(here, Trial) and here.context is kwargs.get("context"):
        here.failed = True
    return await wrapped(*args, **kwargs)


async def _invoke_mcp_tool(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    here = otel_context.get_value(_HERE)
    server, *rest = args
    return await wrapped(Watched(server, here) if isinstance(here, Trial) else server, *rest, **kwargs)


class Watched(wrapt.ObjectProxy):  # type: ignore[type-arg]
    """An MCP server of the SDK whose answer to a call is seen."""

    def __init__(self, server: Any, trial: Trial) -> None:
        super().__init__(server)
        self._self_trial = trial

    async def call_tool(self, *args: Any, **kwargs: Any) -> Any:
        """As the server's own."""
        answer = self._self_trial.answer = await self.__wrapped__.call_tool(*args, **kwargs)
        return answer


async def _execute(wrapped: Any, executor: Any, args: Any, kwargs: Any) -> Any:
    for run in executor.tool_runs:  # also one that was built before, or without the SDK's own `__init__`
        _adopt(type(run.function_tool))
    token = otel_context.attach(otel_context.set_value(_HERE, f"{NAME}-{next(_steps)}"))
    try:
        return await wrapped(*args, **kwargs)
    finally:
        otel_context.detach(token)


async def _run(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    with in_run(ADAPTER, lambda: _conversation(*args, **kwargs)) as run:
        result = await wrapped(*args, **kwargs)
        if current_call() is None and (live := current_run()) is not None and live.state is run.state:
            _remember(run, result, kwargs)
        return result


def _run_streamed(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """The SDK starts a task that does the work: it copies the context that it is made in."""
    opened = open_run(ADAPTER, lambda: _conversation(*args, **kwargs))
    token = otel_context.attach(opened.context)
    try:
        result = wrapped(*args, **kwargs)
        outermost = current_call() is None and (live := current_run()) is not None and live.state is opened.run.state
    except BaseException as error:
        opened.close(error)
        raise
    finally:
        otel_context.detach(token)

    def done(task: Any) -> None:
        if outermost and not task.cancelled():
            _remember(opened.run, result, kwargs)
        # not `task.exception()`: asyncio logs an exception that nobody asked for, and that is for the caller to do
        opened.close(getattr(task, "_exception", None))

    result.run_loop_task.add_done_callback(done)
    return result


def _conversation(starting_agent: Any, input: Any, **options: Any) -> Conversation:
    return Conversation(_key(input, options), starting_agent.name, _said(input))


def _key(given: Any, options: Mapping[str, Any]) -> str | None:
    """The session's id, else the conversation's on the server, else that of the chain of responses."""
    session = getattr(options.get("session"), "session_id", None)
    resumed = getattr(getattr(given, "_context", None), _CONVERSATION, None)
    chain = registry.conversations.thread(ADAPTER.name, options.get("previous_response_id"))
    return session or options.get("conversation_id") or resumed or chain


def _remember(run: Run, result: Any, options: Mapping[str, Any]) -> None:
    """Keep what a later run names by this one's result. Never raises: that one would start anew, and cite nothing."""
    try:
        _keep(run, result, options)
    except Exception as error:
        report("could not keep the conversation of", ADAPTER.title, error)


def _keep(run: Run, result: Any, options: Mapping[str, Any]) -> None:
    key = run.run_id
    if getattr(result, "interruptions", None):
        key = key or uuid4().hex
        vars(result.context_wrapper)[_CONVERSATION] = key
    last = result.last_response_id
    if last and (options.get("previous_response_id") or options.get("auto_previous_response_id")):
        key = key or last
        registry.conversations.name(ADAPTER.name, last, key)
    if key is not None and not run.kept:
        registry.conversations.join(ADAPTER.name, key, run)


def _said(given: Any) -> tuple[str, ...]:
    """What humans said: text of user messages, and nothing else. The SDK's history holds tool results as well."""
    if type(given) is str:
        return (given,)
    contents = [item.get("content") for item in given if _is_user(item)] if isinstance(given, list) else []
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [
        part.get("text") if isinstance(part, dict) and part.get("type") == "input_text" else part for part in parts
    ]
    return tuple(text for text in texts if type(text) is str)


def _is_user(item: Any) -> bool:
    return isinstance(item, dict) and item.get("role") == "user" and item.get("type", "message") == "message"


@functools.cache
def _aborted() -> type[ProvenanceDenied]:
    """A refusal that the SDK lets through: it wraps every exception that is not its own."""

    class ProvenanceAborted(ProvenanceDenied, loaded("agents.exceptions").AgentsException):  # type: ignore[misc]
        def __reduce__(self) -> Any:
            return ProvenanceDenied, (self.decision, self.hint)

    return ProvenanceAborted


def _abort(refusal: ProvenanceDenied) -> BaseException:
    stops = _aborted()
    return refusal if isinstance(refusal, stops) else stops(refusal.decision, refusal.hint)


_REFUSAL: Final = Refusal(tell=str, abort=_abort)
ADAPTER: Final = Adapter(
    name=NAME,
    title="OpenAI Agents SDK",
    distribution="openai-agents",
    oldest=(0, 11),
    before=(0, 25),
    patches=(
        Place("agents.tool", f"FunctionTool.{INVOKER}", Invoker),
        Wrap("agents.tool", "FunctionTool.__post_init__", _made),
        Wrap("agents.tool", "maybe_invoke_function_tool_failure_error_function", _failed),
        Wrap("agents.mcp.util", "MCPUtil.invoke_mcp_tool", _invoke_mcp_tool),
        Wrap("agents.run_internal.tool_execution", "_FunctionToolBatchExecutor.execute", _execute),
        Wrap("agents.run", "AgentRunner.run", _run),
        Wrap("agents.run", "AgentRunner.run_streamed", _run_streamed),
    ),
    scopes=("openinference.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents"),
    covers="every `FunctionTool`, whenever it was built: function tools, MCP servers of the SDK, agents as tools",
    misses="tools that OpenAI hosts (web and file search, code interpreter, hosted MCP), which never pass through this "
    "process; local tools that are no function tools (computer, shell, patch, custom)",
    run="the session's id, the conversation's, or a chain of responses; else one per `Runner.run`",
    step="the function tools of one model response",
    tell="the reason, as the tool's output",
    abort="an `AgentsException` that is a `ProvenanceDenied`, from `Runner.run`",
)
