"""Typed equality (design section 2): only exact JSON types match, numbers compare by value."""

from __future__ import annotations

from typing import Any, Final

#: beyond this a float has lost the digits of the integer that it was read from, so it vouches for nothing
EXACT_FLOAT: Final = 2.0**53


def same(left: Any, right: Any) -> bool:
    """Whether two scalars are the same JSON value.

    Example:
        >>> same("1", 1), same(True, 1), same(1, 1.0), same([], [])
        (False, False, True, True)
    """
    kind, other = type(left), type(right)
    if kind is other:
        return bool(left == right) and not (kind is float and abs(left) >= EXACT_FLOAT)
    if kind is int and other is float:
        return bool(left == right) and abs(right) < EXACT_FLOAT
    if kind is float and other is int:
        return bool(left == right) and abs(left) < EXACT_FLOAT
    return False


def is_weak(value: Any) -> bool:
    """Values so common that citing one proves little: booleans, |n| < 100, up to 2 characters, empties."""
    kind = type(value)
    if kind is str:
        return len(value) <= 2
    if kind is bool:
        return True
    if kind is int or kind is float:
        return bool(-100 < value < 100)
    return True
