"""Errors that a tool returns as success, recognised as the policy says (`failed_when`, design section 2)."""

from __future__ import annotations

from typing import Any

import orjson

_FALSY: tuple[Any, ...] = (None, False, 0, "", [], {})


def failed_by_policy(data: bytes, patterns: tuple[str, ...]) -> bool:
    """Whether a result is an error by one of the patterns.

    `path` holds when the field is there and says something; `path=value` when it reads so; `^prefix` when the whole
    result is a text that starts so.

    Example:
        >>> failed_by_policy(b'{"error": "no such file"}', ("error",)), failed_by_policy(b'"Error: x"', ("^Error",))
        (True, True)
    """
    document = orjson.loads(data)
    return any(_matches(document, pattern) for pattern in patterns)


def _matches(document: Any, pattern: str) -> bool:
    if pattern.startswith("^"):
        return isinstance(document, str) and document.lstrip().startswith(pattern[1:])
    path, equals, wanted = pattern.partition("=")
    value = document
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return False
    if not equals:
        return value not in _FALSY
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text.casefold() == wanted.casefold()
