"""A mapping that forgets what was not touched for long."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps at least the `most` keys that were put or found last, and at most twice as many.

    Two plain dicts, the younger of which replaces the older one when it is full: no order to be kept with each touch.

    Example:
        >>> recent = Recent[str, int](1)
        >>> for number, name in enumerate(["a", "b", "c"]):
        ...     recent.put(name, number)
        >>> recent.get("a"), recent.get("b"), recent.get("c")
        (None, 1, 2)
    """

    __slots__ = ("_most", "_old", "_young")

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """What was put under a key, None where that was forgotten. Counts as a touch."""
        found = self._young.get(key)
        if found is None and key in self._old:
            found = self._old.pop(key)
            self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        if len(self._young) >= self._most and key not in self._young:
            self._old, self._young = self._young, {}
        self._young[key] = value
