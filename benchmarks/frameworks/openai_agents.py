"""The OpenAI Agents SDK: the invoker of a function tool, with the JSON text that a model wrote."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from agents import function_tool, set_trace_processors
from agents.tool_context import ToolContext

from benchmarks.calls import Keywords
from benchmarks.frameworks.tool import NAME, Dress, Prepare, close_issue

set_trace_processors([])  # the SDK's own exporter would send traces away


@asynccontextmanager
async def opened(dress: Dress) -> AsyncIterator[Prepare]:
    """A function tool."""
    tool = function_tool(dress(close_issue))
    ids = count()

    def prepare(keywords: Keywords) -> Callable[[], Awaitable[Any]]:
        text = json.dumps(keywords)
        context = ToolContext(None, tool_name=NAME, tool_call_id=f"call-{next(ids)}", tool_arguments=text)
        return lambda: tool.on_invoke_tool(context, text)

    yield prepare
