"""Pydantic AI: a tool manager handles a model's call, as in a step of an agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, RunUsage
from pydantic_ai.agent import ToolManager
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel

from benchmarks.calls import Keywords
from benchmarks.frameworks.tool import NAME, Dress, Prepare, close_issue


@asynccontextmanager
async def opened(dress: Dress) -> AsyncIterator[Prepare]:
    """A toolset, and its manager in a step of a run."""
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    manager = await ToolManager(FunctionToolset([dress(close_issue)])).for_run_step(context)
    ids = count()

    def prepare(keywords: Keywords) -> Callable[[], Awaitable[Any]]:
        part = ToolCallPart(NAME, json.dumps(keywords), f"call-{next(ids)}")
        return lambda: manager.handle_call(part)

    yield prepare
