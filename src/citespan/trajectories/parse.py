"""One line of a trajectory file, checked whole before any of it is used."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from citespan.trajectories.model import RecordedCall, RecordedTool, Trajectory

#: integers so long may not fit into 64 bits, which orjson reads as floats: another number, and citable as such
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
_MAX_SHOWN: Final = 60
#: bytes of a line up to which it may be anything; in a longer one its values are counted before they are made
_SURELY_SMALL: Final = 4 * 1024 * 1024
#: bytes that the values of a line may take, by this estimate of what an object, an array and anything else needs
_MAX_WEIGHT: Final = 1024 * 1024 * 1024
_OBJECT, _ARRAY, _SCALAR = 200, 88, 40
_TEXTS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NAMES: Final[dict[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class Malformed(Exception):
    """A line that is no trajectory: which key (`calls.3.tool`, "" for the whole line), and what is wrong with it."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        self.message = message
        super().__init__(f"{key}: {message}" if key else message)


def parse(line: bytes, place: str) -> Trajectory:
    """The trajectory on a line.

    Args:
        line: with its line break, if it has one. place: `file:line`.

    Raises:
        Malformed: with the first thing that is wrong.
    """
    record = _document(line)
    if type(record) is not dict:
        raise Malformed("", f"a trajectory is an object, this line is {_name(record)}")
    tools = _optional(record, "tools", dict) or {}
    calls: list[RecordedCall] = []
    turn = 0
    for index, entry in enumerate(_required(record, "calls", list)):
        call = _call(entry, f"calls.{index}")
        if call.turn < turn:
            raise Malformed(f"calls.{index}.turn", f"{call.turn} comes after {turn}: calls are in order")
        turn = call.turn
        calls.append(call)
    return Trajectory(
        _text(record, "id"),
        _messages(record),
        {name: _tool(entry, f"tools.{_shown(name)}") for name, entry in tools.items()},
        _optional(record, "policy", str),
        tuple(calls),
        place,
        record,
    )


def _document(line: bytes) -> Any:
    if len(line) > _SURELY_SMALL and _weight(line) > _MAX_WEIGHT and _weight(_TEXTS.sub(b"", line)) > _MAX_WEIGHT:
        raise Malformed("", "not readable: too many values for one line")
    try:
        record = orjson.loads(line)
        # what is read here is valid by now: no NaN, no lone surrogate
        return json.loads(line) if _LONG_NUMBER.search(line) else record
    except orjson.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at column {error.colno}"
        if b"\0" in line:
            reason = f"not JSON: it has NUL bytes (at column {line.index(0) + 1})"
        elif not line.endswith(b"\n"):
            reason += " (the file ends inside this line)"
    except RecursionError:
        reason = "not readable: nested too deep"
    except ValueError:
        reason = "not readable: an integer of thousands of digits"
    raise Malformed("", reason)


def _weight(text: bytes) -> int:
    """How many bytes the values of a JSON text take, by its signs; too many where those stand in its strings too."""
    return text.count(b"{") * _OBJECT + text.count(b"[") * _ARRAY + text.count(b",") * _SCALAR


def _call(entry: Any, key: str) -> RecordedCall:
    if type(entry) is not dict:
        raise Malformed(key, f"a call is an object, not {_name(entry)}")
    step = entry.get("step")
    if step is not None and type(step) is not str and type(step) is not int:
        raise Malformed(f"{key}.step", f"must be a string or a whole number, not {_name(step)}")
    turn = _required(entry, "turn", int, key)
    if turn < 0:
        raise Malformed(f"{key}.turn", f"must be 0 or more, not {turn}")
    return RecordedCall(
        _text(entry, "tool", key),
        _required(entry, "arguments", dict, key),
        entry.get("result"),
        entry.get("error"),
        turn,
        None if step is None else str(step),
    )


def _tool(entry: Any, key: str) -> RecordedTool:
    if type(entry) is not dict:
        raise Malformed(key, f"a tool is an object, not {_name(entry)}")
    annotations = _optional(entry, "annotations", dict, key) or {}
    hint = _optional(annotations, "readOnlyHint", bool, f"{key}.annotations")
    return RecordedTool(_optional(entry, "parameters", dict, key), hint)


def _messages(record: dict[str, Any]) -> tuple[str, ...]:
    messages = _optional(record, "user_messages", list) or ()  # an agent that serves nobody has none
    for index, message in enumerate(messages):
        if type(message) is not str:
            raise Malformed(f"user_messages.{index}", f"must be a string, not {_name(message)}")
    return tuple(messages)


def _text(record: dict[str, Any], name: str, key: str = "") -> str:
    text: str = _required(record, name, str, key)
    if not text.strip():
        raise Malformed(f"{key}.{name}" if key else name, "must not be empty")
    return text


def _required(record: dict[str, Any], name: str, kind: type, key: str = "") -> Any:
    if record.get(name) is None:
        raise Malformed(f"{key}.{name}" if key else name, f"is missing: {_NAMES[kind]}")
    return _optional(record, name, kind, key)


def _optional(record: dict[str, Any], name: str, kind: type, key: str = "") -> Any:
    value = record.get(name)
    if value is not None and type(value) is not kind:
        raise Malformed(f"{key}.{name}" if key else name, f"must be {_NAMES[kind]}, not {_name(value)}")
    return value


def _name(value: Any) -> str:
    return _NAMES[type(value)]


def _shown(name: str) -> str:
    """A name out of the file, short and without control characters."""
    return "".join(char if char.isprintable() else "?" for char in name[:_MAX_SHOWN])
