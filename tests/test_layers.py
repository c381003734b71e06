"""What an import brings with it: `import citespan` no framework and no SDK, the core the standard library only."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import citespan

PACKAGE = Path(citespan.__file__).parent
CORE = sorted((PACKAGE / "core").glob("*.py"))

#: none of these is needed to name what `citespan` offers
HEAVY = {
    "agents",
    "anthropic",
    "autogen_core",
    "crewai",
    "fastapi",
    "google",
    "grpc",
    "httpx",
    "langchain_core",
    "langgraph",
    "llama_index",
    "mcp",
    "openai",
    "opentelemetry",
    "orjson",
    "pydantic",
    "pydantic_ai",
    "requests",
    "rich",
    "smolagents",
    "typer",
    "wrapt",
}


def loaded_by(statement: str) -> set[str]:
    """Modules that a statement loads in a fresh interpreter."""
    program = (
        f"import json, sys\nbefore = set(sys.modules)\n{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def tops(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_importing_citespan_loads_no_framework_no_command_line_and_no_telemetry() -> None:
    assert tops(loaded_by("import citespan")) & HEAVY == set()


def test_importing_citespan_loads_nothing_but_itself_and_the_standard_library() -> None:
    assert tops(loaded_by("import citespan")) - set(sys.stdlib_module_names) == {"citespan"}


def test_a_public_name_is_loaded_when_it_is_first_used() -> None:
    loaded = loaded_by("import citespan\ncitespan.Policy")
    assert "citespan.core.policy" in loaded
    assert "citespan.tools" not in loaded


def test_every_public_name_can_be_loaded() -> None:
    for name in citespan.__all__:
        assert getattr(citespan, name) is not None


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'classify'"):
        citespan.classify  # noqa: B018


@pytest.mark.parametrize("path", CORE, ids=[path.stem for path in CORE])
def test_a_core_module_imports_the_standard_library_the_core_and_the_errors_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            inside = name == "citespan.errors" or name.startswith("citespan.core")
            assert inside or name.partition(".")[0] in sys.stdlib_module_names, name


def test_loading_the_whole_core_loads_nothing_else() -> None:
    modules = ", ".join(f"citespan.core.{path.stem}" for path in CORE if path.stem != "__init__")
    loaded = loaded_by(f"import {modules}")
    assert tops(loaded) - set(sys.stdlib_module_names) == {"citespan"}
    assert {name for name in loaded if name.startswith("citespan.")} <= {
        "citespan.core",
        "citespan.errors",
        *(f"citespan.core.{path.stem}" for path in CORE),
    }


def test_the_guard_needs_no_sdk_and_no_exporter() -> None:
    loaded = loaded_by("import citespan.guard.guard, citespan.guard.run, citespan.guard.wrap")
    assert not {name for name in loaded if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))}


@pytest.mark.parametrize("forbidden", ["open", "print", "input", "exec", "eval"])
def test_the_core_does_no_input_and_no_output(forbidden: str) -> None:
    for path in CORE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != forbidden, path.name
