"""The audit as a machine: add spans in any order, finish, read the findings."""

from __future__ import annotations

import os
from types import TracebackType

import orjson

from citespan.audit.against import over, undecided
from citespan.audit.alone import Flaw, flaws
from citespan.audit.causality import find_conflicts, find_open, find_parents
from citespan.audit.citations import find_broken, find_digests, place
from citespan.audit.facts import Facts, identity_of
from citespan.audit.guarded import find_unguarded
from citespan.audit.kept import Kept
from citespan.audit.model import Audit
from citespan.audit.policies import find_policies
from citespan.audit.rules import RULES
from citespan.audit.store import Store
from citespan.calls import Call, call_of
from citespan.core.policy import Policy
from citespan.core.resolve import Rulebook
from citespan.errors import EXIT_INCOMPLETE, UsageError
from citespan.otel.digest import VARIABLE, Digester, find_key, key_file
from citespan.traces.model import SpanRecord

_MAX_TOOLS = 4096


class Auditor:
    """Audits spans. Use it in one thread at a time; what it holds on disk is gone when it is closed.

    Its memory does not grow with the number of spans (`citespan.audit.store`).

    Args:
        policy: what calls are held against besides; None for none.

    Example:
        >>> with Auditor() as auditor:
        ...     auditor.finish().exit_code
        2
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._book = None if policy is None else Rulebook(policy)
        self._digester = _digester()
        self._store = Store()
        self._facts = Facts(self._store)
        self._kept = Kept()
        self._undecided: dict[str, bool] = {}
        self._audit: Audit | None = None

    def add(self, span: SpanRecord) -> None:
        """Take one span in; the same span again counts once.

        Raises:
            TraceFileError: its facts do not fit on the disk. UsageError: the audit is finished.
            PolicyError: two rules of the policy tie for its tool.
        """
        if self._audit is not None:
            raise UsageError("this audit is finished; make another Auditor")
        call = call_of(span)
        if call is None:
            self._store.add(self._facts.span(span, None, ()), ())
            return
        found = list(flaws(span, call, self._digester))
        if self._book is not None and (more := self._against(call, self._book)) is not None:
            found.append(more)
        self._store.add(self._facts.span(span, call, found), self._facts.citations(call))

    def _against(self, call: Call, book: Rulebook) -> Flaw | None:
        unclear = self._undecided.get(call.tool)
        if unclear is None:
            unclear = undecided(call.tool, book)
            if len(self._undecided) < _MAX_TOOLS:
                self._undecided[call.tool] = unclear
                if unclear:
                    self._kept.add(
                        "undecided", "which of the policy's rules hold depends on its server", tool=call.tool
                    )
        return None if unclear else over(call, book)

    def finish(self) -> Audit:
        """All findings. Nothing can be added after it; a second time gives the same.

        Raises:
            TraceFileError: the disk is full.
        """
        if self._audit is None:
            self._audit = self._finish()
            self.close()
        return self._audit

    def _finish(self) -> Audit:
        store, kept = self._store, self._kept
        store.settle()
        for found, trace, span, start, tool, source, line in store.rows(
            "SELECT found, trace, id, start, tool, source, line FROM span WHERE found IS NOT NULL"
        ):
            for rule, argument, message in orjson.loads(found):
                kept.add(
                    rule,
                    message,
                    time=start,
                    tool=store.text(tool),
                    argument=argument,
                    trace_id=identity_of(trace),
                    span_id=identity_of(span),
                    place=place(store, source, line),
                )
        calls = find_unguarded(store, kept)
        find_broken(store, kept)
        find_digests(store, kept)
        find_policies(store, kept, None if self._book is None else self._book.digest)
        find_parents(store, kept)
        find_open(store, kept)
        find_conflicts(store, kept)
        if not calls:
            kept.add("no-calls", "no tool call is in the files")
        spans = store.one("SELECT count(*) FROM (SELECT 1 FROM span GROUP BY trace, id)")
        findings = kept.findings()
        return Audit(
            findings,
            kept.counts.total() - len(findings),
            0 if spans is None else spans[0],
            calls,
            {rule: kept.counts[rule] for rule in RULES if kept.counts[rule]},
            any(RULES[rule].exit_code == EXIT_INCOMPLETE for rule in kept.counts),
        )

    def close(self) -> None:
        """Let go of memory and disk; a second time is nothing."""
        self._store.close()

    def __enter__(self) -> Auditor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _digester() -> Digester | None:
    """Of this user's digest key, None where there is none yet: an audit makes no key."""
    try:
        known = bool(os.environ.get(VARIABLE, "").strip()) or key_file(os.environ).is_file()
    except (OSError, RuntimeError, ValueError):
        return None
    return Digester(find_key(os.environ)) if known else None
