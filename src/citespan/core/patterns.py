r"""Patterns of the policy (projection `regex`): the part of Python's expressions that takes linear time on any text.

Allowed are characters, classes, groups, alternatives, `^`, `$`, `\b`, and repetition of a single character or class. A
repetition takes all that it can and gives nothing back, so what follows it must start differently; without an upper
bound it stands for at most `MAX_REPEAT` characters, and a longer run is no match. So the time that one place of the
text can take has a bound. `\w`, `\d` and `\s` mean ASCII; `^` and `$` are the ends of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

MAX_PATTERN: Final = 256
MAX_REPEAT: Final = 256
#: ways through the alternatives of one pattern
MAX_WAYS: Final = 32

_NOT_HERE: Final = {
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a condition on a group",
    "ASSERT": "a look-around",
    "ASSERT_NOT": "a look-around",
    "MIN_REPEAT": "a lazy repetition (name what ends it instead: [^;]+; for .+?;)",
    "POSSESSIVE_REPEAT": "a possessive repetition (every repetition is one here)",
    "ATOMIC_GROUP": "an atomic group",
}
_ENDS: Final = {"AT_BEGINNING": "^", "AT_END": "$", "AT_BOUNDARY": r"\b", "AT_NON_BOUNDARY": r"\B"}
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
#: stands for every character beyond ASCII in a set of first characters
_BEYOND: Final = "\x80"
_ASCII: Final = "".join(map(chr, range(128)))


class _Part(NamedTuple):
    """A part of a pattern, read: the safe text for it, what it can start with, whether it can be empty, its ways."""

    text: str
    first: frozenset[str]
    empty: bool
    ways: int


def linear(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of the policy.

    Raises:
        ValueError: it is no expression, or not one that is known to take linear time; the text says what to write.

    Example:
        >>> [found.group(1) for found in linear(r"#(\d+)").finditer("see #12, #7")]
        ['12', '7']
    """
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a pattern has at most {MAX_PATTERN} characters")
    try:
        tree = _parser.parse(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"no regular expression: {error}") from error
    if tree.state.flags != re.ASCII.value:
        raise ValueError("a flag such as (?i) is not read here")
    part = _sequence(list(tree), frozenset(), True, True)
    if part.empty:
        raise ValueError("it matches the empty text, which is no value")
    return re.compile(part.text, re.ASCII | re.MULTILINE)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return linear(pattern)
    except ValueError:
        return None


def matches(text: str, pattern: str = "") -> Iterator[str]:
    """The first group of each match, or the whole match where there is none; nothing for a pattern that is not safe."""
    compiled = _compiled(pattern)
    if compiled is not None:
        group = min(1, compiled.groups)
        for found in compiled.finditer(text):
            if found[group]:
                yield found[group]


def _sequence(items: Sequence[Any], after: frozenset[str], end: bool, start: bool) -> _Part:
    """Read items from the last to the first.

    Args:
        after: what can come after them. end: whether the pattern can end there. start: whether it can start here.
    """
    texts: list[str] = []
    empty, ways = True, 1
    starts = [start]
    for item in items:
        starts.append(starts[-1] and not _width(item))
    for item, here in zip(reversed(items), reversed(starts[:-1]), strict=True):
        part = _item(item, after, end, here)
        texts.append(part.text)
        ways *= part.ways
        if ways > MAX_WAYS:
            raise ValueError(
                f"it has more than {MAX_WAYS} ways through its alternatives: split it into several patterns"
            )
        after = part.first | after if part.empty else part.first
        end = end and part.empty
        empty = empty and part.empty
    return _Part("".join(reversed(texts)), after, empty, ways)


def _width(item: Any) -> int:
    """The fewest characters that an item takes."""
    name, argument = str(item[0]), item[1]
    if name == "AT":
        return 0
    if name == "MAX_REPEAT":
        return int(argument[0])
    if name == "SUBPATTERN":
        return int(argument[3].getwidth()[0])
    return min(int(branch.getwidth()[0]) for branch in argument[1]) if name == "BRANCH" else 1


