"""An agent of the OpenAI Agents SDK with a scripted model, for any version of it."""

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, function_tool, set_trace_processors
from agents.usage import Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from tests.instrument.contract import Played, Turn, World

_call_ids = itertools.count()
set_trace_processors([])  # the SDK's own exporter would send traces away


class Scripted(Model):
    """Plays a script, and keeps what it was given at each turn.

    Args:
        responses: ids of its responses, as the Responses API gives them; none by default.
    """

    def __init__(self, script: Sequence[Turn], responses: Sequence[str] = ()) -> None:
        self._script = list(script)
        self._responses = list(responses)
        self.saw: list[str] = []

    def _next(self, given: Any) -> list[Any]:
        self.saw.append("\n".join(_texts(given)))
        number = len(self.saw)
        turn = self._script[number - 1]
        if isinstance(turn, str):
            text = ResponseOutputText(text=turn, type="output_text", annotations=[])
            return [
                ResponseOutputMessage(
                    id=f"m{number}", type="message", role="assistant", status="completed", content=[text]
                )
            ]
        return [
            ResponseFunctionToolCall(
                type="function_call",
                name=name,
                call_id=f"call-{next(_call_ids)}",
                arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
            )
            for name, arguments in turn
        ]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        output = self._next(input)
        response = self._responses[len(self.saw) - 1] if self._responses else None
        return ModelResponse(output=output, usage=Usage(), response_id=response)

    async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        output = self._next(input)
        response = Response(
            id=self._responses[len(self.saw) - 1] if self._responses else "r",
            created_at=0,
            model="scripted",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def _texts(given: Any) -> list[str]:
    """Every text in what a model was given."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, dict):
        return [text for key, value in given.items() if key != "call_id" for text in _texts(value)]
    return [text for item in given for text in _texts(item)] if isinstance(given, list | tuple) else []


def tools_of(world: World, asynchronous: bool = True, **options: Any) -> list[Any]:
    """The tools of a world, as the SDK's."""
    return [function_tool(body, strict_mode=False, **options) for body in world.functions(asynchronous).values()]


async def run(agent: Agent, said: Any, flavour: str, **options: Any) -> Any:
    """Run an agent to its end, streamed or not."""
    if flavour != "stream":
        return await Runner.run(agent, said, **options)
    result = Runner.run_streamed(agent, said, **options)
    async for _ in result.stream_events():
        pass
    return result


def play_agent(agent: Agent, said: Any, *, flavour: str, **options: Any) -> Played:
    """Run an agent with a `Scripted` model in one of the flavours, and say what came of it."""
    model = agent.model
    assert isinstance(model, Scripted)
    output, raised = None, None
    options.setdefault("run_config", RunConfig(tracing_disabled=True))
    try:
        if flavour == "sync":
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            try:
                output = Runner.run_sync(agent, said, **options).final_output
            finally:
                asyncio.set_event_loop(None)
                loop.close()
        else:
            output = asyncio.run(run(agent, said, flavour, **options)).final_output
    except Exception as error:
        raised = error
    return Played(output, raised, model.saw)


def session_of(world: World, thread: str | None) -> Any:
    """The session of a thread, the same one for all runs of a world."""
    if thread is None:
        return None
    return world.memory.setdefault(thread, SQLiteSession(thread))
