"""FastMCP: a request of a client in the same process. The call by the host is a part of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastmcp import Client, FastMCP

from benchmarks.frameworks.tool import NAME, Dress, Prepare, close_issue


@asynccontextmanager
async def opened(dress: Dress) -> AsyncIterator[Prepare]:
    """A server, and a client of it."""
    server = FastMCP("tracker")
    server.tool(dress(close_issue), output_schema=None)  # nothing in the result, as of the plain tool
    async with Client(server) as client:
        yield lambda keywords: lambda: client.call_tool_mcp(NAME, keywords)
