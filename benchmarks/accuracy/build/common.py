"""What the builders share: the form of a trajectory (design §7), and writing it. Standard library only.

Two things are added that no package says:

- **`readOnlyHint`** is set by the tool's name: it reads if its first word is one of `READS`, if `get` is any of its
  words, or if the whole name is one of `SHELL` or `ARITHMETIC`. So `cd` and `echo` read; a name that is not known to
  read may change something.
- **An `enum`** that a description spells out as a JSON list (`[Enum]: ["on", "off"]`) is moved into the schema. One
  that is spelt in any other way is left alone.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.accuracy.build.sources import Source

USAGE: Final = 64
BAD_INPUT: Final = 65
NOT_INSTALLED: Final = 78
READS: Final = frozenset(
    {"calculate", "check", "compute", "display", "estimate", "filter", "find", "gallon", "get", "list", "liter", "mean"}
    | {"read", "retrieve", "search", "verify", "view"}
)
SHELL: Final = frozenset({"cat", "cd", "diff", "du", "echo", "grep", "ls", "pwd", "sort", "tail", "wc"})
ARITHMETIC: Final = frozenset(
    {"absolute_value", "add", "divide", "imperial_si_conversion", "logarithm", "max_value", "min_value", "multiply"}
    | {"percentage", "power", "round_number", "si_unit_conversion", "square_root", "standard_deviation", "subtract"}
    | {"sum_values"}
)
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_SPELT: Final = re.compile(r"\[Enum\]:\s*(\[[^\]]*\])")


class BuildError(Exception):
    """A file could not be made; the text says which, why, and what to do. `code` is the exit code."""

    def __init__(self, text: str, code: int = BAD_INPUT) -> None:
        super().__init__(text)
        self.code = code


def reads(tool: str) -> bool:
    """Whether a tool of this name is taken to read only.

    Example:
        `search_emails`, `displayCarStatus` and `message_get_login_status` read; `send_email` does not.
    """
    words = [word.lower() for word in _WORD.findall(tool)]
    return tool in SHELL | ARITHMETIC or "get" in words or any(word in READS for word in words[:1])


def with_enums(schema: Any) -> Any:
    """The same JSON Schema with every `enum` that a description spells as a JSON list."""
    if isinstance(schema, list):
        return [with_enums(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: with_enums(value) for key, value in schema.items()}
    text = made.get("description")
    if isinstance(text, str) and "enum" not in made and (found := _SPELT.search(text)):
        members = _json_list(found.group(1))
        if members:
            made["enum"] = members
    return made


def call(
    tool: str, arguments: Mapping[str, Any], result: Any, *, error: str | None = None, turn: int = 0, role: str = ""
) -> dict[str, Any]:
    """One call of a trajectory; `role` is left out where it is empty."""
    made = {"tool": tool, "arguments": dict(arguments), "result": result, "error": error, "turn": turn}
    return made | {"role": role} if role else made


def trajectory(
    name: str,
    suite: str,
    user_messages: list[str],
    schemas: Mapping[str, Mapping[str, Any]],
    calls: list[dict[str, Any]],
    label: str,
    **more: Any,
) -> dict[str, Any]:
    """One trajectory, with the schemas of the tools that it calls, in the order of their first call."""
    called = dict.fromkeys(one["tool"] for one in calls)
    return {
        "id": name,
        "suite": suite,
        "user_messages": user_messages,
        **more,
        "calls": calls,
        "label": label,
        "tools": {
            tool: {"parameters": with_enums(schemas[tool]), "annotations": {"readOnlyHint": reads(tool)}}
            for tool in called
        },
    }


def leaves(value: Any) -> Iterator[Any]:
    """The scalars inside a JSON value, in order."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def write(folder: Path, file: str, trajectories: Iterable[Mapping[str, Any]]) -> int:
    """Write `file`.jsonl whole or not at all, and return how many trajectories it has.

    Raises:
        BuildError: there is not one trajectory.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    handle, name = tempfile.mkstemp(prefix=f".{file}.", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            for one in trajectories:
                stream.write(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n")
                count += 1
        if not count:
            raise BuildError(f"{file}.jsonl: the package has no task for it; is it the pinned version?")
        Path(name).chmod(0o644)
        Path(name).replace(folder / f"{file}.jsonl")
    finally:
        Path(name).unlink(missing_ok=True)
    return count


def require(source: Source) -> None:
    """Check that this interpreter has the package in the version that the recordings are defined for.

    Raises:
        BuildError: it is absent, or another version.
    """
    try:
        found = importlib.metadata.version(source.package)
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if found != source.version:
        raise BuildError(
            f"{source.name}: needs {source.package}=={source.version}, found {found}; "
            "run `python -m benchmarks.accuracy.build FOLDER`, which installs it in an environment of its own",
            NOT_INSTALLED,
        )


def main(source: Source, build: Callable[[], Iterator[tuple[str, Iterable[Mapping[str, Any]]]]]) -> int:
    """What each builder does as a program: `python -m benchmarks.accuracy.build.NAME FOLDER`."""
    if len(sys.argv) != 2:
        print(f"usage: python -m benchmarks.accuracy.build.{source.name} FOLDER", file=sys.stderr)
        return USAGE
    try:
        require(source)
        for file, trajectories in build():
            count = write(Path(sys.argv[1]), file, trajectories)
            print(f"{source.name}: {file}.jsonl, {count} trajectories", file=sys.stderr)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"error: {source.name}: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _json_list(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return found if isinstance(found, list) else []
