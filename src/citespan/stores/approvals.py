"""Recorded approvals: what a person allowed earlier, by keyed digest, for runs that nobody watches (ADR 0017)."""

from __future__ import annotations

import logging
import os
import shlex
import threading
from collections import Counter
from collections.abc import Hashable
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from citespan.core.decision import Decision
from citespan.core.leaves import dotted
from citespan.core.opaque import is_scalar
from citespan.core.proposals import Proposal
from citespan.errors import UsageError
from citespan.stores import approval_file
from citespan.stores.approval_file import DIGEST_BYTES, MAX_CHARS, Approval

_PERSON: Final = b"approval/1"
_log: Final = logging.getLogger("citespan")

#: what an approval is found by: tool, argument, digest
Name: TypeAlias = tuple[str, str, str]


class DigestKey(NamedTuple):
    """The secret of digests, 1 to 64 bytes, and the 8 hex characters that name it without giving it away."""

    secret: bytes
    name: str


def digest_of(proposal: Proposal, key: DigestKey) -> str:
    """32 hex characters that name (tool, argument, value) to whoever has the key, and nothing to others."""
    data = proposal.text.encode()
    return blake2b(data, key=key.secret, digest_size=DIGEST_BYTES, person=_PERSON).hexdigest()


#: how often each approval was used, by process and file: by the file's name, and by the file itself, so that neither
#: another name nor another file of that name makes anything good again
_USES: Final[dict[tuple[int, Hashable], Counter[Name]]] = {}
#: by process: a forked child has no lock of its parent's
_LOCKS: Final[dict[int, threading.Lock]] = {}


class RecordedApprovals:
    """A reviewer that approves what the lines of a file cover, each line once in this process.

    A forked child has nothing of its parent's: it must read the file itself.

    Args:
        path: the file. key: of the digests in it.

    Raises:
        ApprovalsError: the file cannot be read, others may write to it, or a line of it is broken.

    Example:
        `citespan.configure(reviewer=citespan.recorded_approvals("approvals.jsonl"))`
    """

    def __init__(self, path: str | Path, key: DigestKey) -> None:
        self.path = Path(path)
        self._key = key
        data, file = approval_file.load(self.path)
        self._recorded = Counter(_name(approval) for approval in approval_file.parse(data, str(path), key.name))
        #: 16 hex characters that name what was read
        self.file_digest = blake2b(data, digest_size=8).hexdigest()
        self._process = os.getpid()
        self._lock = _LOCKS.setdefault(self._process, threading.Lock())
        self._uses = [_USES.setdefault((self._process, key), Counter()) for key in (os.path.realpath(path), file)]
        _log.info("citespan read %d approvals from %s, digest %s", len(self), path, self.file_digest)

    def __len__(self) -> int:
        return self._recorded.total()

    def digest(self, proposal: Proposal) -> str:
        """The digest by which a line of the file would approve this."""
        return digest_of(proposal, self._key)

    def proposal(self, proposal: Proposal, /) -> bool:
        """Whether an unused line covers a proposal; uses it up."""
        return self._take([(proposal, proposal.argument)])

    def call(self, decision: Decision, /) -> bool:
        """Whether unused lines cover every leaf that a call was refused for; uses up all of them, or none.

        A key that the tool's schema does not name, and a value that is no plain JSON, can have no line.
        """
        tool = decision.tool if decision.server is None else f"{decision.server}/{decision.tool}"
        leaves = [tag.leaf for tag in decision.counted]
        if not leaves or any(leaf.role == "key" or not is_scalar(leaf.value) for leaf in leaves):
            return False
        return self._take(
            [(Proposal(tool, dotted(leaf.path), leaf.value), dotted(leaf.exported)) for leaf in leaves],
        )

    def _take(self, asked: list[tuple[Proposal, str]]) -> bool:
        """Use up one line for each, all or nothing. The text beside a proposal is its argument, fit for a log."""
        if os.getpid() != self._process:
            _log.warning("citespan approved nothing from %s: it was read before this process was forked", self.path)
            return False
        names = [(proposal.tool, proposal.argument, self.digest(proposal)) for proposal, _ in asked]
        with self._lock:
            missing = Counter(names) - (self._recorded - (self._uses[0] | self._uses[1]))
            if not missing:
                for uses in self._uses:
                    uses.update(names)
                return True
        for (tool, argument, digest), (_, shown) in zip(names, asked, strict=True):
            if (tool, argument, digest) in missing:
                self._explain(tool, shown, digest)
        return False

    def _explain(self, tool: str, argument: str, digest: str) -> None:
        _log.warning(
            "citespan: no unused approval %s (key %s) of %s.%s. To record one: citespan approve %s --tool %s "
            "--argument %s, with the value as JSON on standard input",
            digest,
            self._key.name,
            _plain(tool),
            _plain(argument),
            _plain(str(self.path)),
            _plain(tool),
            _plain(argument),
        )


def _plain(text: str) -> str:
    """A text as one word of a shell's, and of one line."""
    return shlex.quote(text if text.isprintable() else ascii(text))


def _name(approval: Approval) -> Name:
    return approval.tool, approval.argument, approval.digest


def record(
    path: str | Path, proposal: Proposal, key: DigestKey, *, approved_by: str | None = None, now: datetime | None = None
) -> Approval:
    """Append one approval, as one line with one `write`; the file is made where there is none, mode 0600.

    Args:
        now: when it was approved; None for the time of this call.

    Returns:
        What was recorded.

    Raises:
        UsageError: the value is no leaf, or a text is empty or over `MAX_CHARS` characters.
        ApprovalsError: the file is one that could not be read either, or it is full.
    """
    if not is_scalar(proposal.value):
        raise UsageError("an approval covers one leaf, a scalar or an empty container: approve each leaf by itself")
    given = {
        "tool": proposal.tool,
        "argument": proposal.argument,
        "reason": proposal.reason or None,
        "approved_by": approved_by,
    }
    for name, text in given.items():
        if text is not None and not approval_file.is_name(text):
            raise UsageError(f"{name} must be a text of 1 to {MAX_CHARS} characters")
    time = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    approval = Approval(
        proposal.tool, proposal.argument, digest_of(proposal, key), key.name, given["reason"], approved_by, time
    )
    approval_file.append(Path(path), approval)
    return approval
