"""What a recorded argument looks like: whether it names something, says something, or is one of few choices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from citespan.core.dates import read as read_date
from citespan.core.shapes import is_document, names_host, shape

Look: TypeAlias = Literal[
    "bool", "small", "number", "empty", "word", "phrase", "prose", "token", "name", "code",
    "id", "path", "url", "email", "date", "account", "json", "other",
]  # fmt: skip

#: a value of one of these names something that exists: nobody may make it up, and no policy may declare it
NAMING: Final[frozenset[Look]] = frozenset({"id", "path", "url", "email", "date", "account", "number", "json", "code"})
#: those of them that a field of results holds
NAMED: Final[frozenset[Look]] = frozenset({"id", "path", "url", "email", "account", "number"})
#: a value of one of these may be one of few choices that a tool has
CHOICES: Final[frozenset[Look]] = frozenset({"bool", "small", "word", "phrase"})

MAX_PHRASE_WORDS: Final = 3
MAX_NAME_WORDS: Final = 4
MAX_WORD: Final = 24
MAX_LOOKED_AT: Final = 4096
SMALL: Final = 100
_WORD = re.compile(r"[^\W\d_]+(?:[_-][^\W\d_]+)*")
#: the month of a year, as cards have it
_MONTH = re.compile(r"(?:0?[1-9]|1[0-2])/(?:\d\d|(?:19|20)\d\d)")
#: commands and programs: what is run is no commentary
_CODE = re.compile(
    r"""&&|\|\||\$[({]|\$\w+[/=)]|`|=>|[!=]=|\w::\w|(?<!\S)--[a-z]|\s[|>]{1,2}\s|[;{]\s*$|</\w+>|\w\(\)
      |^\s*(?:sudo|cd|ls|grep|git|pip|python3?|bash|curl|wget|def|import)\s
      |\b(?:SELECT|DELETE|INSERT|UPDATE)\b.*\b(?:FROM|INTO|SET)\b""",
    re.VERBOSE | re.MULTILINE,
)
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
    if _CODE.search(text[:MAX_LOOKED_AT]):
        return "code"
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
    if len(words) <= MAX_NAME_WORDS and all(word[0].isupper() and _WORD.fullmatch(word) for word in words):
        return "name"
    if len(words) <= MAX_PHRASE_WORDS and all(_WORD.fullmatch(word) for word in words):
        return "phrase"
    return "prose"


#: what an argument is called that names a thing, or is run: its values are neither declared nor commentary
_IDENTIFIES = re.compile(
    r"""(?:.*[_.-])?(?:ids?|uu?id|guid|key|ref|reference|sha|hash|iban|account|number|no|phone|e?mails?|url|uri|link
      |(?:file_?)?(?:path|name)s?|files?|folder|dir|directory|recipients?|receivers?|senders?|users?|usernames?|owner
      |participants?|channel|host|domain)|to|cc|bcc""",
    re.VERBOSE | re.IGNORECASE,
)
_RUNS = re.compile(r"(?:.*[_.-])?(?:command|cmd|code|script|sql|query|expression|regex|pattern|action|program)s?", re.I)
_CAMEL = re.compile(r"[a-z0-9](?:Id|Ids|Key|Url|Uri|Path|Email|Number)$")


def identifies(argument: str) -> bool:
    """Whether an argument, by its name, names a thing in the world: `user_id`, `recipients.*`, `filePath`.

    Example:
        >>> identifies("event_id"), identifies("recipients.*"), identifies("orderId"), identifies("priority")
        (True, True, True, False)
    """
    name = _last(argument)
    return _IDENTIFIES.fullmatch(name) is not None or _CAMEL.search(name) is not None


def is_run(argument: str) -> bool:
    """Whether an argument, by its name, holds something that is run or searched by: a command, code, a query."""
    return _RUNS.fullmatch(_last(argument)) is not None


def _last(argument: str) -> str:
    return next((step for step in reversed(argument.split(".")) if step != "*"), "")
