"""Results as private JSON bytes: what the ledger keeps is a copy made the moment the tool returned.

What has a JSON reading: JSON values; tuples as arrays; paths and decimals as text; dataclasses, pydantic models, enums,
dates, UUIDs and numpy scalars as `orjson` and the types themselves write them; keys that are numbers, dates or enums as
text. What has none (bytes, iterators, exceptions, other objects) is not recorded, and the span says so: it can then not
be cited.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

#: types of which no member is a float, and that are most of what results hold
_NO_NUMBER: Final = frozenset({str, int, bool, type(None)})


class Recorded(NamedTuple):
    """A result as JSON bytes."""

    data: bytes


class Unreadable(NamedTuple):
    """A result without a JSON reading; `reason` names types only, never a value."""

    reason: str


Reading: TypeAlias = Recorded | Unreadable


def _plain(value: Any) -> Any:
    """What orjson does not know: pydantic models and numpy scalars, recognised without importing either."""
    kind = type(value)
    if hasattr(kind, "__pydantic_serializer__"):
        return value.model_dump(mode="json")
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    if isinstance(value, PurePath | Decimal):
        return str(value)
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} has no JSON form")


def read_result(result: Any) -> Reading:
    """The JSON bytes of a result, or why it has none. Never raises for a value of any kind.

    Example:
        >>> read_result({"files": ["a.py"]}).data
        b'{"files":["a.py"]}'
    """
    try:
        data = orjson.dumps(result, _plain)
    except Exception:  # a foreign __str__, property or serializer may raise anything
        return _slowly(result)
    if b"null" in data and _has_nan(result):
        return Unreadable("a number that is not finite")
    # a copy: orjson leaves its buffer as large as it grew, and the ledger keeps the bytes
    return Recorded(bytes(memoryview(data)))


def _has_nan(result: Any) -> bool:
    """Whether a number in a result is NaN or infinite: orjson writes such a one as null, which it is not."""
    waiting = [result]
    while waiting:
        at = waiting.pop()
        kind = type(at)
        if isinstance(at, float):
            if at - at != 0:
                return True
        elif isinstance(at, dict):
            waiting.extend([member for member in at.values() if type(member) not in _NO_NUMBER])
        elif isinstance(at, list | tuple):
            waiting.extend([member for member in at if type(member) not in _NO_NUMBER])
        elif hasattr(kind, "__pydantic_serializer__") or hasattr(kind, "__dataclass_fields__"):
            waiting.extend(vars(at).values() if hasattr(at, "__dict__") else ())
    return False


def _slowly(result: Any) -> Reading:
    """Keys that are no text, and integers over 64 bits, which need a slower writer."""
    try:
        return Recorded(orjson.dumps(result, _plain, orjson.OPT_NON_STR_KEYS))
    except Exception:
        try:
            data = json.dumps(result, default=_plain, allow_nan=False, ensure_ascii=False).encode()
            orjson.loads(data)  # what the ledger could not read back is not recorded, and the span says so now
            return Recorded(data)
        except Exception as error:
            return Unreadable(f"{type(result).__qualname__}: {type(error).__name__}")


def is_empty(data: bytes) -> bool:
    """Whether a result holds nothing at all: null, `""`, `[]` or `{}` (design section 2: not a source)."""
    return len(data) <= 4 and data in {b"null", b'""', b"[]", b"{}"}
