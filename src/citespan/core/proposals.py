"""Proposals, and who decides about them (design sections 2 and 3, kind `invented`; ADR 0017).

An approval covers one (tool, argument, value), once, and is given by the host, never through a tool. Only the digest
of the value is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from citespan.core import locks
from citespan.core.decision import Decision
from citespan.core.leaves import Path, dotted

MAX_APPROVALS: Final = 1024
DIGEST_BYTES: Final = 16


class Proposal(NamedTuple):
    """A value that someone wants to use although no tool returned it.

    Args:
        tool: the tool to be called, `server/tool` where it is one of an MCP server's; argument: dotted leaf path;
            value: the leaf; reason: for the reviewer.
    """

    tool: str
    argument: str
    value: Any
    reason: str = ""

    @property
    def text(self) -> str:
        """(tool, argument, value) as one JSON text. Values that are equal as JSON have one text, others have not.

        Example:
            >>> Proposal("book", "seats", 2.0).text, Proposal("book", "seats", "2").text
            ('["book","seats",2]', '["book","seats","2"]')
        """
        value = self.value
        if type(value) is float and value.is_integer():
            value = int(value)
        return json.dumps([self.tool, self.argument, value], ensure_ascii=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """32 hex characters that name (tool, argument, value) inside this process.

        It has no key, so that a short value could be looked up: it must not leave the process. It is wide enough that
        nobody finds a second value for it before the first is proposed.
        """
        return hashlib.blake2b(self.text.encode(), digest_size=DIGEST_BYTES).hexdigest()


@runtime_checkable
class Reviewer(Protocol):
    """Who may approve what no source vouches for. `True` approves, and nothing else does.

    Anything with these two methods is one. The package has `deny`, recorded approvals
    (`citespan.recorded_approvals`), and takes a function for either of the two.
    """

    def proposal(self, proposal: Proposal, /) -> bool:
        """Whether a value that is meant to be new may be used once."""
        ...

    def call(self, decision: Decision, /) -> bool:
        """Whether a refused call may run all the same, under `on_violation = "ask"`."""
        ...


def _no(asked: Proposal | Decision, /) -> bool:
    return False


class Callbacks(NamedTuple):
    """A reviewer made of functions; what has no function is refused."""

    proposal: Callable[[Proposal], bool] = _no
    call: Callable[[Decision], bool] = _no


#: refuses everything: what holds where nobody named a reviewer
deny: Final[Reviewer] = Callbacks()


def for_calls(given: Reviewer | Callable[[Decision], bool] | None) -> Reviewer:
    """What `configure` was given, as a reviewer. A plain function decides about refused calls, and no proposals."""
    if given is None:
        return deny
    return given if isinstance(given, Reviewer) else Callbacks(call=given)


def for_proposals(given: Reviewer | Callable[[Proposal], bool]) -> Reviewer:
    """What `run.propose` was given, as a reviewer."""
    return given if isinstance(given, Reviewer) else Callbacks(proposal=given)


class Approvals:
    """Approved proposals, each good for one call. At most `MAX_APPROVALS` wait; more are refused."""

    __slots__ = ("_lock", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._lock = locks.lock()

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