def _item(item: Any, after: frozenset[str], end: bool, start: bool) -> _Part:
    name, argument = str(item[0]), item[1]
    if name in _NOT_HERE:
        raise ValueError(f"{_NOT_HERE[name]} is not read here")
    if name == "AT" and str(argument) in _ENDS:
        return _Part(_ENDS[str(argument)], frozenset(), True, 1)
    if name == "MAX_REPEAT":
        least, most, inner = argument
        return _repeat(least, most, inner, after, end, start)
    if name == "SUBPATTERN":
        group, add, remove, inner = argument
        if add or remove:
            raise ValueError("a flag such as (?i:...) is not read here")
        part = _sequence(list(inner), after, end, start)
        return part._replace(text=f"({part.text})" if group is not None else f"(?:{part.text})")
    if name == "BRANCH":
        parts = [_sequence(list(branch), after, end, start) for branch in argument[1]]
        return _Part(
            f"(?:{'|'.join(part.text for part in parts)})",
            frozenset().union(*(part.first for part in parts)),
            any(part.empty for part in parts),
            sum(part.ways for part in parts),
        )
    text, chars = _single(name, argument)
    return _Part(text, chars, False, 1)


def _repeat(least: int, most: Any, inner: Any, after: frozenset[str], end: bool, start: bool) -> _Part:
    items = list(inner)
    unbounded = most is sre.MAXREPEAT
    single = len(items) == 1 and str(items[0][0]) in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
    if not single:
        if (least, most) != (0, 1):
            raise ValueError(
                "only a single character or class can be repeated: no group, no repetition in a repetition"
            )
        part = _sequence(items, after, end, start)
        return _Part(f"(?:{part.text})?", part.first, True, part.ways + 1)
    if least > MAX_REPEAT or (not unbounded and most > MAX_REPEAT):
        raise ValueError(f"a repetition has at most {MAX_REPEAT} characters")
    text, chars = _single(str(items[0][0]), items[0][1])
    if least == most:
        return _Part(f"{text}{{{least}}}", chars, least == 0, 1)
    both = chars & after
    if both and not end:
        shown = ", ".join("any beyond ASCII" if char == _BEYOND else repr(char) for char in sorted(both)[:3])
        raise ValueError(
            f"a repetition takes {shown}, which what follows it can start with: leave that out of its class"
        )
    if unbounded:
        # at the start of a match it takes a whole run too, or nothing: a run is not read from its middle
        before = f"(?<!{text})" if start else ""
        return _Part(f"(?:{before}{text}{{{least},{MAX_REPEAT}}}+(?!{text}))", chars, least == 0, 1)
    return _Part(f"{text}{{{least},{most}}}+", chars, least == 0, 1)


def _single(name: str, argument: Any) -> tuple[str, frozenset[str]]:
    """One character or class: its text, and the ASCII characters that it takes (and `_BEYOND`)."""
    if name == "LITERAL":
        text = re.escape(chr(argument))
    elif name == "NOT_LITERAL":
        text = f"[^{re.escape(chr(argument))}]"
    elif name == "ANY":
        text = r"[^\n]"
    elif name == "IN":
        text = _class(argument)
    else:
        raise ValueError(f"{name.lower()} is not read here")
    takes = re.compile(text, re.ASCII)
    chars = {char for char in _ASCII if takes.match(char)}
    beyond = name in {"NOT_LITERAL", "ANY"} or (name == "LITERAL" and argument > 127)
    if beyond or (name == "IN" and _beyond(argument)):
        chars.add(_BEYOND)
    return text, frozenset(chars)


def _class(items: Sequence[Any]) -> str:
    texts: list[str] = []
    for kind, argument in items:
        name = str(kind)
        if name == "NEGATE":
            texts.append("^")
        elif name == "LITERAL":
            texts.append(re.escape(chr(argument)))
        elif name == "RANGE":
            texts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        elif name == "CATEGORY" and str(argument) in _CATEGORIES:
            texts.append(_CATEGORIES[str(argument)])
        else:
            raise ValueError(f"{name.lower()} in a class is not read here")
    return f"[{''.join(texts)}]"


def _beyond(items: Sequence[Any]) -> bool:
    """Whether a class may take a character beyond ASCII; in doubt it may."""
    for kind, argument in items:
        name = str(kind)
        if name == "NEGATE" or (name == "CATEGORY" and "NOT_" in str(argument)):
            return True
        if (name == "LITERAL" and argument > 127) or (name == "RANGE" and argument[1] > 127):
            return True
    return False
