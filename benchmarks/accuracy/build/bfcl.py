"""BFCL multi-turn, version 4: the correct calls of every task, run in its own simulated services.

Each of the four categories has the same 200 tasks (`multi_turn_base_7`, `multi_turn_miss_param_7`, ...). A call is
written as Python; it is read, never evaluated: positional arguments get the names of the tool's parameters, and the
method of that name is called. A turn in which the user says nothing (`miss_func` adds tools there) is an empty
message. A result is a JSON object where the service returns one that can be written as JSON, and text otherwise, as
BFCL itself gives it to a model. A call that raises, or returns `{"error": ...}`, failed.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.accuracy.build import common
from benchmarks.accuracy.build.sources import BFCL

CATEGORIES: Final = ("multi_turn_base", "multi_turn_miss_param", "multi_turn_miss_func", "multi_turn_long_context")
LONG: Final = "multi_turn_long_context"
#: how BFCL spells the types of JSON Schema
TYPES: Final = {"dict": "object", "float": "number"}


def as_json_schema(parameters: Any) -> Any:
    """BFCL's parameters with the names of types that JSON Schema has."""
    if isinstance(parameters, list):
        return [as_json_schema(item) for item in parameters]
    if not isinstance(parameters, Mapping):
        return parameters
    made = {key: as_json_schema(value) for key, value in parameters.items()}
    if isinstance(kind := made.get("type"), str):
        made["type"] = TYPES.get(kind, kind)
    return made


def read_call(text: str, parameters: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of a call written as Python.

    Args:
        parameters: of each tool, as JSON Schema: positional arguments are named by the order of its properties.

    Raises:
        BuildError: it is not one call of a known tool with literal arguments.

    Example:
        `read_call("sort('a.txt')", ...)` is `("sort", {"file_name": "a.txt"})`.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("not a call")
        names = list(parameters[node.func.id].get("properties", {}))
        arguments = {names[index]: ast.literal_eval(value) for index, value in enumerate(node.args)}
        arguments |= {one.arg: ast.literal_eval(one.value) for one in node.keywords if one.arg is not None}
    except (IndexError, KeyError, SyntaxError, ValueError) as error:
        raise common.BuildError(f"bfcl: cannot read the call {text!r}: {error!r}; is it the pinned version?") from error
    return node.func.id, arguments


def outcome(returned: Any) -> tuple[Any, str | None]:
    """Result and error of a call, by what the service returned."""
    if isinstance(returned, dict):
        try:
            result = json.loads(json.dumps(returned, allow_nan=False))
        except (TypeError, ValueError):
            return str(returned), None
        error = result.get("error")
        return (None, str(error)) if error else (result, None)
    return str(returned), None


def messages(question: Iterable[Iterable[Mapping[str, str]]]) -> list[str]:
    """What the user says before each turn; nothing is an empty message."""
    return ["\n".join(one["content"] for one in turn if one["role"] == "user") for turn in question]


def build() -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """The file with its trajectories."""
    yield "bfcl_gold", _gold()


def _gold() -> Iterator[dict[str, Any]]:
    import bfcl_eval

    data = Path(bfcl_eval.__file__).parent / "data"
    documents = _Documents(data / "multi_turn_func_doc")
    for category in CATEGORIES:
        truths = {one["id"]: one["ground_truth"] for one in _lines(data / "possible_answer", category)}
        for task in _lines(data, category):
            schemas = documents.of(task["involved_classes"])
            calls = _run(task, truths[task["id"]], schemas, long=category == LONG)
            said = messages(task["question"])
            if calls:
                yield common.trajectory(
                    task["id"], category, said, schemas, calls, "gold", classes=task["involved_classes"]
                )


def _lines(folder: Path, category: str) -> Iterator[dict[str, Any]]:
    with (folder / f"BFCL_v4_{category}.json").open(encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


class _Documents:
    """The schemas of the tools of each service, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, dict[str, Any]] = {}

    def of(self, services: Iterable[str]) -> dict[str, Any]:
        from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING

        made: dict[str, Any] = {}
        for name in services:
            if name not in self.known:
                text = (self.folder / MULTI_TURN_FUNC_DOC_FILE_MAPPING[name]).read_text(encoding="utf-8")
                tools = [json.loads(line) for line in text.splitlines() if line.strip()]
                self.known[name] = {tool["name"]: as_json_schema(tool["parameters"]) for tool in tools}
            made |= self.known[name]
        return made


def _run(
    task: Mapping[str, Any], truth: list[list[str]], schemas: Mapping[str, Any], *, long: bool
) -> list[dict[str, Any]]:
    services = [_service(name, task.get("initial_config", {}), long=long) for name in task["involved_classes"]]
    calls = []
    for turn, texts in enumerate(truth):
        for text in texts:
            tool, arguments = read_call(text, schemas)
            method = next(getattr(one, tool) for one in services if hasattr(one, tool))
            try:
                result, error = outcome(method(**copy.deepcopy(arguments)))
            except Exception as raised:  # the recording of a call that failed
                result, error = None, f"{type(raised).__name__}: {raised}"
            calls.append(common.call(tool, arguments, result, error=error, turn=turn))
    return calls


def _service(name: str, configuration: Mapping[str, Any], *, long: bool) -> Any:
    from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING, STATELESS_CLASSES

    made = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)()
    if name not in STATELESS_CLASSES:
        made._load_scenario(copy.deepcopy(configuration.get(name, {})), long_context=long)
    return made


if __name__ == "__main__":
    sys.exit(common.main(BFCL, build))
