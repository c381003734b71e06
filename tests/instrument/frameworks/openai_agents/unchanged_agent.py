"""Knows nothing of citespan: guesses a file, is told, looks, and goes on. Arguments: flavour, folder."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, function_tool, set_trace_processors
from agents.usage import Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

FLAVOUR, FOLDER = sys.argv[1], Path(sys.argv[2])
set_trace_processors([])


def call(name: str, number: int, **arguments: Any) -> Any:
    return ResponseFunctionToolCall(
        type="function_call", name=name, call_id=f"c{number}", arguments=json.dumps(arguments)
    )


DONE = ResponseOutputMessage(
    id="m",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(text="done", type="output_text", annotations=[])],
)
SCRIPT = iter([call("patch_file", 1, path="prod.env"), call("list_files", 2), call("patch_file", 3, path="a.py"), DONE])


class Scripted(Model):
    def _next(self, given: Any) -> list[Any]:
        with (FOLDER / "saw.txt").open("a") as saw:
            saw.write(f"{given if isinstance(given, str) else given[-1].get('output')}\n---\n")
        return [next(SCRIPT)]

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=self._next(input), usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        response = Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=self._next(input),
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


@function_tool
def list_files(root: str = ".") -> dict[str, list[str]]:
    """List files."""
    return {"files": ["a.py", "b.py"]}


@function_tool
def patch_file(path: str) -> str:
    """Patch a file."""
    (FOLDER / path).write_text("patched")
    return f"patched {path}"


async def stream() -> None:
    async for _ in Runner.run_streamed(agent, "patch something").stream_events():
        pass


agent = Agent(name="Patcher", model=Scripted(), tools=[list_files, patch_file])
match FLAVOUR:
    case "sync":
        Runner.run_sync(agent, "patch something")
    case "async":
        asyncio.run(Runner.run(agent, "patch something"))
    case "stream":
        asyncio.run(stream())
print("the agent is done")
