"""Each framework has an environment of its own (`make test-frameworks`); elsewhere its tests are not collected."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Final

import pytest

pytest.register_assert_rewrite("tests.instrument.contract")

#: folder -> what it imports
NEEDS: Final = {
    "fastmcp": ("fastmcp",),
    "langchain": ("langchain", "langgraph", "langchain_mcp_adapters", "openinference.instrumentation.langchain"),
    "openai_agents": ("agents", "openinference.instrumentation.openai_agents"),
    "pydantic_ai": ("pydantic_ai", "openinference.instrumentation.pydantic_ai"),
}
#: set by nox: the folder that must be collected
FRAMEWORK: Final = "CITESPAN_FRAMEWORK"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even what it is in
        return False


_missing = [name for name, modules in NEEDS.items() if not all(map(_is_there, modules))]
collect_ignore = list(_missing)
if os.environ.get(FRAMEWORK) in _missing:
    raise pytest.UsageError(f"{os.environ[FRAMEWORK]} is to be tested here, and is not installed")
