"""Arguments and results as spans carry them: JSON text by convention, sometimes structured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from citespan import semconv
from citespan.core.leaves import MAX_DEPTH

#: what arguments that are no JSON object are called; a schema that does not name it makes the name uncited
#: as well
WHOLE: Final = "input"
_MISSING: Final = object()


def arguments_of(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments that a span carries, None where it carries none.

    What cannot be read as a JSON object is one argument, `input`: it is judged as a whole, and is uncited
    unless a tool returned it as a whole.

    Example:
        >>> arguments_of({"gen_ai.tool.call.arguments": '{"path": "a.py"}'})
        {'path': 'a.py'}
    """
    value = _first(attributes, semconv.ARGUMENT_KEYS)
    if value is _MISSING:
        return None
    read = _read(value)
    if type(read) is not dict:
        return {WHOLE: read}
    # OpenLLMetry wraps a decorated function's arguments
    if read.keys() == {"args", "kwargs"} and not read["args"] and type(read["kwargs"]) is dict:
        return read["kwargs"]
    return read


def result_of(attributes: Mapping[str, Any]) -> Any:
    """The result that a span carries; None where it carries none, which teaches nothing."""
    value = _first(attributes, semconv.RESULT_KEYS)
    return None if value is _MISSING else _read(value)


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = attributes.get(key, _MISSING)
        if value is not _MISSING:
            return value
    return _MISSING


def _read(value: Any) -> Any:
    if type(value) is str:
        try:
            return orjson.loads(value)
        except ValueError:  # also what is too deep, or holds a lone surrogate
            return value
    return _plain(value, MAX_DEPTH)


def _plain(value: Any, room: int) -> Any:
    """A structured attribute value (tuples, mappings) as JSON types; what is too deep stays, and is opaque."""
    if room and isinstance(value, Mapping):
        return {key: _plain(member, room - 1) for key, member in value.items()}
    if room and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(member, room - 1) for member in value]
    return value
