"""What a human said: whole tokens of messages (design section 2, tokens of a user message).

A message is searched through its words, so the time of a look-up does not grow with the number of messages.
"""

from __future__ import annotations

import re
from typing import Any, Final

from citespan.core.equality import is_weak
from citespan.core.fold import words
from citespan.core.kinds import FromUser

MAX_CHARS: Final = 4 * 1024 * 1024
MAX_KNOWN: Final = 1024
MAX_KNOWN_CHARS: Final = 256

#: what glues a neighbour to a token: `gmail.com` is no token of `ann@gmail.com`, nor `5` of `-5` or `1.5`
_GLUED_BEFORE = re.compile(r"[\w@/\\~%&+$-]$|[\w][.:]$|(?<!\S)\.$")
_GLUED_AFTER = re.compile(r"^(?:[\w@/\\~%&+-]|[.:,]\w)")

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
#: dates and times; a number inside one is no token
_DATE_OR_TIME = re.compile(
    rf"""
      \b\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:[T\ ]\d{{1,2}}:\d{{2}}(?::\d{{2}})?)?\b
    | \b\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}\b
    | \b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?
    | \b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?:,?\s+\d{{4}}\b)?
    | \b{_MONTH}\.?,?\s+\d{{4}}\b
    | \b\d{{1,2}}(?:st|nd|rd|th)\b
    | \b\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s*[ap]\.?m\b)?
    | \b\d{{1,2}}\s*[ap]\.?m\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,:/@-])[$€£#]?([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?![\w@/]|[.:,-]\w)")


class UserText:
    """The messages of a run so far. Append-only; over `MAX_CHARS` the oldest stop counting, which fails closed.

    Example:
        >>> said = UserText()
        >>> said.say("fix issue 51234 in acme/web")
        >>> said.cites(51234).kind, said.cites("acme/web").kind, said.cites("web")
        ('user', 'user', None)
    """

    __slots__ = ("_by_word", "_chars", "_count", "_known", "_messages", "_numbers")

    def __init__(self) -> None:
        self._messages: dict[int, str] = {}
        self._by_word: dict[str, list[int]] = {}
        self._numbers: dict[str | float, int] = {}
        self._chars = 0
        self._count = 0
        #: what was asked since the last message; agents pass the same names again and again
        self._known: dict[Any, int | None] = {}

    def say(self, text: str) -> None:
        """Add a message. The system prompt, tool results and assistant text are never said (design section 2)."""
        index = self._count
        self._count += 1
        self._known.clear()
        if len(text) > MAX_CHARS:
            return
        self._messages[index] = text
        self._chars += len(text)
        for word in set(words(text)):
            self._by_word.setdefault(word, []).append(index)
        for found in _NUMBER.finditer(_DATE_OR_TIME.sub(lambda match: " " * len(match.group()), text)):
            plain = found.group(1).replace(",", "")
            self._numbers[plain] = index
            self._numbers[float(plain)] = index
        while self._chars > MAX_CHARS:
            oldest = next(iter(self._messages))
            self._chars -= len(self._messages.pop(oldest))

    def cites(self, value: Any) -> FromUser | None:
        """The newest message in which a scalar stands as whole tokens, None where there is none."""
        if not self._count:
            return None
        kind = type(value)
        if kind is str:
            index = self._known.get(value, -1)
            if index == -1:
                index = self._number(value) if value.isdecimal() else self._text(value)
                if len(self._known) < MAX_KNOWN and len(value) <= MAX_KNOWN_CHARS:
                    self._known[value] = index
        elif kind is int or kind is float:
            index = self._number(float(value)) if abs(value) < 2**53 else self._number(str(value))
        else:
            return None
        return None if index is None else FromUser("message", str(index), "exact", is_weak(value))

    def _number(self, key: str | float) -> int | None:
        index = self._numbers.get(key)
        return index if index in self._messages else None

    def _text(self, value: str) -> int | None:
        rarest: list[int] | None = None
        for word in words(value):
            holders = self._by_word.get(word)
            if holders is None:
                return None
            if rarest is None or len(holders) < len(rarest):
                rarest = holders
        for index in reversed(rarest or ()):
            text = self._messages.get(index)
            if text is not None and _stands_in(value, text):
                return index
        return None


def _stands_in(value: str, text: str) -> bool:
    start = text.find(value)
    for _ in range(1000):
        if start < 0:
            return False
        end = start + len(value)
        if not _GLUED_BEFORE.search(text[max(0, start - 2) : start]) and not _GLUED_AFTER.match(text[end : end + 2]):
            return True
        start = text.find(value, start + 1)
    return False
