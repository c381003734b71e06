"""The kind of one leaf: which sources vouch for it, and which rule took the last candidate away (design section 2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from citespan.core.derive import derive
from citespan.core.equality import is_weak, same
from citespan.core.fold import forms
from citespan.core.images import IMAGES, number_of
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
from citespan.core.operands import Operands
from citespan.core.places import Place, field_matches, field_of, path_of, step_pattern
from citespan.core.policy import PLAIN, ArgumentRule, Weak
from citespan.core.projections import normal_path
from citespan.core.proposals import Approvals
from citespan.core.schema import Schema
from citespan.core.siblings import Others, Siblings
from citespan.core.uncited import Marks
from citespan.core.user import UserText

__all__ = ["KEPT_EACH_END", "LIKE_ITS_FIELD", "MAX_STEPS", "Scope", "citing", "classify", "field_matches", "from_user"]

#: accepted sources kept at each end of a leaf's candidates: the first and the newest always stay
KEPT_EACH_END: Final = 4
#: projections that must look like their field; a key, and a piece of a text that the policy declares, need not (design
#: section 2). What an argument declares says how it may follow, not from where: it must, unless it follows from a piece
LIKE_ITS_FIELD: Final = frozenset({"exact", "json", "posix_path", "basename"})
#: projections whose value need not be a piece of its leaf as text, so the leaf must be no echo either: an abbreviated
#: hash may read like a number, and then folds to something else
_READS_OUT: Final = frozenset({"git_sha", *IMAGES})
_UNDECLARED: Final = frozenset({"", "json"})
_MAX_SCANNED: Final = 256
#: the most steps of a path whose parts are looked for (projection `join`)
MAX_STEPS: Final = 32


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
    siblings: Siblings | None = None,
) -> Provenance:
    """The kind of a leaf, with its sources.

    Of the kinds that hold, an accepted strong one is chosen before an accepted weak one, and that before one that is
    not accepted; among equals the order of `KINDS` decides.

    Args:
        place: the schema at the leaf. accept, weak: as resolved for the leaf. tool: the tool that is called.
        siblings: all leaves of the call, for computations that use them.
    """
    value = leaf.value
    if type(value) is Opaque:
        return Assumed("opaque")
    declared = rule is not PLAIN and leaf.role == "value"
    seen = _observed(leaf, scope, rule, weak)
    if declared and type(seen) is not Observed and "join" in rule.projections:
        seen = _joined(leaf, scope, rule, weak) or seen
    if type(seen) is Observed:
        if not seen.weak and "observed" in accept:
            return seen
        options: list[Provenance] = [seen]
        why: Why = "nowhere"
    else:
        options = []
        why = seen  # type: ignore[assignment]
    said = from_user(value, scope)
    if said is None and declared and rule.normalize is not None:
        said = _normalised_user(value, scope, rule.normalize)
    if said is not None:
        options.append(said)
    supplied = _supplied(leaf, place, rule)
    if supplied is not None:
        options.append(supplied)
    if leaf.role == "value" and scope.approvals:
        approved = scope.approvals.approves(tool, leaf.path, value)
        if approved is not None:
            options.append(Invented(approved))
    if declared and rule.derive and not any(not found.weak and found.kind in accept for found in options):
        others = None if siblings is None else Others(siblings, leaf.path)
        made = derive(value, rule.derive, _operands(leaf, scope, rule, weak, others), texts="number" in rule.admitted)
        if made is not None:
            options.append(made)
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
            path = path_of(place)
            if place.projection == "key":
                path = (*path[:-1], "*")  # the key is the argument itself
            return FromUser(owner.tool, dotted(path), place.projection, is_weak(value))
    return scope.said.cites(value)


def _normalised(value: Any, normalize: str | None) -> Any:
    """The other form of an argument under `normalize`; the argument itself where it has none."""
    if type(value) is not str or normalize is None:
        return value
    if normalize == "casefold":
        return value.casefold()
    other = normal_path(value) if normalize == "posix_path" else number_of(value)
    return value if other is None else other


def _normalised_user(value: Any, scope: Scope, normalize: str) -> FromUser | None:
    other = _normalised(value, normalize)
    said = None if other is value else from_user(other, scope)
    return None if said is None else said._replace(projection=normalize)


def _supplied(leaf: Leaf, place: Schema, rule: ArgumentRule) -> FromSchema | None:
    value = leaf.value
    if any(same(declared, value) for declared in rule.values):
        return FromSchema("values", False)
    if leaf.role == "key":
        return None
    if rule.normalize is not None and rule.values:
        value = _normalised(value, rule.normalize)
        if any(same(_normalised(declared, rule.normalize), value) for declared in rule.values):
            return FromSchema("values", False)
    supplied = place.supplies(leaf.value)
    if supplied is None:
        return None
    return FromSchema(supplied, supplied == "enum" or type(leaf.value) is bool)


def _observed(leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak, also: tuple[Any, ...] = ()) -> Observed | Why:
    """What a value cites in the ledger.

    Args:
        also: values that would become citable with it; no source may launder them either.
    """
    places = _places(leaf, scope, rule)
    if not places:
        return "nowhere"
    judge = _Judge(leaf, scope, rule, weak, also)
    if len(places) == 1:
        source = judge.test(places[0])
        return judge.why if source is None else Observed((source,), source.weak, tuple(judge.wrapped))
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
    return Observed(tuple(sources), not strong, () if strong else tuple(judge.wrapped))


def _places(leaf: Leaf, scope: Scope, rule: ArgumentRule) -> list[Place]:
    """The candidates of a leaf, oldest first; of very many the oldest and the newest."""
    places = scope.view.find(leaf.value)
    if rule is not PLAIN and (rule.projections or rule.normalize) and leaf.role == "value":
        for name in rule.admitted:
            places += scope.view.image(name, leaf.value)
    if len(places) > _MAX_SCANNED:
        half = _MAX_SCANNED // 2
        places = places[:half] + places[-half:]
    return places


def citing(leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak) -> list[Place]:
    """Every place that a leaf cites, oldest first. A common value names a place only where the field's name agrees."""
    if type(leaf.value) is Opaque:
        return []
    judge = _Judge(leaf, scope, rule, "same_name")
    tested = ((place, judge.test(place)) for place in _places(leaf, scope, rule))
    return [place for place, source in tested if source is not None and not (source.weak and weak == "ignore")]


