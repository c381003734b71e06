"""Leaves of JSON values, their dotted paths and their fields (design section 1).

A leaf is a scalar inside a JSON value; empty containers count as scalars. A key that the tool's schema does not
name is a leaf as well: a model wrote it. What cannot be copied as JSON is an `Opaque` leaf, which nothing vouches for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from citespan.core.opaque import is_scalar, is_text, opaque
from citespan.errors import ArgumentsTooLarge

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
Role: TypeAlias = Literal["value", "key"]

MAX_DEPTH: Final = 64
MAX_LEAVES: Final = 10_000


class Leaf(NamedTuple):
    """One leaf of an argument.

    Args:
        path: steps from the argument object, the argument's name first.
        value: None, bool, int, float, str, an empty list or dict, or `Opaque`; for a key leaf the key itself.
        role: "value", or "key" for a key that the schema does not name.
        exported: the path with every model-written step as `*`, fit to leave the process.
    """

    path: Path
    value: Any
    role: Role
    exported: Path


class Names(Protocol):
    """What `snapshot` needs to know of a schema; see `citespan.core.schema.Schema`."""

    charted: bool

    def names(self, key: str) -> bool:
        """Whether the schema names this key of the object that it describes."""
        ...

    def at(self, step: Step) -> Names:
        """The schema of the member `step`."""
        ...


class Snapshot(NamedTuple):
    """A private copy of a call's arguments, and its leaves in order.

    Args:
        arguments: the copy; the tool's body gets this one, so what was judged is what runs.
        leaves: every leaf, at most `MAX_LEAVES`.
    """

    arguments: dict[str, Any]
    leaves: tuple[Leaf, ...]


def snapshot(arguments: dict[str, Any], schema: Names) -> Snapshot:
    """Copy arguments and list their leaves in one walk.

    Raises:
        ArgumentsTooLarge: there are more than `MAX_LEAVES`; the guard then denies.

    Example:
        >>> from citespan.core.schema import UNKNOWN
        >>> [leaf.path for leaf in snapshot({"files": ["a.py"]}, UNKNOWN).leaves]
        [('files', 0)]
    """
    leaves: list[Leaf] = []
    copy: dict[str, Any] = {}
    if len(arguments) > MAX_LEAVES:
        raise ArgumentsTooLarge(f"a call has more than {MAX_LEAVES} arguments")
    for name, value in arguments.items():
        if type(name) is not str or not name.isascii():
            _copy_member(name, value, (), (), schema, leaves, copy, MAX_DEPTH)
            continue
        path: Path = (name,)
        exported = path
        if not schema.charted:
            exported = (field_step(name),)  # nobody declared the name; a model may have written it
        elif not schema.names(name):
            exported = ("*",)
            leaves.append(Leaf(path, name, "key", exported))
        kind = type(value)
        if (kind is str and value.isascii()) or kind is int or kind is bool or value is None:
            leaves.append(Leaf(path, value, "value", exported))
            copy[name] = value
        else:
            copy[name] = _copy(value, path, exported, schema.at(name), leaves, MAX_DEPTH)
    return Snapshot(copy, tuple(leaves))


def _copy(value: Any, path: Path, exported: Path, schema: Names, leaves: list[Leaf], room: int) -> Any:
    if len(leaves) >= MAX_LEAVES:
        raise ArgumentsTooLarge(f"a call's arguments have more than {MAX_LEAVES} leaves")
    kind = type(value)
    if kind is dict or kind is list:
        # one shallow copy first: another thread may change the original meanwhile
        value = value.copy()
        if value and not room:
            leaves.append(Leaf(path, opaque(value), "value", exported))
            return value
        if value and kind is list:
            return [
                _copy(member, (*path, index), (*exported, index), schema.at(index), leaves, room - 1)
                for index, member in enumerate(value)
            ]
        if value:
            copied: dict[str, Any] = {}
            for key, member in value.items():
                _copy_member(key, member, path, exported, schema, leaves, copied, room)
            return copied
    leaves.append(Leaf(path, value if is_scalar(value) else opaque(value), "value", exported))
    return value


def _copy_member(
    key: Any,
    member: Any,
    path: Path,
    exported: Path,
    schema: Names,
    leaves: list[Leaf],
    copied: dict[Any, Any],
    room: int,
) -> None:
    if type(key) is not str or not is_text(key):
        # a key that is no text has no path: it and its member are one leaf
        leaves.append(Leaf((*path, "?"), opaque((key, member)), "value", (*exported, "*")))
        copied[key] = member
        return
    named = schema.names(key)
    inner, shown_as = (*path, key), (*exported, key if named and schema.charted else "*")
    if not named:
        leaves.append(Leaf(inner, key, "key", shown_as))
    copied[key] = _copy(member, inner, shown_as, schema.at(key), leaves, room - 1)


def dotted(path: Path) -> str:
    r"""A path as text: `files.0`; a dot inside a key is written `\.` (design section 1).

    Example:
        >>> dotted(("files", 0)), dotted(("a.b", "c"))
        ('files.0', 'a\\.b.c')
    """
    return ".".join([escape(step) if type(step) is str else str(step) for step in path])


def escape(key: str) -> str:
    """A key as one step of a dotted path."""
    if "." in key or "\\" in key:
        return key.replace("\\", "\\\\").replace(".", "\\.")
    return key


def wildcard(path: Path) -> str:
    """A path with its indexes as `*`: what a metric label or a policy names."""
    return dotted(tuple(step if type(step) is str else "*" for step in path))


def shown(path: Path) -> str:
    """A path of a result fit to leave the process: a key that is data is a value, and becomes `*`.

    Example:
        >>> shown(("methods", "card_1245537", 0))
        'methods.*.0'
    """
    return ".".join([field_step(step) if type(step) is str else str(step) for step in path])


_NAME_LIKE = re.compile(r"[A-Za-z_$][A-Za-z_$-]*\d{0,2}", re.ASCII)
MAX_NAME: Final = 48


@lru_cache(maxsize=4096)
def field_step(key: str) -> str:
    """A key as a step of a field: itself where it reads like a name, `*` where it is data (an id, a path, a mail).

    Example:
        >>> field_step("address1"), field_step("credit_card_1245537"), field_step("a@b.org")
        ('address1', '*', '*')
    """
    return key if len(key) <= MAX_NAME and _NAME_LIKE.fullmatch(key) else "*"
