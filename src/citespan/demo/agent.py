"""The scripted agent: it calls the tools of mcp-server-git as a model would, and reads their answers.

The script knows nothing of citespan. What is refused is refused by the instrumented MCP session, and reaches
the agent as an ordinary error result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from citespan.demo.repository import ENVIRONMENT, SECRET, UNLISTED

#: what the two runs declare as their inputs, next to the repository's path
BRANCH: Final = "fix-rate"
#: a commit that does not exist
MADE_UP: Final = "9f3c1e07ab"


class Answer(NamedTuple):
    """One tool call as the agent saw it."""

    tool: str
    arguments: dict[str, Any]
    text: str
    is_error: bool


Ask: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Answer]]
Script: TypeAlias = Callable[[Ask], Awaitable[None]]


async def careful(ask: Ask) -> None:
    """Look first: every file and every hash comes from what a tool has just said."""
    status = await ask("git_status", {})
    changed = re.findall(r"modified:\s+(\S+)", status.text)
    new = [name for name in re.findall(r"^\t(\S+)$", status.text, re.MULTILINE) if not name.endswith("/")]
    await ask("git_add", {"files": changed + new})
    log = await ask("git_log", {})
    newest = re.findall(r"Commit: (\w+)", log.text)[0]
    await ask("git_show", {"revision": newest[:10]})
    await ask("git_commit", {"message": "Raise the rate again, with a note"})


async def guessing(ask: Ask) -> None:
    """Guess: a file and a branch that every project seems to have, which are there, and a hash that is not.

    No tool named any of them.
    """
    await ask("git_status", {})
    await ask("git_add", {"files": [SECRET]})
    await ask("git_create_branch", {"branch_name": BRANCH, "base_branch": UNLISTED})
    await ask("git_create_branch", {"branch_name": BRANCH, "base_branch": MADE_UP})


async def play(script: Script, root: Path) -> list[Answer]:
    """Start mcp-server-git on a repository, over stdio, and let a script call it.

    Returns:
        The calls in order, with what the agent was told.
    """
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    answers: list[Answer] = []
    command = ["-m", "mcp_server_git", "--repository", str(root)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(ENVIRONMENT))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def ask(tool: str, arguments: dict[str, Any]) -> Answer:
            result = await session.call_tool(tool, {"repo_path": str(root), **arguments})
            text = "\n".join(block.text for block in result.content if block.type == "text")
            refused = bool(getattr(result, "is_error", getattr(result, "isError", None)))  # mcp 2.x, 1.x
            answers.append(Answer(tool, arguments, text, refused))
            return answers[-1]

        await script(ask)
    return answers
