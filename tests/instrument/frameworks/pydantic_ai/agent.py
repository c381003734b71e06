"""Agents of the framework with a scripted model, and the ways to run one."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any

import pydantic_core
from pydantic_ai import Agent, AgentRunResultEvent, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from tests.instrument.contract import Played, Turn, World

_ids = itertools.count()


class Script:
    """A model that plays turns, and keeps what it was given before each.

    Args:
        turns: calls as (tool, arguments), or (tool, arguments, call id); arguments may be JSON text.
    """

    def __init__(self, turns: Sequence[Any]) -> None:
        self._turns = iter(turns)
        self.saw: list[str] = []
        self.outcomes: list[str] = []

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._respond, stream_function=self._stream)

    def _next(self, messages: list[ModelMessage]) -> Any:
        parts = [part for message in messages for part in message.parts]
        self.saw.append("\n".join(_text(part) for part in parts))
        self.outcomes = [getattr(part, "outcome", "") for part in parts if isinstance(part, ToolReturnPart)]
        turn = next(self._turns)
        if isinstance(turn, str):
            return turn
        return [ToolCallPart(call[0], call[1], *(call[2:] or [f"call-{next(_ids)}"])) for call in turn]

    def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = self._next(messages)
        return ModelResponse(parts=[TextPart(turn)] if isinstance(turn, str) else turn)

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        turn = self._next(messages)
        if isinstance(turn, str):
            yield turn
            return
        for index, part in enumerate(turn):
            text = part.args if isinstance(part.args, str) else json.dumps(part.args)
            yield {index: DeltaToolCall(part.tool_name, text, tool_call_id=part.tool_call_id)}


def _text(part: Any) -> str:
    if isinstance(part, UserPromptPart | TextPart):
        return str(part.content)
    content = getattr(part, "content", "")
    return content if isinstance(content, str) else pydantic_core.to_json(content, fallback=str).decode()


def tools_of(world: World, asynchronous: bool) -> list[Callable[..., Any]]:
    """The tools of a world."""
    return list(world.functions(asynchronous).values())


async def _collect_events(agent: Agent[Any, str], said: Any, options: dict[str, Any]) -> Any:
    result = None
    async with AsyncExitStack() as stack:
        events = agent.run_stream_events(said, **options)
        if hasattr(events, "__aenter__"):  # since 2.0
            events = await stack.enter_async_context(events)
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                result = event.result
    return result


async def _iterate(agent: Agent[Any, str], said: Any, options: dict[str, Any]) -> Any:
    async with agent.iter(said, **options) as run:
        async for _ in run:
            pass
    return run.result


async def _stream(agent: Agent[Any, str], said: Any, options: dict[str, Any]) -> tuple[str, list[ModelMessage]]:
    async with agent.run_stream(said, **options) as result:
        return await result.get_output(), result.all_messages()


@contextmanager
def _own_loop() -> Iterator[None]:
    """The framework's sync calls use the thread's event loop, and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        loop.close()
        asyncio.set_event_loop(None)


def run(agent: Agent[Any, str], said: Any, *, flavour: str, **options: Any) -> tuple[str, list[ModelMessage]]:
    """Run an agent to its end: its output and its messages."""
    match flavour:
        case "sync":
            with _own_loop():
                result: Any = agent.run_sync(said, **options)
        case "async":
            result = asyncio.run(agent.run(said, **options))
        case "iter":
            result = asyncio.run(_iterate(agent, said, options))
        case "events":
            result = asyncio.run(_collect_events(agent, said, options))
        case "stream":
            return asyncio.run(_stream(agent, said, options))
        case _:
            with _own_loop(), ExitStack() as stack:
                streamed = agent.run_stream_sync(said, **options)
                if hasattr(streamed, "__enter__"):  # since 2.16
                    stack.enter_context(streamed)
                return streamed.get_output(), streamed.all_messages()
    return result.output, result.all_messages()


def play_agent(agent: Agent[Any, str], script: Script, said: Any, *, flavour: str, **options: Any) -> Played:
    """Run an agent, and say what came of it."""
    try:
        output, _ = run(agent, said, flavour=flavour, model=script.model, **options)
    except Exception as error:
        return Played(None, error, script.saw)
    return Played(output, None, script.saw)


def asking(inner: Sequence[Turn], world: World, flavour: str) -> Callable[..., Any]:
    """The tool `ask_helper`, whose body runs another agent."""
    script = Script(inner)
    helper = Agent(script.model, tools=tools_of(world, True), name="helper")

    async def ask_helper(ctx: RunContext[None], task: str) -> str:
        """Ask for help."""
        if flavour in {"stream", "stream-sync"}:
            async with helper.run_stream(task) as result:
                return str(await result.get_output())
        return str((await helper.run(task, usage=ctx.usage)).output)

    return ask_helper
