"""The tool that every framework calls, and what a framework's file gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from benchmarks.calls import Keywords

#: makes one call ready (its id, its JSON text), untimed; what comes back makes it, once
Prepare: TypeAlias = Callable[[Keywords], Callable[[], Awaitable[Any]]]
#: what is done to the tool's function before the framework gets it: nothing, or `@citespan.tool`
Dress: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
#: what a framework's file gives
Opened: TypeAlias = Callable[[Dress], AbstractAsyncContextManager[Prepare]]

NAME = "close_issue"


async def close_issue(path: str, ticket: str, repository: str, issue: int, label: str) -> None:
    """Close an issue."""
