"""Each framework has an environment of its own (`make test-frameworks`); elsewhere its tests are not collected."""

from __future__ import annotations

import os
from importlib import metadata
from importlib.util import find_spec
from typing import Final

import pytest

#: folder -> what it imports
NEEDS: Final = {
    "fastmcp": ("fastmcp",),
    "langchain": ("langchain", "langchain_core", "langgraph"),
    "openai_agents": ("agents",),
    "pydantic_ai": ("pydantic_ai",),
}
#: set by nox: the folder that must be collected, and the versions that it must run with
FRAMEWORK: Final = "CITESPAN_FRAMEWORK"
EXPECTED: Final = "CITESPAN_EXPECT"

_missing = [name for name, modules in NEEDS.items() if any(find_spec(module) is None for module in modules)]
collect_ignore = list(_missing)
if os.environ.get(FRAMEWORK) in _missing:
    raise pytest.UsageError(f"{os.environ[FRAMEWORK]} is to be tested here, and is not installed")


def pytest_report_header() -> list[str]:
    """Which versions this run is about; another one than was asked for stops it."""
    lines = []
    for requirement in os.environ.get(EXPECTED, "").split():
        name, _, wanted = requirement.partition("==")
        found = metadata.version(name)
        if found != wanted:
            raise pytest.UsageError(f"{name} {found} is installed, {wanted} is to be tested")
        lines.append(f"tested with {name} {found}")
    return lines
