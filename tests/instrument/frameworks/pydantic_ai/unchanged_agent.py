"""Knows nothing of citespan: guesses a file, is told, looks, and goes on. Arguments: flavour, folder."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

FLAVOUR, FOLDER = sys.argv[1], Path(sys.argv[2])
SCRIPT = iter([("patch_file", {"path": "prod.env"}), ("list_files", {}), ("patch_file", {"path": "a.py"}), "done"])


def turn(messages: Any) -> Any:
    with (FOLDER / "saw.txt").open("a") as saw:
        saw.write("".join(f"{getattr(part, 'content', '')}\n---\n" for part in messages[-1].parts))
    return next(SCRIPT)


def respond(messages: Any, info: Any) -> ModelResponse:
    said = turn(messages)
    return ModelResponse(parts=[TextPart(said) if isinstance(said, str) else ToolCallPart(*said)])


async def streamed(messages: Any, info: Any) -> Any:
    said = turn(messages)
    yield said if isinstance(said, str) else {0: DeltaToolCall(said[0], json.dumps(said[1]), tool_call_id=said[0])}


def list_files(root: str = ".") -> dict[str, list[str]]:
    """List files."""
    return {"files": ["a.py", "b.py"]}


def patch_file(path: str) -> str:
    """Patch a file."""
    (FOLDER / path).write_text("patched")
    return f"patched {path}"


async def stream() -> None:
    async with agent.run_stream("patch something") as result:
        await result.get_output()


agent = Agent(FunctionModel(respond, stream_function=streamed), tools=[list_files, patch_file])
match FLAVOUR:
    case "sync":
        agent.run_sync("patch something")
    case "async":
        asyncio.run(agent.run("patch something"))
    case "stream":
        asyncio.run(stream())
print("the agent is done")
