"""Locks that a forked process finds open: whoever held one in the parent is no thread of the child's."""

from __future__ import annotations

import os
import threading
from typing import Any, Final
from weakref import WeakSet

_known: Final[WeakSet[Any]] = WeakSet()


def lock() -> threading.Lock:
    """A lock that no fork leaves held."""
    made = threading.Lock()
    _known.add(made)
    return made


def reentrant() -> Any:
    """As `lock`, for one that its holder may take again."""
    made = threading.RLock()
    _known.add(made)
    return made


def _open_all() -> None:
    for each in list(_known):
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
