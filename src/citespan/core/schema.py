"""A read-only view of a tool's JSON Schema: which keys it names, which values it supplies.

Sources: JSON Schema 2020-12 (`properties`, `items`, `prefixItems`, `enum`, `const`, `default`, `anyOf`, `oneOf`,
`allOf`, local `$ref`). A member that is not understood supplies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from citespan.core.equality import same
from citespan.core.leaves import Step

Supplied: TypeAlias = Literal["enum", "const", "default"]

_MAX_BRANCHES: Final = 64
_MAX_CHILDREN: Final = 512
_NOTHING: Final = object()


class Schema:
    """One place in a schema, with all the branches that can apply there.

    Children are looked up once and kept (bounded), since every call of a tool walks the same places.
    """

    __slots__ = ("_branches", "_children", "_defaults", "_named", "_root", "_silent", "charted")

    def __init__(
        self,
        branches: tuple[Mapping[str, Any], ...],
        root: Mapping[str, Any],
        *,
        charted: bool = True,
        defaults: tuple[Any, ...] = (),
    ) -> None:
        self._root = root
        self._branches = _spread(branches, root)
        self._children: dict[Step, Schema] = {}
        self.charted = charted
        own = tuple(branch["default"] for branch in self._branches if "default" in branch)
        self._defaults = own + defaults
        self._named = frozenset(
            key
            for branch in self._branches
            if isinstance(properties := branch.get("properties"), Mapping)
            for key in properties
        )
        self._silent = not self._defaults and not any("const" in at or "enum" in at for at in self._branches)

    def names(self, key: str) -> bool:
        """Whether this object's schema names the key; the argument names of a tool without a schema count as named."""
        return key in self._named or not self.charted

    def declared(self) -> frozenset[str]:
        """The keys that this object's schema names."""
        return self._named

    def at(self, step: Step) -> Schema:
        """The view of a member; a place that the schema does not describe names and supplies nothing."""
        child = self._children.get(step)
        if child is None:
            child = self._descend(step)
            if len(self._children) < _MAX_CHILDREN:
                self._children[step] = child
        return child

    def _descend(self, step: Step) -> Schema:
        if not self.charted:
            return UNCHARTED
        found = [place for branch in self._branches for place in _members(branch, step)]
        defaults = tuple(inner for default in self._defaults if (inner := _inside(default, step)) is not _NOTHING)
        return Schema(tuple(found), self._root, defaults=defaults)

    def supplies(self, value: Any) -> Supplied | None:
        """Which rule of the schema supplies a value here; `type: boolean` alone is no enum (design section 2).

        Example:
            >>> read({"properties": {"unit": {"enum": ["C", "F"]}}}).at("unit").supplies("C")
            'enum'
        """
        if self._silent:
            return None
        for branch in self._branches:
            if "const" in branch and same(branch["const"], value):
                return "const"
        if any(same(default, value) for default in self._defaults):
            return "default"
        for branch in self._branches:
            members = branch.get("enum")
            if isinstance(members, list | tuple) and any(same(member, value) for member in members):
                return "enum"
        return None


def _spread(branches: tuple[Mapping[str, Any], ...], root: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Every branch that can apply, references and combinators followed, at most `_MAX_BRANCHES`."""
    out: list[Mapping[str, Any]] = []
    waiting = list(reversed(branches))
    while waiting and len(out) < _MAX_BRANCHES:
        branch = waiting.pop()
        if any(branch is known for known in out):
            continue
        out.append(branch)
        reference = branch.get("$ref")
        if isinstance(reference, str):
            target = _resolve(reference, root)
            if target is not None:
                waiting.append(target)
        for combinator in ("anyOf", "oneOf", "allOf"):
            options = branch.get(combinator)
            if isinstance(options, list | tuple):
                waiting.extend(option for option in reversed(options) if isinstance(option, Mapping))
    return tuple(out)


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not reference.startswith("#"):
        return None
    place: Any = root
    for part in reference[1:].split("/")[1:]:
        if not isinstance(place, Mapping):
            return None
        place = place.get(part.replace("~1", "/").replace("~0", "~"))
    return place if isinstance(place, Mapping) else None


def _members(branch: Mapping[str, Any], step: Step) -> list[Mapping[str, Any]]:
    if type(step) is str:
        properties = branch.get("properties")
        if isinstance(properties, Mapping) and step in properties:
            member = properties[step]
        else:
            member = branch.get("additionalProperties")
        return [member] if isinstance(member, Mapping) else []
    found: list[Any] = []
    prefix = branch.get("prefixItems")
    if isinstance(prefix, list | tuple) and isinstance(step, int) and step < len(prefix):
        found.append(prefix[step])
    elif isinstance(items := branch.get("items"), Mapping):
        found.append(items)
    if "enum" in branch:
        # an enum on an array applies to its items (design section 2): models fill such arrays member by member
        found.append({"enum": [member for member in branch["enum"] if not isinstance(member, list)]})
    return [place for place in found if isinstance(place, Mapping)]


def _inside(default: Any, step: Step) -> Any:
    if type(step) is str and isinstance(default, Mapping):
        return default.get(step, _NOTHING)
    if type(step) is int and isinstance(default, list | tuple) and step < len(default):
        return default[step]
    return _NOTHING


#: a tool whose schema nobody told us: argument names pass, nested keys and values are not vouched for
UNKNOWN: Final = Schema((), {}, charted=False)
UNCHARTED: Final = Schema((), {})


def read(schema: Mapping[str, Any] | None) -> Schema:
    """View a tool's parameter schema; None, or one that is no mapping, gives `UNKNOWN`."""
    return Schema((schema,), schema) if isinstance(schema, Mapping) else UNKNOWN
