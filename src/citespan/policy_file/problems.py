"""Say what is wrong with a document, to the author of the file: key, line, and what would be right."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from citespan.errors import Problem
from citespan.policy_file import checks, models
from citespan.policy_file.lines import KeyPath, line_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: every table by its header, for "it belongs in ..."
TABLES: Final[dict[str, type[models.Table]]] = {
    "defaults": models.DefaultsTable,
    "run": models.RunTable,
    "ledger": models.LedgerTable,
    "servers.NAME": models.ServerTable,
    'tools."glob"': models.ToolTable,
    'tools."glob".arguments.NAME': models.ArgumentTable,
}

#: pydantic's error type -> what the key must be
_EXPECTED: Final[dict[str, str]] = {
    "model_type": "a table",
    "dict_type": "a table",
    "list_type": "an array",
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
}


def problems(error: ValidationError, lines: Mapping[KeyPath, int], root: KeyPath) -> tuple[Problem, ...]:
    """All problems of one document, in the order of its lines.

    Args:
        error: what pydantic found.
        lines: from `citespan.policy_file.lines.key_lines`.
        root: where in the document the policy starts: `()`, or `("tool", "citespan")`.
    """
    found = [_problem(detail, lines, root) for detail in error.errors(include_url=False)]
    return tuple(sorted(found, key=lambda problem: (problem.line or 0, problem.key)))


def twins(globs: Mapping[str, Any], lines: Mapping[KeyPath, int], root: KeyPath) -> Iterator[Problem]:
    """Globs that match exactly the same tools: each call would be a tie."""
    seen: dict[str, str] = {}
    for glob in globs:
        first = seen.setdefault(checks.same_glob(glob), glob)
        if first != glob:
            path = (*root, "tools", glob)
            message = f"matches the same tools as {checks.shown(first)}, so that neither wins; merge the two tables"
            yield Problem(dotted_key(path), message, line_of(lines, path))


def dotted_key(path: KeyPath) -> str:
    """A key as TOML writes it; array indexes are left out, the message names the item.

    Example:
        >>> dotted_key(("tools", "list_*", "text", 0))
        'tools."list_*".text'
    """
    return ".".join(
        step if _BARE.fullmatch(step) else checks.shown(step.replace("\\", "\\\\").replace('"', '\\"'))
        for step in path
        if isinstance(step, str)
    )


def _problem(detail: ErrorDetails, lines: Mapping[KeyPath, int], root: KeyPath) -> Problem:
    location: KeyPath = tuple(step for step in detail["loc"] if step != "[key]")
    path = (*root, *location)
    return Problem(dotted_key(path), _message(detail, location), line_of(lines, path))


def _message(detail: ErrorDetails, location: KeyPath) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    item = f"item {location[-1] + 1} " if location and isinstance(location[-1], int) else ""
    if kind == "missing":  # the version is the only key that must be there
        return "is missing: start the file with version = 1"
    if kind == "extra_forbidden":
        return _unknown(str(location[-1]), location[:-1], value)
    if kind == "value_error":
        where = f"{item.rstrip()}: " if item and not isinstance(value, str) else ""
        return f"{where}{context['error']}"
    if kind == "literal_error":
        names = re.findall(r"'([^']*)'", str(context["expected"]))
        if not isinstance(value, str):
            return f"{item}must be {checks.alternatives(names)}, not {type_name(value)}"
        guess = checks.nearest(value, names)
        hint = f'; did you mean "{guess}"?' if guess else ""
        return f"must be {checks.alternatives(names)}, not {checks.shown(value)}{hint}"
    if kind in _EXPECTED:
        example = f": write [{checks.shown(value)}]" if kind == "list_type" and isinstance(value, str) else ""
        return f"{item}must be {_EXPECTED[kind]}, not {type_name(value)}{example}"
    if kind == "greater_than_equal":
        return f"must be {context['ge']} or more"
    if kind == "less_than_equal":
        return f"must be {context['le']} or less"
    if kind == "too_short":
        return "names nothing, so that no value could ever be cited; leave the key out, or name a field"
    if kind == "string_too_short":
        return "a name cannot be empty"
    return f"{item}{detail['msg']}"


def _unknown(key: str, table: KeyPath, value: Any) -> str:
    if table == () and key == "tool" and isinstance(value, dict) and "citespan" in value:
        return "[tool.citespan] is for a pyproject.toml; in any other file the keys stand at the root"
    if len(table) == 4 and table[2] == "arguments" and isinstance(value, dict):
        whole = checks.shown(f"{table[3]}.{key}")
        return f"unknown key; a leaf inside the argument is named by one quoted key: arguments.{whole}"
    known = _keys(_model(table))
    homes = [header for header, model in TABLES.items() if key in _keys(model)]
    if homes:
        return f"unknown key here; it belongs in {' or '.join(f'[{header}]' for header in homes)}"
    guess = checks.nearest(key, known)
    return f'unknown key; did you mean "{guess}"?' if guess else f"unknown key; known here: {', '.join(known)}"


def _keys(model: type[models.Table]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model(table: KeyPath) -> type[models.Table]:
    match table:
        case ("tools", _, "arguments", _):
            return models.ArgumentTable
        case ("tools", _):
            return models.ToolTable
        case ("servers", _):
            return models.ServerTable
        case (str() as name,) if name in TABLES:
            return TABLES[name]
        case _:
            return models.PolicyTable


def type_name(value: Any) -> str:
    """What TOML calls the type of a value."""
    match value:
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a number with a fraction"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "a table"
        case datetime.date() | datetime.time():
            return "a date or time"
        case _:
            return "such a value"
