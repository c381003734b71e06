"""The demo's table: every argument of every call, its kind, its source, and what became of the call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich import box
from rich.table import Table
from rich.text import Text

from citespan.core.decision import Decision, Tag
from citespan.core.kinds import Assumed, Derived, FromSchema, FromUser, Invented, Observed
from citespan.core.leaves import dotted

MAX_VALUE: Final = 18
STYLES: Final = {
    "assumed": "red",
    "blocked": "bold red",
    "error": "bold red",
    "derived": "cyan",
    "flagged": "yellow",
    "invented": "yellow",
    "observed": "green",
    "ok": "green",
    "schema": "cyan",
    "unguarded": "yellow",
    "user": "cyan",
}


def table(decisions: Iterable[Decision]) -> Table:
    """One row per call with what became of it, then one per argument leaf.

    Values are shown: this table is for the terminal only. It fits into 80 columns for the demo's calls.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("call, argument", "kind", "source", "status"):
        made.add_column(heading, overflow="fold")
    for decision in decisions:
        made.add_row(Text(decision.tool, "bold"), "", "", Text(decision.status, STYLES[decision.status]))
        for tag in decision.tags:
            kind = tag.provenance.kind
            argument = f"  {dotted(tag.leaf.path)} = {shorten(tag.leaf.value)}"
            made.add_row(Text(argument), Text(kind, "" if tag.allowed else STYLES[kind]), source(tag), "")
    return made


def source(tag: Tag) -> str:
    """Where a leaf came from, in a few words."""
    match tag.provenance:
        case Observed(sources=(first, *_)) | Derived(sources=(first, *_)):
            return first.field if first.projection == "exact" else f"{first.field} ({first.projection})"
        case FromUser(origin=origin, path=path):
            return f"{origin}.{path}"
        case FromSchema(rule=rule):
            return rule
        case Invented():
            return "approved proposal"
        case Assumed() if tag.allowed:
            return "allowed by the policy"
        case _:
            return "none"


def shorten(value: Any) -> str:
    """A value in at most `MAX_VALUE` characters: the end of a path says more than its start.

    Example:
        >>> shorten("/tmp/citespan-demo-x1y2z3/repository"), shorten("b15bed36ab0123456789ffff0123456789")
        ('.../repository', 'b15bed36ab01234...')
    """
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= MAX_VALUE:
        return text
    name = text.rpartition("/")[2]
    if "/" in text and name and len(name) <= MAX_VALUE - 4:
        return f".../{name}"
    return f"{text[: MAX_VALUE - 3]}..."
