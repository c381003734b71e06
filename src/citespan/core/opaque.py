"""Values without a JSON copy: what can still be read of them, so that an echo of one is known for an echo.

Nothing vouches for an opaque value, and the body gets the object itself. Its texts matter all the same: a tool that is
given a `str` subclass and returns it gives back a plain text.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

MAX_READ: Final = 10_000
MAX_OBJECTS: Final = 100
_SIMPLE: Final = (str, int, float, bytes)
#: what holds code, not what a call was given
_CODE: Final = (type, FunctionType, BuiltinFunctionType, ModuleType)


class Opaque(NamedTuple):
    """A value that has no JSON copy.

    Args:
        texts: scalars that could be read out of it.
        foreign: whether an object in it may hold more than its plain attributes say.
        cut: whether it holds more than was read.
    """

    texts: tuple[Any, ...]
    foreign: bool
    cut: bool


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


def opaque(value: Any) -> Opaque:
    """What can be read of a value without calling any of its own code.

    Example:
        >>> opaque(("a.py", 1)), opaque(object()).foreign
        (Opaque(texts=('a.py', 1), foreign=False, cut=False), True)
    """
    objects: list[Any] = []
    texts: list[Any] = []
    cut = _read(value, texts, objects)
    foreign = bool(objects)
    looked_at: set[int] = set()
    while objects and len(looked_at) < MAX_OBJECTS and len(texts) < MAX_READ:
        thing = objects.pop(0)
        if id(thing) not in looked_at and not isinstance(thing, _CODE):
            looked_at.add(id(thing))
            _read(_attributes(thing), texts, objects)
    return Opaque(tuple(texts), foreign, cut)


def _read(value: Any, texts: list[Any], objects: list[Any]) -> bool:
    """Add the scalars and the foreign objects of a value; True when there were too many."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        if len(texts) >= MAX_READ or len(waiting) > 2 * MAX_READ:
            return True
        at = waiting.pop()
        if isinstance(at, list | tuple | dict | set | frozenset):
            if id(at) not in seen:
                seen.add(id(at))
                waiting.extend(reversed(_inside(at)))
        elif isinstance(at, _SIMPLE):
            texts.append(_base(at))
        elif at is not None:
            objects.append(at)
    return False


def _attributes(thing: Any) -> list[Any]:
    """The plain attributes and slots of an object, without its properties and hooks."""
    held: list[Any] = []
    for kind in type(thing).__mro__:
        for member in vars(kind).values():
            if type(member) in _STORED:
                try:
                    held.append(member.__get__(thing))
                except (AttributeError, TypeError):
                    continue
    return held


class _Slotted:
    __slots__ = ("slot",)


#: the descriptors of slots and of `__dict__`: reading one runs no code of the object's own
_STORED: Final = (type(vars(_Slotted)["slot"]), type(vars(type("_Plain", (), {}))["__dict__"]))


def _inside(container: Any) -> list[Any]:
    """The members of a container by its base class, whatever a subclass makes of iteration."""
    if isinstance(container, dict):
        return [part for pair in dict.items(container) for part in pair]
    if isinstance(container, list):
        return list(list.__iter__(container))
    if isinstance(container, tuple):
        return list(tuple.__iter__(container))
    if isinstance(container, set):
        return list(set.__iter__(container))
    return list(frozenset.__iter__(container))


def _base(value: Any) -> Any:
    """A plain scalar of the same content."""
    if isinstance(value, str):
        return str.__str__(value).encode("utf-8", "replace").decode()
    if isinstance(value, bytes):
        return bytes.decode(value, "utf-8", "replace")
    if isinstance(value, bool):
        return bool(value)
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)
