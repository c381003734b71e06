"""Find, read and check a policy file. Nothing is read that was not named."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from citespan.core.policy import Policy
from citespan.errors import PolicyError, PolicyNotFound, Problem
from citespan.policy_file.lines import MAX_PARTS, KeyPath, key_lines, line_of, long_key

ENVIRONMENT_VARIABLE: Final = "CITESPAN_POLICY"
MAX_BYTES: Final = 1024 * 1024
#: in a file of this name the policy is the table [tool.citespan]
PYPROJECT: Final = "pyproject.toml"
_TABLE: Final[KeyPath] = ("tool", "citespan")

_POSITION = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")
_KEY_TUPLE = re.compile(r"\((?:'[^']*'(?:, )?)+,?\)")


def find(explicit: str | Path | None = None) -> Policy | None:
    """The policy that was asked for: by argument, else by `CITESPAN_POLICY`, else none.

    The working directory is never searched (design section 3). An empty variable counts as unset, as
    everywhere in OpenTelemetry; an empty argument does not.

    Args:
        explicit: path of a policy file, as from `--policy`.

    Raises:
        PolicyNotFound: a file is named but cannot be read (exit 78).
        PolicyError: it is read but is no policy.
    """
    if explicit is not None:
        return _load_file(Path(explicit), str(explicit))
    named = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return _load_file(Path(named), named) if named else None


def load(path_or_text: str | Path) -> Policy:
    """Read a policy from a file, or from TOML text.

    A `Path` is a file. A `str` is text if it has a line break or an equals sign, as every policy has, and
    otherwise the path of a file: for a file whose name has such a character pass a `Path`.

    Args:
        path_or_text: a file with the policy at its root, a `pyproject.toml` with `[tool.citespan]`, or TOML
            text.

    Raises:
        PolicyNotFound: the file cannot be read, or the pyproject.toml has no such table (exit 78).
        PolicyError: with every problem of the document, each with its key and line.

    Example:
        >>> load("version = 1\\n[run]\\nmax_refused = 3\\n").run_max_refused
        3
    """
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "=" in path_or_text):
        return loads(path_or_text)
    return _load_file(Path(path_or_text), str(path_or_text))


def loads(text: str, source: str = "policy", *, table: KeyPath = ()) -> Policy:
    """Read a policy from TOML text.

    Args:
        text: the document, at most `MAX_BYTES` long as UTF-8.
        source: what problems call it (`trajectories.jsonl:3`).
        table: where in the document the policy is, for a policy inside another file.

    Raises:
        PolicyNotFound: the document has no such table (exit 78).
        PolicyError: with every problem of the document, each with its key and line.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise _failure(source, "a lone surrogate is no text", line) from error
    if size > MAX_BYTES:
        raise _failure(source, f"is larger than {MAX_BYTES} bytes, which no policy needs")
    document, lines = _parse(text.removeprefix("\ufeff"), source)
    content: Any = document
    for depth, step in enumerate(table, start=1):
        if step not in content:
            raise PolicyNotFound(source, (Problem("", f"has no table [{'.'.join(map(str, table))}]"),))
        content = content[step]
        if not isinstance(content, dict):
            key = table[:depth]
            raise _failure(source, "must be a table", line_of(lines, key), ".".join(map(str, key)))
    return _check(content, lines, source, table)


def _check(content: dict[str, Any], lines: dict[KeyPath, int], source: str, table: KeyPath) -> Policy:
    # pydantic is loaded here and not before, so that a program without a policy file does not pay for it
    from pydantic import ValidationError

    from citespan.policy_file import build, models, problems

    found: list[Problem] = []
    tools = content.get("tools")
    if isinstance(tools, dict):
        found.extend(problems.twins(tools, lines, table))
    try:
        checked = models.PolicyTable.model_validate(content)
    except ValidationError as error:
        found.extend(problems.problems(error, lines, table))
    if found:
        raise PolicyError(source, tuple(sorted(found, key=lambda problem: (problem.line or 0, problem.key))))
    return build.build(checked)


def _load_file(path: Path, source: str) -> Policy:
    text, table = read_file(path, source)
    return loads(text, source, table=table)


def read_file(path: Path, source: str) -> tuple[str, KeyPath]:
    """The text of a named file, and which of its tables is the policy: the arguments of `loads`.

    Args:
        source: what problems call the file.

    Raises:
        PolicyNotFound: it cannot be read (exit 78).
        PolicyError: it is too large, or no UTF-8 text.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"this policy was named but cannot be read ({reason}), and no other is taken in its place"
        raise PolicyNotFound(source or '""', (Problem("", message),)) from error
    return read_text(data, source), _TABLE if path.name == PYPROJECT else ()


def read_text(data: bytes, source: str) -> str:
    """The text of a policy, from no more than `MAX_BYTES` bytes.

    Raises:
        PolicyError: it is too large, or no UTF-8 text.
    """
    if len(data) > MAX_BYTES:
        raise _failure(source, f"is larger than {MAX_BYTES} bytes, which no policy needs")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _failure(source, "is not UTF-8 text", line) from error


def _parse(text: str, source: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    if (line := long_key(text)) is not None:
        raise _failure(source, f"a key of more than {MAX_PARTS} parts", line)
    try:
        document = tomllib.loads(text)
        return document, key_lines(text)
    except tomllib.TOMLDecodeError as error:
        message, line = _syntax(str(error), text)
        raise _failure(source, message, line) from error
    except RecursionError as error:
        raise _failure(source, "values are nested too deep") from error
    except ValueError as error:  # an integer of thousands of digits
        raise _failure(source, "not valid TOML: an integer of thousands of digits") from error


def _syntax(message: str, text: str) -> tuple[str, int]:
    """Take the position out of tomllib's message; "at end" is the last line that is not blank."""
    position = _POSITION.search(message)
    bare = _POSITION.sub("", message)
    bare = _KEY_TUPLE.sub(lambda found: ".".join(re.findall(r"'([^']*)'", found.group())), bare)
    if position is not None and position[1]:
        return f"not valid TOML: {bare} (column {position[2]})", int(position[1])
    return f"not valid TOML: {bare}", text.rstrip().count("\n") + 1


def _failure(source: str, message: str, line: int | None = None, key: str = "") -> PolicyError:
    return PolicyError(source, (Problem(key, message, line),))
