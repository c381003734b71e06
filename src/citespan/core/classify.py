"""The kind of one leaf: which sources vouch for it, and which rule took the last candidate away (design section 2)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from citespan.core.equality import is_weak, same
from citespan.core.fold import forms
from citespan.core.kinds import (
    Assumed,
    FromSchema,
    FromUser,
    Invented,
    Kind,
    Observed,
    Provenance,
    Source,
    Why,
)
from citespan.core.leaves import Leaf, dotted, shown
from citespan.core.ledger import Observation, View
from citespan.core.opaque import Opaque
from citespan.core.places import Place, field_of, path_of
from citespan.core.policy import ArgumentRule, Weak
from citespan.core.proposals import Approvals
from citespan.core.schema import Schema
from citespan.core.uncited import Marks, echo
from citespan.core.user import UserText

#: accepted sources kept at each end of a leaf's candidates: the first and the newest always stay
KEPT_EACH_END: Final = 4
#: projections that must look like their field; a key, and what the policy declares, need not (design section 2)
LIKE_ITS_FIELD: Final = frozenset({"exact", "json", "posix_path", "basename"})
_MAX_SCANNED: Final = 256


class Scope(NamedTuple):
    """What a call is judged against.

    Args:
        view: the ledger as the call may see it. given: inputs and host context, a ledger of their own.
        said: the user's messages. marks: uncited values that an earlier call may have stored.
        approvals: approved proposals. open: whether a run is open.
    """

    view: View
    given: View
    said: UserText
    marks: Marks
    approvals: Approvals
    open: bool


def classify(
    leaf: Leaf,
    place: Schema,
    scope: Scope,
    rule: ArgumentRule,
    accept: frozenset[Kind],
    weak: Weak,
    tool: str,
) -> Provenance:
    """The kind of a leaf, with its sources.

    Of the kinds that hold, an accepted strong one is chosen before an accepted weak one, and that before one that is
    not accepted; among equals the order of `KINDS` decides.

    Args:
        place: the schema at the leaf. accept, weak: as resolved for the leaf. tool: the tool that is called.
    """
    value = leaf.value
    if type(value) is Opaque:
        return Assumed("opaque")
    seen = _observed(leaf, scope, rule, weak)
    if type(seen) is Observed:
        if not seen.weak and "observed" in accept:
            return seen
        options: list[Provenance] = [seen]
        why: Why = "nowhere"
    else:
        options = []
        why = seen  # type: ignore[assignment]
    said = from_user(value, scope)
    if said is not None:
        options.append(said)
    supplied = _supplied(leaf, place, rule)
    if supplied is not None:
        options.append(supplied)
    if leaf.role == "value" and scope.approvals:
        approved = scope.approvals.approves(tool, leaf.path, value)
        if approved is not None:
            options.append(Invented(approved))
    if weak == "ignore":
        counting = [option for option in options if not option.weak]
        why = "weak" if options and not counting else why
        options = counting
    if not options:
        return Assumed(_why(why, scope))
    if len(options) == 1:
        return options[0]
    return min(options, key=lambda option: (option.kind not in accept, option.weak))


def _why(why: Why, scope: Scope) -> Why:
    if why != "nowhere":
        return why
    if not scope.open:
        return "no_run"
    return "ledger" if scope.view.ledger.evicted else "nowhere"


def from_user(value: object, scope: Scope) -> FromUser | None:
    """What the user declared, handed in, or said by now; the newest message counts."""
    given = scope.given
    if given.upto:
        for place in given.find(value):
            owner = place.node.owner
            return FromUser(owner.tool, dotted(path_of(place)), place.projection, is_weak(value))
    return scope.said.cites(value)


def _supplied(leaf: Leaf, place: Schema, rule: ArgumentRule) -> FromSchema | None:
    if any(same(value, leaf.value) for value in rule.values):
        return FromSchema("values", False)
    if leaf.role == "key":
        return None
    supplied = place.supplies(leaf.value)
    if supplied is None:
        return None
    return FromSchema(supplied, supplied == "enum" or type(leaf.value) is bool)


def _observed(leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak) -> Observed | Why:
    places = scope.view.find(leaf.value)
    if not places:
        return "nowhere"
    if len(places) > _MAX_SCANNED:
        half = _MAX_SCANNED // 2
        places = places[:half] + places[-half:]
    judge = _Judge(leaf, scope, rule, weak)
    if len(places) == 1:
        source = judge.test(places[0])
        return judge.why if source is None else Observed((source,), source.weak)
    first = judge.accepted(places, KEPT_EACH_END)
    if not first:
        return judge.why
    taken, sources = first[-1][0], [source for _, source in first]
    newest = judge.accepted(places[:taken:-1], KEPT_EACH_END)
    sources.extend(source for _, source in reversed(newest))
    sources = list(dict.fromkeys(sources))  # two pieces of one text are one source
    strong = [source for source in sources if not source.weak]
    if strong and len(strong) < len(sources):
        sources = strong + [source for source in sources if source.weak]
    return Observed(tuple(sources), not strong)


class _Judge:
    """Tests candidates for one leaf; keeps the reason of the last one that failed, the folded forms, and no more."""

    __slots__ = ("_forms", "_leaf", "_rule", "_said", "_scope", "_weak", "why")

    def __init__(self, leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak) -> None:
        self._leaf = leaf
        self._scope = scope
        self._rule = rule
        self._weak = weak
        self._forms: tuple[str, ...] | None = None
        self._said: bool | None = None
        self.why: Why = "nowhere"

    def accepted(self, places: list[Place], most: int) -> list[tuple[int, Source]]:
        """The first `most` candidates that hold, each with its position."""
        found: list[tuple[int, Source]] = []
        for position, place in enumerate(places):
            source = self.test(place)
            if source is not None:
                found.append((position, source))
                if len(found) == most:
                    break
        return found

    def test(self, place: Place) -> Source | None:
        """One candidate; `why` says what took it away."""
        node, _, _, projection = place
        owner = node.owner
        rule, scope = self._rule, self._scope
        field = field_of(place)
        if rule.sources is not None and not any(
            field_matches(pattern, field, owner.server) for pattern in rule.sources
        ):
            self.why = "source"
            return None
        weak = projection == "tokens" or is_weak(self._leaf.value)
        if (owner.given or scope.marks) and not (owner.confirms and _confirmed(owner.confirms, field, owner.tool)):
            echoed = self._launders(owner, place)
            if echoed == "state" or echoed == "echo":
                self.why = echoed
                return None
            weak = weak or echoed == "wraps"
        if weak and self._weak == "same_name" and not _same_name(self._leaf, place):
            self.why = "weak"
            return None
        if rule.sources is None and projection in LIKE_ITS_FIELD and not scope.view.ledger.looks_like_its_field(place):
            self.why = "field"
            return None
        path = path_of(place)
        tool, server = owner.tool, owner.server
        return Source(tool, server, dotted(path), shown(path), field, projection, owner.ordinal, owner.span, weak)

    def _launders(self, owner: Observation, place: Place) -> Literal["state", "echo", "wraps"] | None:
        """Whether the run may have stored the value, or its own call was given it, uncited."""
        if self._forms is None:
            self._forms = forms(self._leaf.value)
        found: Literal["wraps"] | None = None
        # an abbreviated hash may read like a number, and then folds to something else
        whole = forms(place.value) if place.projection == "git_sha" and place.value != self._leaf.value else ()
        for form in (*self._forms, *whole):
            if self._scope.marks.bars(form, owner.ordinal) and not self._is_said():
                return "state"
            echoed = echo(form, owner.given, text=type(self._leaf.value) is str)
            if echoed == "echo":
                return "echo"
            found = echoed or found
        return found

    def _is_said(self) -> bool:
        # the state rule holds "until the user says it" (design section 2)
        if self._said is None:
            self._said = from_user(self._leaf.value, self._scope) is not None
        return self._said


def _confirmed(patterns: tuple[str, ...], field: str, tool: str) -> bool:
    path = field[len(tool) + 1 :]
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def field_matches(pattern: str, field: str, server: str | None) -> bool:
    """Whether a declared field covers a field; `server/tool.path` binds the server too; `*` stands for one step.

    Example:
        >>> field_matches("list_files.files.*", "list_files.files.*", None), field_matches("gh/a.b", "a.b", "gl")
        (True, False)
    """
    bound, slash, rest = pattern.partition("/")
    if slash and "." not in bound:
        if server != bound:
            return False
        pattern = rest
    return pattern == field or _compiled(pattern).fullmatch(field) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", r"(?:[^.\\]|\\.)+"))


def _same_name(leaf: Leaf, place: Place) -> bool:
    argument = next((step for step in reversed(leaf.path) if type(step) is str), "").casefold()
    source = next((step for step in reversed(path_of(place)) if type(step) is str), "").casefold()
    return argument == source or argument.endswith(f"_{source}") or source.endswith(f"_{argument}")
