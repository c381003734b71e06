"""Which policies judged the calls of each trace."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from citespan.audit.citations import place
from citespan.audit.facts import identity_of
from citespan.audit.kept import Kept
from citespan.audit.store import Store
from citespan.calls.words import number

_POLICIES: Final = """
SELECT trace, policy, id, start, tool, source, line FROM span WHERE policy IS NOT NULL
ORDER BY trace, start, id, mark
"""
#: policies of one trace that are told apart
_MOST: Final = 100


def find_policies(store: Store, kept: Kept, digest: str | None) -> None:
    """Traces with several policies, and calls of another than the audit's.

    Args:
        digest: of the policy that the audit was given, None for none.
    """
    for trace, group in groupby(store.rows(_POLICIES), key=lambda row: row[0]):
        firsts: dict[str, Any] = {}
        counts: dict[str, int] = {}
        for row in group:
            policy = store.text(row[1])
            if policy not in firsts and len(firsts) >= _MOST:
                policy = "others"
            firsts.setdefault(policy, row)
            counts[policy] = counts.get(policy, 0) + 1
        for position, (policy, (_, _, span, start, tool, source, line)) in enumerate(firsts.items()):
            where: dict[str, Any] = {
                "time": start,
                "tool": store.text(tool),
                "trace_id": identity_of(trace),
                "span_id": identity_of(span),
                "place": place(store, source, line),
            }
            if position == 1:
                kept.add("several-policies", f"{len(firsts)} policies in one trace: from here on {policy}", **where)
            if digest is not None and policy != digest:
                calls = number(counts[policy], "call")
                kept.add("other-policy", f"{calls} of this trace judged under policy {policy}, not {digest}", **where)
