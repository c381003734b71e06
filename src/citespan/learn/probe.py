"""What would have made a value citable: the recording judged once more under a rulebook that admits everything.

Nothing is guessed here: each explanation is what the core itself answers, so a policy that is learned from it cites the
same values the same way.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from citespan.core.leaves import Leaf
from citespan.core.policy import ArgumentRule, Output
from citespan.core.projections import PROJECTIONS
from citespan.core.resolve import Resolved
from citespan.policy_file.checks import DERIVATIONS, ready
from citespan.replay import AsRecorded

#: text projections that are tried; any token of a text would explain everything
TEXT: Final = tuple(name for name in ready("text") if name not in {"tokens", "regex"})
ARGUMENT: Final = tuple(name for name in ready("argument"))
#: computations that are tried, by name; those that need a parameter are looked for elsewhere
DERIVE: Final = tuple(
    name for name in ("round", "date_offset", "sum", "difference", "product", "percent") if DERIVATIONS.get(name)
)
#: fields of any depth: a rule that names its sources does not ask whether a value looks like its field
_ANYWHERE: Final = tuple(".".join("*" * depth) for depth in range(2, 14))

CITE: Final = ArgumentRule(projections=ARGUMENT)
NAME: Final = ArgumentRule(sources=_ANYWHERE)
COMPUTE: Final = ArgumentRule(
    projections=tuple(name for name in ARGUMENT if name == "number"),
    derive=DERIVE,
    accept=frozenset({"observed", "user", "schema", "invented", "derived"}),
)


class _Open(Resolved):
    """The rules of a tool with one rule for every leaf."""

    __slots__ = ("rule",)
    rule: ArgumentRule

    def argument(self, leaf: Leaf) -> ArgumentRule:
        return self.rule


class Probe(AsRecorded):
    """Every policy at once, of one sort: every tool's text is read by every projection, every leaf has one rule."""

    __slots__ = ("_rule", "_text")

    def __init__(self, policy: Any, rule: ArgumentRule, text: tuple[str, ...] = ()) -> None:
        super().__init__(policy)
        self._rule = rule
        self._text = text

    def tool(
        self,
        tool: str,
        server: str | None,
        output: Output | None = None,
        read_only: bool | None = None,
        confirms: tuple[str, ...] = (),
    ) -> Resolved:
        """See `Rulebook.tool`."""
        found = super().tool(tool, server, output, read_only, confirms)
        values = {entry.name: getattr(found, entry.name) for entry in fields(Resolved)}
        opened = _Open(**values | {"text": self._text, "arguments": {"*": self._rule}})
        object.__setattr__(opened, "rule", self._rule)
        return opened


def is_text_projection(name: str) -> bool:
    """Whether a citation's projection is one that a tool's output declares."""
    row = PROJECTIONS.get(name.partition(":")[0])
    return row is not None and row.stage == "text"


def is_argument_projection(name: str) -> bool:
    """Whether a citation's projection is one that an argument declares."""
    row = PROJECTIONS.get(name)
    return row is not None and row.stage == "argument"
