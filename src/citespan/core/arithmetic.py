"""Exact arithmetic over cited numbers: no float is added, and no text is evaluated.

A number is an integer multiple of 10**-`SCALE` here; what does not fit has no exact form and takes no part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, Final

SCALE: Final = 18
UNIT: Final = 10**SCALE
MAX_WHOLE: Final = 10**15
MAX_EXPRESSION: Final = 256
MAX_LITERALS: Final = 32


def scaled(value: Any) -> int | None:
    """A number as a multiple of 10**-18; None for what is none, is too large, or has more places.

    Example:
        >>> scaled(1.1) == 11 * 10**17, scaled(True), scaled(10**20)
        (True, None, None)
    """
    kind = type(value)
    if kind is int:
        return value * UNIT if -MAX_WHOLE < value < MAX_WHOLE else None
    if kind is not float or not -MAX_WHOLE < value < MAX_WHOLE:
        return None
    # the shortest decimal text that reads as this float: the one that was written
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    if not isinstance(exponent, int) or exponent < -SCALE:
        return None
    whole: int = int("".join(map(str, digits))) * 10 ** (exponent + SCALE)
    return -whole if sign else whole


def rounds_to(wanted: int, exact: int, places: int, digits: int, to: str = "nearest") -> bool:
    """Whether a number is the rounding of another one. A tie may go either way.

    Args:
        wanted: scaled. exact: a multiple of 10**-places. digits: decimal places of the rounding.
        to: "nearest", "down" (the floor) or "up" (the ceiling).

    Example:
        >>> rounds_to(scaled(10), scaled(10.038536), SCALE, 0), rounds_to(scaled(11), scaled(10.038536), SCALE, 0)
        (True, False)
    """
    step: int = 10 ** (SCALE - digits)
    if wanted % step:
        return False
    off: int = wanted * 10 ** (places - SCALE) - exact
    step *= 10 ** (places - SCALE)
    if to == "down":
        return -step < off <= 0
    if to == "up":
        return 0 <= off < step
    return 2 * abs(off) <= step


def addends(wanted: int, numbers: Sequence[int], terms: int) -> tuple[int, ...] | None:
    """Positions of two numbers that add up to another one, else of three, and so on up to `terms` (at most 4).

    Each position is used once; fewer terms are preferred, and of equals the first. For n numbers it takes n**2 steps.
    """
    where: dict[int, list[int]] = {}
    for at, number in enumerate(numbers):
        where.setdefault(number, []).append(at)
    for first, number in enumerate(numbers):
        for second in where.get(wanted - number, ()):
            if second != first:
                return first, second
    if terms > 2:
        pairs = list(combinations(range(len(numbers)), 2))
        for first, second in pairs:
            for third in where.get(wanted - numbers[first] - numbers[second], ()):
                if third not in {first, second}:
                    return first, second, third
        if terms > 3:
            sums: dict[int, list[tuple[int, int]]] = {}
            for first, second in pairs:
                sums.setdefault(numbers[first] + numbers[second], []).append((first, second))
            for first, second in pairs:
                for third, fourth in sums.get(wanted - numbers[first] - numbers[second], ()):
                    if not {third, fourth} & {first, second}:
                        return first, second, third, fourth
    return None


#: no more digits than a float keeps; every repetition is possessive, so that a text is read in one way only
_EXPRESSION = re.compile(r"(?:(?=[\d.]{1,16}+(?![\d.]))\d{1,15}+(?:\.\d{1,14}+)?+(?![\d.])|[-+*/() ])*+", re.ASCII)
_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_SIGNS: Final = (ast.UAdd, ast.USub)


def literals(text: str) -> list[int | float] | None:
    """The numbers of an arithmetic text, in order; None where it is none, or has no operator between numbers.

    It is parsed by Python's own parser, and nothing in it is evaluated.

    Example:
        >>> literals("100 * (1 + 0.05)"), literals("2 ** 9"), literals("abs(3)"), literals("7")
        ([100, 1, 0.05], None, None, None)
    """
    if len(text) > MAX_EXPRESSION or not _EXPRESSION.fullmatch(text):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    found: list[int | float] = []
    waiting: list[ast.expr] = [tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            waiting += (node.right, node.left)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, _SIGNS):
            waiting.append(node.operand)
        elif isinstance(node, ast.Constant) and (type(node.value) is int or type(node.value) is float):
            found.append(node.value)
        else:
            return None
    return found if 1 < len(found) <= MAX_LITERALS else None
