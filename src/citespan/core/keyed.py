"""Objects that are kept by key, for names that leave the process: such a key is data even where it reads like a name.

`citespan.core.leaves.field_step` looks at one key alone: `alice` could be a name. What stands beside it says more. An
object is taken for one that is kept by key where

1. it has more than `MOST_NAMES` keys,
2. its members are `ALIKE` objects or more, and have most of their keys in common,
3. its members are `SHAPED_ALIKE` texts or more, and look alike: all e-mail addresses, say, and no key says so,
4. a key of it is data, and its members are of one type, or
5. two results have it with no key in common, and the members of both are of one type.

A single small object says none of this: `{"alice": 10}` reads like a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import Any, Final

from citespan.core.leaves import field_step
from citespan.core.names import look_of
from citespan.core.shapes import MAX_SHAPED, SHAPED, shape

#: more keys than a record has
MOST_NAMES: Final = 64
#: members that are alike by chance no more often than one would like
ALIKE: Final = 3
SHAPED_ALIKE: Final = 4
#: keys of a member that are compared
_MAX_KEYS: Final = 64


def is_keyed(objects: Sequence[dict[str, Any]]) -> bool:
    """Whether objects that stand at one place are kept by key.

    Args:
        objects: a few of them.

    Example:
        >>> is_keyed([{"ann": {"age": 3}, "bo": {"age": 4}, "cy": {"age": 5}}]), is_keyed([{"name": "Ann", "age": 3}])
        (True, False)
    """
    if any(len(each) > MOST_NAMES for each in objects):
        return True
    if any(_tells(each) for each in objects):
        return True
    return any(
        one.keys().isdisjoint(other.keys()) and _are_of_one_type([*one.values(), *other.values()])
        for one, other in pairwise(objects)
        if one and other
    )


def _tells(each: dict[str, Any]) -> bool:
    members = list(each.values())
    if not members:
        return False
    if type(members[0]) is dict and len(members) >= ALIKE:
        return _are_alike(members)
    if type(members[0]) is str and len(members) >= SHAPED_ALIKE and _look_alike(members):
        return not any(look_of(key) for key in each if field_step(key) != "*")
    return _are_of_one_type(members) and len(members) > 1 and any(field_step(key) == "*" for key in each)


def _are_alike(members: Sequence[Any]) -> bool:
    """Whether they are objects that have most of their keys in common."""
    if not _are_of_one_type(members):
        return False
    keys = [set(islice(member, _MAX_KEYS)) for member in members]
    common = set.intersection(*keys)
    return bool(common) and all(2 * len(common) >= len(each) for each in keys)


def _look_alike(members: Iterable[Any]) -> bool:
    looks = {shape(member) if type(member) is str and len(member) <= MAX_SHAPED else "other" for member in members}
    return len(looks) == 1 and looks <= SHAPED


def _are_of_one_type(members: Iterable[Any]) -> bool:
    return len({int if type(member) is float else type(member) for member in members}) == 1
