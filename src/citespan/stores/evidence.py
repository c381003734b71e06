"""The evidence file: one JSON line per decision, appended before the body runs (design section 5.4).

A span may be lost on its way to a collector; this line is not. Schema `citespan.evidence/1`, see docs/evidence.md. It
holds no argument value: paths, kinds and sources only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from citespan.core import locks
from citespan.core.decision import Decision, Tag
from citespan.core.kinds import SpanRef
from citespan.core.leaves import Step, dotted, wildcard
from citespan.core.nearest import Offer
from citespan.guard.ports import ToolCall

SCHEMA: Final = "citespan.evidence/1"
VARIABLE: Final = "CITESPAN_EVIDENCE"
MAX_BYTES: Final = 4 * 1024**3
MAX_LEAVES: Final = 512
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


def evidence_path() -> Path:
    """Where decisions are written by default: as `CITESPAN_EVIDENCE` says, else in the user's state folder (XDG)."""
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "citespan" / "evidence.jsonl"


class EvidenceFile:
    """An append-only file, mode 0600, safe for threads and for several processes on a local file system.

    Args:
        path: the file; its folder must exist. max_bytes: at this size `append` raises, and the guard denies, until
            somebody moves the file away; evidence is never overwritten.

    Raises:
        OSError: the file cannot be opened.

    Example:
        `citespan.configure(evidence="evidence.jsonl")`
    """

    def __init__(self, path: str | Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = Path(path)
        self._max = max_bytes
        self._lock = locks.lock()
        self._fd = -1
        self._size = 0
        self._broken = False
        self.reopen()

    def __str__(self) -> str:
        """Where it is."""
        return str(self._path)

    def reopen(self) -> None:
        """Open the path anew, after the file was moved away."""
        fd = os.open(self._path, _FLAGS, 0o600)
        with self._lock:
            old, self._fd = self._fd, fd
            self._size = os.fstat(fd).st_size
        if old >= 0:
            os.close(old)

    def _moved(self) -> bool:
        """Whether the path no longer names the open file, since somebody moved it away."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True
        mine = os.fstat(self._fd)
        return (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev)

    def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
        """Write one line with one `write`; a refusal is synced to disk.

        Raises:
            OSError: it could not be written whole, or the file is full.
        """
        line = evidence_line(call, decision, span, time.time_ns())
        if self._size + len(line) > self._max and self._moved():
            self.reopen()
        with self._lock:
            if self._size + len(line) > self._max:
                raise OSError(f"evidence file is at its bound of {self._max} bytes; move it away")
            if self._broken:
                line = b"\n" + line
            written = os.write(self._fd, line)
            self._size += written
            self._broken = written != len(line)
            if written != len(line):
                raise OSError(f"evidence line cut short: {written} of {len(line)} bytes")
            if decision.deny:
                os.fsync(self._fd)

    def close(self) -> None:
        """Close the file; further appends raise."""
        with self._lock:
            fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def evidence_line(call: ToolCall, decision: Decision, span: SpanRef | None, now: int) -> bytes:
    """One line of schema `citespan.evidence/1`, newline included.

    Args:
        now: Unix time in nanoseconds.
    """
    tags = decision.tags
    offers = {(offer.argument, offer.path): offer for offer in call.offers}
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "time_unix_nano": now,
        "trace_id": span.trace_id if span else None,
        "span_id": span.span_id if span else None,
        "tool": _text(decision.tool),
        "server": None if decision.server is None else _text(decision.server),
        "run": None if call.run_id is None else _text(call.run_id),
        "status": decision.status,
        "mode": decision.mode,
        "policy": decision.policy,
        "violations": [violation.text for violation in decision.violations],
        "leaves": [_leaf(tag, offers) for tag in tags[:MAX_LEAVES]],
    }
    if len(tags) > MAX_LEAVES:
        record["leaves_cut"] = len(tags) - MAX_LEAVES
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _leaf(tag: Tag, offers: Mapping[tuple[Step, str], Offer]) -> dict[str, Any]:
    provenance = tag.provenance
    found: dict[str, Any] = {"path": dotted(tag.leaf.exported), "kind": provenance.kind}
    if (provenance.kind == "observed" or provenance.kind == "derived") and provenance.sources:
        source = provenance.sources[0]
        found["source"] = f"{source.tool}.{source.shown}"
        found["projection"] = source.projection
        if source.span is not None:
            found["source_span"] = source.span.span_id
    elif provenance.kind == "assumed":
        found["why"] = provenance.why
    if provenance.weak:
        found["weak"] = True
    if tag.counted:
        found["counted"] = True
        if offers and tag.leaf.role == "value":
            _offer(offers.get((tag.leaf.path[0], wildcard(tag.leaf.exported))), found)
    return found


def _offer(offer: Offer | None, found: dict[str, Any]) -> None:
    """Add what could have vouched for a leaf."""
    if offer is None:
        return
    if offer.accepts:
        found["accepts"] = [_text(name) for name in offer.accepts]
    if offer.nearest:
        found["nearest"] = [_text(name) for name in offer.nearest]


def _text(text: str) -> str:
    """A name without lone surrogates, which no UTF-8 file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
