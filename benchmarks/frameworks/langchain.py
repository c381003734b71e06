"""LangChain: `invoke` of a tool with a model's tool call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from langchain_core.tools import StructuredTool

from benchmarks.calls import Keywords, body
from benchmarks.frameworks.tool import NAME, Dress, Prepare


@asynccontextmanager
async def opened(dress: Dress) -> AsyncIterator[Prepare]:
    """A tool with a plain function, which LangChain calls without awaiting anything."""
    tool = StructuredTool.from_function(dress(body), name=NAME)
    ids = count()

    def prepare(keywords: Keywords) -> Callable[[], Awaitable[Any]]:
        asked = {"type": "tool_call", "name": NAME, "args": keywords, "id": f"call-{next(ids)}"}

        async def call() -> Any:
            return tool.invoke(asked)

        return call

    yield prepare
