"""The MCP SDK's client: `call_tool` of a client whose server is in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client
from mcp.server.mcpserver import MCPServer

from benchmarks.frameworks.tool import NAME, Dress, Prepare, close_issue


@asynccontextmanager
async def opened(dress: Dress) -> AsyncIterator[Prepare]:
    """A server, and a client of it."""
    server = MCPServer("tracker")
    # nothing in the result, not even the SDK's `{"result": null}`: the ledger gets nothing, as of the plain tool
    server.tool(structured_output=False)(dress(close_issue))
    async with Client(server) as client:
        yield lambda keywords: lambda: client.call_tool(NAME, keywords)
