"""Proposals: values that are meant to be new (design sections 2 and 3, kind `invented`).

An approval covers one (tool, argument, value), once, and is given by the host, never through a tool. Only the digest
of the value is kept.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any, Final, NamedTuple

from citespan.core.leaves import Path, dotted

MAX_APPROVALS: Final = 1024


class Proposal(NamedTuple):
    """A value that someone wants to use although no tool returned it.

    Args:
        tool: the tool to be called; argument: dotted leaf path; value: the scalar; reason: for the reviewer.
    """

    tool: str
    argument: str
    value: Any
    reason: str = ""

    @property
    def digest(self) -> str:
        """16 hex characters that name (tool, argument, value); for approvals inside a process and in files."""
        text = json.dumps([self.tool, self.argument, self.value], ensure_ascii=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class Approvals:
    """Approved proposals, each good for one call. At most `MAX_APPROVALS` wait; more are refused."""

    __slots__ = ("_lock", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, proposal: Proposal) -> bool:
        """Approve; False when too many approvals wait unused."""
        with self._lock:
            if len(self._waiting) >= MAX_APPROVALS:
                return False
            self._waiting[proposal.digest] = None
            return True

    def approves(self, tool: str, path: Path, value: Any) -> str | None:
        """The digest of the approval that covers a leaf, None where none does. Does not use it up."""
        found = Proposal(tool, dotted(path), value).digest
        return found if found in self._waiting else None

    def use(self, digest: str) -> bool:
        """Use an approval up; False when another call was faster."""
        with self._lock:
            return self._waiting.pop(digest, self) is not self
