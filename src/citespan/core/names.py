"""How far the name of a field agrees with an argument's, for the advice after a refusal (`citespan.core.nearest`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from citespan.core.shapes import Shape

#: how far names agree, least first; what a higher number says, it says whatever the lower ones do
AGREEMENT: Final = (
    "not at all",
    "they speak of the same look: `path` and `files`, or one labels what the other names: `city` and `cities.*.name`",
    "one ends with the other, in words that speak of a look only: `order_id` and `users.*.id`",
    "they share a word that says more: `payment_method_id` and `methods.*`",
    "one ends with the other, as the policy's `same_name` has it: `user_name` and `name`",
    "they are the same, or one ends with the other and what is around it names the rest: `user_id` and `users.*.id`",
)
SAME_NAME: Final = 4

#: what a word of a name says that a value looks like
_LOOKS: Final[dict[str, Shape]] = {
    **dict.fromkeys(("path", "file", "filename", "filepath", "folder", "directory", "dir"), "path"),
    **dict.fromkeys(("email", "mail", "recipient", "sender", "attendee", "participant", "cc", "bcc"), "email"),
    **dict.fromkeys(("url", "uri", "link", "href", "website"), "url"),
    **dict.fromkeys(("date", "day", "time", "datetime", "timestamp", "deadline", "start", "end", "since"), "date"),
    **dict.fromkeys(("id", "uuid", "key", "number", "sha", "hash", "commit", "ref", "sku", "iban"), "id"),
}
#: last steps that do not say what they hold: what is around them does
_SILENT: Final = frozenset(
    ("result", "item", "value", "data", "output", "content", "text", "list", "response", "record", "row", "entry")
)
_LABELS: Final = frozenset(("name", "title", "label", "slug", "id", "key"))
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=1024)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and singular.

    Example:
        >>> words("openFiles"), words("user_ids"), words("café")
        (('open', 'file'), ('user', 'id'), ('café',))
    """
    found = _WORD.findall(name) if name.isascii() else []
    return tuple(_singular(word.lower()) for word in found) or (name.casefold(),)


def _singular(word: str) -> str:
    if len(word) < 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]


def look_of(name: str) -> Shape | None:
    """What a name says that its value looks like, None where it says nothing.

    Example:
        >>> look_of("file_id"), look_of("city")
        ('id', None)
    """
    return _look(words(name))


def _look(some: Iterable[str]) -> Shape | None:
    looks = [_LOOKS[word] for word in some if word in _LOOKS]
    return looks[-1] if looks else None


@lru_cache(maxsize=4096)
def agreement(argument: tuple[str, ...], field: str) -> int:
    """How far names agree: an index of `AGREEMENT`.

    Args:
        argument: the named steps of the argument's path, one at least. field: tool and path.

    Example:
        >>> agreement(("user_id",), "list_users.users.*.id"), agreement(("path",), "list_files.files.*")
        (5, 1)
    """
    steps = [words(step) for step in field.split(".") if step != "*"]
    mine, own = words(argument[-1]), steps[-1] if len(steps) > 1 else ()
    if mine == own:
        return 5
    around = {word for step in (steps[:-1] if own else steps) for word in step}
    sought = {word for step in argument for word in words(step)}
    if own and (own == mine[-len(own) :] or mine == own[-len(mine) :]):
        if (sought - set(own)) & around:
            return 5
        return 2 if _LOOKS.keys() >= set(own if len(own) < len(mine) else mine) else SAME_NAME
    speaking = around.union(own) if _SILENT.issuperset(own) else set(own)
    if any(word in speaking and word not in _LOOKS for word in mine):
        return 3
    look = _look(mine)
    if look is not None:
        return 1 if look in {_LOOKS.get(word) for word in own} else 0
    return 1 if _LABELS.issuperset(own) and sought & around else 0
