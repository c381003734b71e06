"""One small file per framework. An adapter translates, and decides nothing (design section 6).

It says which functions it wraps, how a call and its result are read, and how a refusal is said there. What all adapters
share is in `_base` and `_patch`.

No framework is imported before `activate`, or before the program imports it.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Final

from citespan.errors import UsageError
from citespan.instrument import _patch
from citespan.instrument._patch import Adapter, NotActive, Otherwise, installed, patches, require, supported, try_out
from citespan.otel.ready import ready

__all__ = [
    "ADAPTERS",
    "Adapter",
    "NotActive",
    "activate",
    "activate_when_imported",
    "adapter",
    "deactivate",
    "installed",
    "patches",
    "require",
    "supported",
    "try_out",
]

#: adapter -> its module, which holds an `ADAPTER`
ADAPTERS: Final = MappingProxyType(
    {
        "fastmcp": "citespan.instrument.fastmcp",
        "langchain": "citespan.instrument.langchain",
        "mcp": "citespan.instrument.mcp_client",
        "mcp-server": "citespan.instrument.mcp_server",
        "openai-agents": "citespan.instrument.openai_agents",
        "pydantic-ai": "citespan.instrument.pydantic_ai",
    }
)


def adapter(name: str) -> Adapter:
    """What is known of one framework, without importing it.

    Raises:
        UsageError: no adapter has this name.

    Example:
        >>> adapter("mcp").distribution
        'mcp'
    """
    if name not in ADAPTERS:
        raise UsageError(f"no adapter is called {name!r}; there are: {', '.join(ADAPTERS)}")
    found: Adapter = import_module(ADAPTERS[name]).ADAPTER
    return found


def activate(name: str) -> None:
    """Guard every tool call of one framework, importing it, or raise. Twice is once.

    Raises:
        UsageError: no adapter has this name. PolicyError: the policy that `CITESPAN_POLICY` names cannot be used.
        NotActive: the framework is missing or of a version that is not supported.

    Example:
        `activate("langchain")`
    """
    found = adapter(name)
    ready()
    _patch.activate(found)


def activate_when_imported(name: str, otherwise: Otherwise = "report") -> None:
    """Guard every tool call of one framework from the moment on at which the program imports it.

    Args:
        otherwise: where the framework turns out to be of a version that is not supported: "raise" makes the import
            fail, "report" logs it (and `citespan doctor` shows it), "refuse" denies every tool call of it.

    Raises:
        UsageError: no adapter has this name.
    """
    _patch.activate_when_imported(adapter(name), otherwise)


def deactivate(name: str) -> None:
    """Put back what `activate` replaced, the very same objects.

    Raises:
        UsageError: no adapter has this name, or someone else wrapped the function again since.
    """
    _patch.deactivate(adapter(name))
