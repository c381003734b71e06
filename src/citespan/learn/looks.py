"""What a recorded argument looks like: whether it names something, says something, or is one of few choices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from citespan.core.dates import read as read_date
from citespan.core.shapes import is_document, names_host, shape

Look: TypeAlias = Literal[
    "bool", "small", "number", "empty", "word", "phrase", "prose", "token",
    "id", "path", "url", "email", "date", "account", "json", "other",
]  # fmt: skip

#: a value of one of these names something that exists: nobody may make it up, and no policy may declare it
NAMING: Final[frozenset[Look]] = frozenset({"id", "path", "url", "email", "date", "account", "number", "json"})
#: those of them that a field of results holds
NAMED: Final[frozenset[Look]] = frozenset({"id", "path", "url", "email", "account", "number"})
#: a value of one of these may be one of few choices that a tool has
CHOICES: Final[frozenset[Look]] = frozenset({"bool", "small", "word", "phrase"})

MAX_PHRASE_WORDS: Final = 3
MAX_WORD: Final = 24
SMALL: Final = 100
_WORD = re.compile(r"[^\W\d_]+(?:[_-][^\W\d_]+)*")
#: the month of a year, as cards have it
_MONTH = re.compile(r"(?:0?[1-9]|1[0-2])/(?:\d\d|(?:19|20)\d\d)")
_ACCOUNT = re.compile(r"[+#]?\d[\d .()-]{3,}")


def look(value: Any) -> Look:
    """What a leaf looks like.

    Example:
        >>> look("economy"), look("W77123"), look("see you at the meeting tomorrow"), look(7), look("2024-05-18 13:00")
        ('word', 'id', 'prose', 'small', 'date')
    """
    kind = type(value)
    if kind is bool:
        return "bool"
    if kind is int or kind is float:
        return "small" if -SMALL < value < SMALL else "number"
    if value is None or value == "" or value == [] or value == {}:
        return "empty"
    return _text(value) if kind is str else "other"


@lru_cache(maxsize=65536)
def _text(value: str) -> Look:
    text = value.strip()
    if not text:
        return "empty"
    if is_document(text):
        return "json"
    if len(text) > 256 or "\n" in text:
        return "prose"
    if read_date(text) is not None or _MONTH.fullmatch(text):
        return "date"
    found = shape(text)
    if found in {"email", "url", "date", "path", "id"}:
        # `and/or`, `he/she`: a path of prose is prose
        return "prose" if found == "path" and len(text.split()) > 4 else found
    if _ACCOUNT.fullmatch(text):
        return "account"
    if text.replace(".", "", 1).isdecimal():
        return "number"
    if names_host(text.lower()):
        return "url"
    words = text.split()
    if len(words) == 1:
        return "word" if _WORD.fullmatch(text) and len(text) <= MAX_WORD else "token"
    if len(words) <= MAX_PHRASE_WORDS and all(_WORD.fullmatch(word) for word in words):
        return "phrase"
    return "prose"


def says(seen: Look) -> bool:
    """Whether a look is that of text that says something: words with blanks between them."""
    return seen in {"prose", "phrase"}
