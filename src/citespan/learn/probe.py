"""What would have made a value citable: the recording judged once more under rulebooks that admit everything of a sort.

Nothing is guessed here: each explanation is what the core itself answers, so a policy that is learned from it cites the
same values the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from citespan.core.computation import computation
from citespan.core.decision import Tag
from citespan.core.kinds import Kind
from citespan.core.leaves import Leaf
from citespan.core.policy import ArgumentRule, Output, Policy
from citespan.core.projections import PROJECTIONS
from citespan.core.resolve import Resolved
from citespan.learn import totals
from citespan.learn.evidence import Explanation
from citespan.learn.looks import look
from citespan.learn.recorded import Moment, put
from citespan.learn.written import item
from citespan.policy_file.checks import ready
from citespan.replay import AsRecorded

#: text projections that are tried; any token of a text would explain everything, and a pattern is for a person to write
TEXT: Final = tuple(name for name in ready("text") if name not in {"tokens", "regex"})
ARGUMENT: Final = tuple(ready("argument"))
_ACCEPT: Final[frozenset[Kind]] = frozenset({"observed", "user", "schema", "invented", "derived"})
#: fields of any depth: a rule that names its sources does not ask whether a value looks like its field
_ANYWHERE: Final = tuple(".".join("*" * depth) for depth in range(2, 14))

#: computations that are tried of a number, and of a date or time
_NUMBERS: Final = ("sum", "difference", "product", "percent")
#: a date of which the user said one part and a result has the other, and the computations that put them together
SAID_DATE: Final = "said_date"
SAID_DATES: Final = ("date_offset", "date_in_year")
_OFFSETS: Final = ("30 minutes", "1 hour", "2 hours", "1 day", "1 week")
MAX_DIGITS: Final = 4
#: how far a made-up number, and a made-up time in minutes, is off from the recorded one
_OFF: Final = (1, -1, 3, 7, 13, 29)
_MINUTES: Final = (17, 95, -45, 605, 1440 * 3 + 17, -1440 * 11 - 95)
_DAYS: Final = (3, -5, 11, 17, -23, 43)


class _Open(Resolved):
    """The rules of a tool with one rule for every leaf."""

    __slots__ = ("rule",)
    rule: ArgumentRule

    def argument(self, leaf: Leaf) -> ArgumentRule:
        return self.rule


class Probe(AsRecorded):
    """A rulebook under which every leaf has one rule, and every tool's text is read by some projections."""

    __slots__ = ("_rule", "_text")

    def __init__(self, policy: Policy, rule: ArgumentRule, text: tuple[str, ...] = ()) -> None:
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


class Probes:
    """Asks what would explain an uncited leaf."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.cite = Probe(policy, ArgumentRule(projections=ARGUMENT), TEXT)
        self._name = Probe(policy, ArgumentRule(sources=_ANYWHERE, accept=_ACCEPT))
        self._derive: dict[str, Probe] = {}

    def explain(self, moment: Moment, index: int, tag: Tag, *, unlike: bool) -> Iterator[tuple[Explanation, int, int]]:
        """What would have made a leaf citable, with how many made-up values it explains too, and of how many.

        Args:
            moment: of a run under `cite`. tag: of the leaf, in that run; index: where it is among the tags.
            unlike: whether it was uncited because it looks unlike its field.
        """
        if unlike:
            named = moment.instead(moment.call.arguments, self._name).tags[index].provenance
            if named.kind == "observed":
                yield Explanation("from", named.sources[0].field, named.sources[0].projection), 0, 0
                return
        cited = _cited(tag)
        if cited is not None:
            yield cited, 0, 0
            return
        for declared in chain(_candidates(tag.leaf.value), totals.candidates(moment, tag)):
            probe = self._computing(declared)
            if moment.instead(moment.call.arguments, probe).tags[index].provenance.kind != "derived":
                continue
            hits = tries = 0
            for wrong in _made_up(tag.leaf.value):
                tries += 1
                decision = moment.instead(put(moment.call.arguments, tag.leaf.path, wrong), probe)
                hits += index < len(decision.tags) and decision.tags[index].provenance.kind == "derived"
            yield Explanation("derive", "", declared), hits, tries

    def _computing(self, declared: str) -> Probe:
        probe = self._derive.get(declared)
        if probe is None:
            made = item(declared)
            names = SAID_DATES if declared == SAID_DATE else [made]
            dated = {SAID_DATE, *SAID_DATES}
            projections = () if declared.partition(" ")[0] in dated else ("number",)
            rule = ArgumentRule(derive=tuple(map(computation, names)), projections=projections, accept=_ACCEPT)
            probe = self._derive[declared] = Probe(self._policy, rule)
        return probe


def _cited(tag: Tag) -> Explanation | None:
    provenance = tag.provenance
    if provenance.kind != "observed":
        return None
    source = provenance.sources[0]
    if is_text_projection(source.projection):
        if look(tag.leaf.value) in {"email", "url"} and source.projection != "url":
            return None  # an address that stands somewhere in a text: no listing of them
        return Explanation("text", source.tool, source.projection)
    if is_argument_projection(source.projection):
        return Explanation("argument", source.field, source.projection)
    return None


def _candidates(value: Any) -> Iterator[str]:
    """Computations that may yield a value, as `name` or `name parameter`; `SAID_DATE` stands for several."""
    seen = look(value)
    if seen == "date":
        yield SAID_DATE
        yield from (f"date_offset {offset}" for offset in _OFFSETS)
    elif seen in {"small", "number"} and type(value) is not bool:
        digits = len(repr(value).partition(".")[2].rstrip("0")) if type(value) is float else 0
        if digits <= MAX_DIGITS:
            yield f"round {digits}" if digits else "round"
        yield from _NUMBERS


def _made_up(value: Any) -> Iterator[Any]:
    """Values of the same form that nobody meant."""
    if type(value) is not str:
        yield from (value + off for off in _OFF)
        return
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return
    for minutes, days in zip(_MINUTES, _DAYS, strict=True):
        if len(value) <= len("2031-05-18"):
            yield (moment + timedelta(days=days)).date().isoformat()
        else:
            made = (moment + timedelta(minutes=minutes)).isoformat(sep=value[10], timespec="seconds")
            yield made[: len(value)]


def is_text_projection(name: str) -> bool:
    """Whether a citation's projection is one that a tool's output declares."""
    row = PROJECTIONS.get(name.partition(":")[0])
    return row is not None and row.stage == "text"


def is_argument_projection(name: str) -> bool:
    """Whether a citation's projection is one that an argument declares."""
    row = PROJECTIONS.get(name)
    return row is not None and row.stage == "argument"
