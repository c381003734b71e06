"""Leaves of JSON values, their dotted paths and their fields (design section 1).

A leaf is a scalar inside a JSON value; empty containers count as scalars. A key that the tool's schema does not
name is a leaf as well: a model wrote it. What cannot be copied as JSON is the leaf `OPAQUE`, which nothing cites.
"""

from __future__ import annotations

import enum
import re
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
Role: TypeAlias = Literal["value", "key"]


class Opaque(enum.Enum):
    """Marks a value without a JSON copy: a foreign type, a subclass, NaN, a cycle, too deep, too many leaves."""

    OPAQUE = "opaque"


OPAQUE: Final = Opaque.OPAQUE
MAX_DEPTH: Final = 64
MAX_LEAVES: Final = 10_000


class Leaf(NamedTuple):
    """One leaf of an argument.

    Args:
        path: steps from the argument object, the argument's name first.
        value: None, bool, int, float, str, an empty list or dict, or `OPAQUE`; for a key leaf the key itself.
        role: "value", or "key" for a key that the schema does not name.
        exported: the path with every model-written step as `*`, fit to leave the process.
    """

    path: Path
    value: Any
    role: Role
    exported: Path


class Names(Protocol):
    """What `snapshot` needs to know of a schema; see `citespan.core.schema.Schema`."""

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
        leaves: every leaf, at most `MAX_LEAVES` and one `OPAQUE` leaf for the rest.
    """

    arguments: dict[str, Any]
    leaves: tuple[Leaf, ...]


def snapshot(arguments: dict[str, Any], schema: Names) -> Snapshot:
    """Copy arguments and list their leaves in one walk.

    Example:
        >>> from citespan.core.schema import UNKNOWN
        >>> [leaf.path for leaf in snapshot({"files": ["a.py"]}, UNKNOWN).leaves]
        [('files', 0)]
    """
    leaves: list[Leaf] = []
    copy: dict[str, Any] = {}
    for name, value in arguments.items():
        if type(name) is not str:
            leaves.append(Leaf((str(type(name)),), OPAQUE, "value", ("*",)))
            copy[name] = value
            continue
        exported: Path = (name,)
        if not schema.names(name):
            exported = ("*",)
            leaves.append(Leaf((name,), name, "key", exported))
        kind = type(value)
        if (kind is str and value.isascii()) or kind is int or kind is bool or value is None:
            leaves.append(Leaf((name,), value, "value", exported))
            copy[name] = value
        else:
            copy[name] = _copy(value, (name,), exported, schema.at(name), leaves, MAX_DEPTH)
    return Snapshot(copy, tuple(leaves))


def _copy(value: Any, path: Path, exported: Path, schema: Names, leaves: list[Leaf], room: int) -> Any:
    kind = type(value)
    if len(leaves) >= MAX_LEAVES:
        if len(leaves) == MAX_LEAVES:
            leaves.append(Leaf(path, OPAQUE, "value", exported))
        return value
    if kind is dict and value and room:
        copied: dict[str, Any] = {}
        for key, member in list(value.items()):
            if type(key) is not str or not is_text(key):
                leaves.append(Leaf((*path, "?"), OPAQUE, "value", (*exported, "*")))
                copied[key] = member
                continue
            named = schema.names(key)
            shown = (*exported, key if named else "*")
            if not named:
                leaves.append(Leaf((*path, key), key, "key", shown))
            copied[key] = _copy(member, (*path, key), shown, schema.at(key), leaves, room - 1)
        return copied
    if kind is list and value and room:
        return [
            _copy(member, (*path, index), (*exported, index), schema.at(index), leaves, room - 1)
            for index, member in enumerate(list(value))
        ]
    leaves.append(Leaf(path, value if is_scalar(value) else OPAQUE, "value", exported))
    return kind() if (kind is dict or kind is list) and not value else value


def is_text(value: str) -> bool:
    """Whether a string has a UTF-8 form; a lone surrogate has none and would fail a whole export batch."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_scalar(value: Any) -> bool:
    """Whether a value is a JSON scalar of an exact type, or an empty container.

    A subclass of `str` can forge equality, and NaN or an infinity has no JSON form: neither is one.
    """
    kind = type(value)
    if kind is str:
        return is_text(value)
    if kind is float:
        return bool(value - value == 0)  # false for NaN and the infinities
    if kind is list or kind is dict:
        return not value
    return kind is int or kind is bool or value is None


def dotted(path: Path) -> str:
    r"""A path as text: `files.0`; a dot inside a key is written `\.` (design section 1).

    Example:
        >>> dotted(("files", 0)), dotted(("a.b", "c"))
        ('files.0', 'a\\.b.c')
    """
    return ".".join(step.replace("\\", "\\\\").replace(".", "\\.") if type(step) is str else str(step) for step in path)


def wildcard(path: Path) -> str:
    """A path with its indexes as `*`: what a metric label or a policy names."""
    return dotted(tuple(step if type(step) is str else "*" for step in path))


_NAME_LIKE = re.compile(r"[A-Za-z_$][A-Za-z_$-]*\d{0,2}", re.ASCII)
MAX_NAME: Final = 48


def field_step(key: str) -> str:
    """A key as a step of a field: itself where it reads like a name, `*` where it is data (an id, a path, a mail).

    Example:
        >>> field_step("address1"), field_step("credit_card_1245537"), field_step("a@b.org")
        ('address1', '*', '*')
    """
    return key if len(key) <= MAX_NAME and _NAME_LIKE.fullmatch(key) else "*"