def _joined(leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak) -> Observed | None:
    """A path of two cited parts, each a source; weak if either is."""
    plain = normal_path(leaf.value) if type(leaf.value) is str else None
    if plain is None or plain.count("/") > MAX_STEPS:
        return None
    at = plain.rfind("/", 0, -1)
    while at > 0:
        parts = []
        for part in (plain[at + 1 :], plain[:at]):
            found = _observed(leaf._replace(value=part), scope, rule, weak, (leaf.value,))
            if type(found) is not Observed:
                break
            parts.append(found)
        else:
            last, head = parts
            sources = (*head.sources[:KEPT_EACH_END], *last.sources[:KEPT_EACH_END])
            return Observed(tuple(source._replace(projection="join") for source in sources), head.weak or last.weak)
        at = plain.rfind("/", 0, at)
    return None


def _operands(leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak, others: Others | None) -> Operands:
    def tests(value: Any, fields: tuple[str, ...] | None) -> Callable[[Place], Source | None]:
        # a field that the computation names agrees by being named
        bound, counts = (rule, weak) if fields is None else (_bound(fields), "count")
        return _Judge(leaf._replace(value=value), scope, bound, counts, (leaf.value,)).test

    def user(value: Any) -> FromUser | None:
        return from_user(value, scope)

    return Operands(scope.view, scope.given, scope.said, tests, user, texts="number" in rule.admitted, others=others)


@lru_cache(maxsize=256)
def _bound(fields: tuple[str, ...]) -> ArgumentRule:
    return ArgumentRule(sources=fields)


class _Judge:
    """Tests candidates for one leaf; keeps the reason of the last one that failed, the folded forms, and no more.

    Args:
        also: values beside the leaf's that a source must not launder: what is joined or computed of it.
    """

    __slots__ = ("_also", "_forms", "_leaf", "_rule", "_said", "_scope", "_weak", "why", "wrapped")

    def __init__(self, leaf: Leaf, scope: Scope, rule: ArgumentRule, weak: Weak, also: tuple[Any, ...] = ()) -> None:
        self._leaf = leaf
        self._scope = scope
        self._rule = rule
        self._weak = weak
        self._also = also
        self._forms: list[tuple[str, Any]] | None = None
        self._said: dict[str, bool] | None = None
        self.why: Why = "nowhere"
        #: uncited texts that the leaf is cited around
        self.wrapped: dict[str, None] = {}

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
        if (
            rule.sources is None
            and (projection in LIKE_ITS_FIELD or (projection in IMAGES and node.via in _UNDECLARED))
            and not scope.view.ledger.looks_like_its_field(place)
        ):
            self.why = "field"
            return None
        path = path_of(place)
        tool, server = owner.tool, owner.server
        # the last step of a key's path is the argument itself
        fit = f"{shown(path[:-1])}.*".lstrip(".") if projection == "key" else shown(path)
        return Source(tool, server, dotted(path), fit, field, projection, owner.ordinal, owner.span, weak)

    def _launders(self, owner: Observation, place: Place) -> Literal["state", "echo", "wraps"] | None:
        """Whether the run may have stored the value, or its own call was given it, uncited."""
        if self._forms is None:
            self._forms = [(form, value) for value in (self._leaf.value, *self._also) for form in forms(value)]
        tested, held = self._forms, place.value
        if place.projection in _READS_OUT and held != self._leaf.value:
            tested = [*tested, *((form, held) for form in forms(held))]
        found: Literal["wraps"] | None = None
        for form, value in tested:
            if self._scope.marks.bars(form, owner.ordinal) and not self._is_said(form, value):
                return "state"
            echoed = owner.uncited.echo(form, text=type(value) is str)
            if echoed == "echo":
                return "echo"
            if echoed == "wraps":
                self.wrapped.update(dict.fromkeys(owner.uncited.inside(form)))
            found = echoed or found
        return found

    def _is_said(self, form: str, value: Any) -> bool:
        # the state rule holds "until the user says it" (design section 2)
        if self._said is None:
            self._said = {}
        said = self._said.get(form)
        if said is None:
            said = self._said[form] = from_user(value, self._scope) is not None
        return said


def _confirmed(patterns: tuple[str, ...], field: str, tool: str) -> bool:
    path = field[len(tool) + 1 :]
    return any(step_pattern(pattern).fullmatch(path) for pattern in patterns)


def _same_name(leaf: Leaf, place: Place) -> bool:
    argument = next((step for step in reversed(leaf.path) if type(step) is str), "").casefold()
    source = next((step for step in reversed(path_of(place)) if type(step) is str), "").casefold()
    return argument == source or argument.endswith(f"_{source}") or source.endswith(f"_{argument}")
