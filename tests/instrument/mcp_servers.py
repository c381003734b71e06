"""Connections to the MCP servers under `servers/`, for the tests of this folder."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVERS = Path(__file__).parent / "servers"
MAJOR = int(metadata.version("mcp").partition(".")[0])


@asynccontextmanager
async def connect(script: str, *arguments: object, initialize: bool = True) -> AsyncIterator[ClientSession]:
    """A session with a server script of this folder, over stdio."""
    command = [str(SERVERS / script), *map(str, arguments)]
    parameters = StdioServerParameters(command=sys.executable, args=command)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        if initialize:
            await session.initialize()
        yield session


@asynccontextmanager
async def in_memory(server: Any, mode: str = "auto") -> AsyncIterator[Any]:
    """A client of a server in this process: 2.x calls it directly, 1.x and "legacy" use memory streams."""
    if MAJOR == 1:
        from mcp.shared.memory import create_connected_server_and_client_session

        async with create_connected_server_and_client_session(server._mcp_server) as session:
            yield session
    else:
        from mcp import Client

        async with Client(server, mode=mode) as client:
            yield client


class Wire:
    """A scenario for `wire_server.py`, and what the server saw of it."""

    def __init__(self, folder: Path, **scenario: Any) -> None:
        self._scenario = folder / "scenario.json"
        self._requests = folder / "requests.jsonl"
        self._scenario.write_text(json.dumps(scenario))

    def session(self, *, initialize: bool = True) -> Any:
        return connect("wire_server.py", self._scenario, self._requests, initialize=initialize)

    def seen(self, method: str) -> list[dict[str, Any]]:
        requests = map(json.loads, self._requests.read_text().splitlines())
        return [request["params"] or {} for request in requests if request["method"] == method]


def tool(name: str, read_only: bool | None = None, **properties: Any) -> dict[str, Any]:
    """A tool as a listing has it; each property is a JSON Schema."""
    schema = {"type": "object", "properties": properties}
    hints = {} if read_only is None else {"annotations": {"readOnlyHint": read_only}}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **hints}


def says(*texts: str, **more: Any) -> dict[str, Any]:
    """A result with text blocks."""
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


def is_error(result: Any) -> bool:
    return bool(getattr(result, "is_error", getattr(result, "isError", None)))


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
