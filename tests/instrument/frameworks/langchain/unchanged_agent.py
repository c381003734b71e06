"""Knows nothing of citespan: guesses a file, is told, looks, and goes on. Arguments: flavour, folder."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

FLAVOUR, FOLDER = sys.argv[1], Path(sys.argv[2])


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"c{len(arguments)}{name}"}])


SCRIPT = iter(
    [call("patch_file", path="prod.env"), call("list_files"), call("patch_file", path="a.py"), AIMessage("done")]
)


class Scripted(BaseChatModel):
    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        with (FOLDER / "saw.txt").open("a") as saw:
            saw.write(f"{messages[-1].content}\n---\n")
        return ChatResult(generations=[ChatGeneration(message=next(SCRIPT))])


@tool
def list_files(root: str = ".") -> dict:
    """List files."""
    return {"files": ["a.py", "b.py"]}


@tool
def patch_file(path: str) -> str:
    """Patch a file."""
    (FOLDER / path).write_text("patched")
    return f"patched {path}"


async def stream() -> None:
    async for _ in agent.astream(SAID):
        pass


agent = create_agent(Scripted(), tools=[list_files, patch_file])
SAID: Any = {"messages": [("user", "patch something")]}
match FLAVOUR:
    case "sync":
        agent.invoke(SAID)
    case "async":
        asyncio.run(agent.ainvoke(SAID))
    case "stream":
        asyncio.run(stream())
print("the agent is done")
