"""How far the name of a field agrees with an argument's, for the advice after a refusal (`citespan.core.nearest`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from citespan.core.shapes import Shape

#: how far names agree, least first; what a higher number says, it says whatever the lower ones do
AGREEMENT: Final = (
    "not at all",
    "they speak of the same look: `path` and `files`, or one labels what the other names: `city` and `cities.*.name`",
    "one ends with the other, in words that speak of a look only: `order_id` and `results.*.id`",
    "they share a word that says more: `payment_method_id` and `methods.*`",
    "one ends with the other, as the policy's `same_name` has it: `user_name` and `name`; or the field only adds which "
    "label it is: `assignee` and `assignee_id`",
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
#: what a thing is told by
_LABELS: Final = frozenset(
    ("name", "title", "label", "slug", "login", "username", *(word for word, look in _LOOKS.items() if look == "id"))
)
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


class _Argument(NamedTuple):
    """An argument's own name, and the words of its whole path."""

    own: tuple[str, ...]
    sought: frozenset[str]
    look: Shape | None


class _Field(NamedTuple):
    """The last step of a field's path, the words of all others with the tool's, and those of the path alone."""

    own: tuple[str, ...]
    around: frozenset[str]
    path: frozenset[str]
    looks: frozenset[Shape | None]


@lru_cache(maxsize=256)
def _argument(argument: tuple[str, ...]) -> _Argument:
    own = words(argument[-1])
    return _Argument(own, frozenset(word for step in argument for word in words(step)), _look(own))


# as many as a ledger's catalogue has (`citespan.core.fields.MAX_FIELDS`), of several runs
@lru_cache(maxsize=4096)
def _field(field: str) -> _Field:
    steps = [words(step) for step in field.split(".") if step != "*"]
    own = steps[-1] if len(steps) > 1 else ()
    around = frozenset(word for step in (steps[:-1] if own else steps) for word in step)
    path = frozenset(word for step in steps[1:] for word in step)
    return _Field(own, around, path, frozenset(_LOOKS.get(word) for word in own))


# the same few arguments are asked about the same fields, call after call
@lru_cache(maxsize=8192)
def agreement(argument: tuple[str, ...], field: str) -> int:
    """How far names agree: an index of `AGREEMENT`.

    Args:
        argument: the named steps of the argument's path, one at least. field: tool and path.

    Example:
        >>> agreement(("user_id",), "list_users.users.*.id"), agreement(("path",), "list_files.files.*")
        (5, 1)
    """
    mine, sought, look = _argument(argument)
    own, around, path, looks = _field(field)
    if mine == own:
        return 5
    if own:
        if own == mine[-len(own) :] or mine == own[-len(mine) :]:
            if any(word in around and word not in own for word in sought):
                return 5
            if not _LOOKS.keys() >= set(own if len(own) < len(mine) else mine):
                return SAME_NAME
            return 0 if _differ(mine, path) else 2
        if own[: len(mine)] == mine and _LABELS.issuperset(own[len(mine) :]):
            return SAME_NAME
    speaking = around.union(own) if _SILENT.issuperset(own) else own
    if any(word in speaking and word not in _LOOKS for word in mine):
        return 3
    if look is not None:
        return 1 if look in looks and not (look == "id" and _differ(mine, path)) else 0
    return 1 if _LABELS.issuperset(own) and not sought.isdisjoint(around) else 0


def of_another(argument: tuple[str, ...], field: str) -> bool:
    """Whether both say of which thing they are, and it is not the same: an id of the one is none of the other.

    Args:
        argument, field: as for `agreement`.

    Example:
        >>> of_another(("order_id",), "list_users.users.*.id"), of_another(("order_id",), "search.results.*.id")
        (True, False)
    """
    return _differ(_argument(argument).own, _field(field).path)


def _differ(mine: tuple[str, ...], path: frozenset[str]) -> bool:
    thing = set(mine) - _LOOKS.keys()
    named = path - _LOOKS.keys() - _SILENT - _LABELS
    return bool(thing) and bool(named) and thing.isdisjoint(named)


def common(argument: tuple[str, ...], field: str) -> int:
    """How many words of an argument's name are in a field's path.

    Args:
        argument, field: as for `agreement`.

    Example:
        >>> common(("end_time",), "list_events.events.*.end.dateTime")
        2
    """
    return len(_argument(argument).sought & _field(field).path)
