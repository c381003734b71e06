"""What the ledger could have offered for an uncited argument: names of fields, never a value (design section 7).

Advice for whoever reads a refusal, and no part of the judgement: nothing is allowed or denied because of it.

A field is offered if a leaf of it could be cited for the argument: it is in the call's view, the policy admits it, and
it is no prose where the argument is none. What is offered is ordered by

1. how far its name agrees with the argument's (`citespan.core.names.AGREEMENT`),
2. whether what it holds has the argument's look: an e-mail address, a URL, a date, a path, an id,
3. how many words of the argument's name are in its path,
4. whether what it holds has the argument's JSON type,
5. how new it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from citespan.core.decision import Tag
from citespan.core.field_reading import Field, is_long, kind_of, look
from citespan.core.fields import Catalogue
from citespan.core.fold import forms
from citespan.core.judge import accepted
from citespan.core.leaves import Leaf, Step, wildcard
from citespan.core.ledger import View
from citespan.core.names import SAME_NAME, agreement, common, look_of, of_another
from citespan.core.places import field_matches
from citespan.core.policy import ArgumentRule
from citespan.core.resolve import Resolved

#: leaves of a call that are answered, and fields that are offered for each
MAX_OFFERS: Final = 16
MAX_NEAREST: Final = 5
#: fields of the policy that are repeated
MAX_ACCEPTED: Final = 16
#: characters of a value that a step of a field could equal
_MAX_VALUE: Final = 64


class Offer(NamedTuple):
    """What could have been a source of one uncited leaf; of a list's members the first speaks for all.

    Args:
        argument: the top-level argument, as it was written. path: the leaf's exported path, indexes as `*`.
        accepts: the fields that the policy names for it: `from`, else `propose_against`.
        nearest: fields of the ledger that come closest, best first.
    """

    argument: Step
    path: str
    accepts: tuple[str, ...]
    nearest: tuple[str, ...]


def offers(tags: Sequence[Tag], view: View, rules: Resolved, catalogue: Catalogue) -> tuple[Offer, ...]:
    """What could have vouched for the leaves of a call that took from its budget; what says nothing is left out.

    Args:
        tags: all leaves of the call; those that counted are answered, and no value of the others is told.
        view: the ledger as the call may see it. rules: of the called tool. catalogue: of that ledger.

    Example:
        For `patch_file(path="prod.env")` after `list_files` returned `{"files": ["src/app.py"]}`: one offer, whose
        `nearest` is `("list_files.files.*",)`.
    """
    leaves: dict[tuple[Step, str], Leaf] = {}
    for leaf in (tag.leaf for tag in tags if tag.counted):
        # a name that a model made up names nothing
        if leaf.role == "value" and leaf.exported[0] != "*":
            leaves.setdefault((leaf.path[0], wildcard(leaf.exported)), leaf)
            if len(leaves) == MAX_OFFERS:
                break
    fields: Sequence[Field] | None = None
    said_here = _values(tags)
    found: list[Offer] = []
    for (argument, path), leaf in leaves.items():
        rule = rules.argument(leaf)
        closest: tuple[str, ...] = ()
        if "observed" in accepted(rule, rules):
            if fields is None:
                fields = catalogue.fields(view)
            closest = nearest(leaf, fields, rule, said_here)
        said = _accepts(rule)
        if said or closest:
            found.append(Offer(argument, path, said, closest))
    return tuple(found)


def _accepts(rule: ArgumentRule) -> tuple[str, ...]:
    if rule.sources is not None:
        return rule.sources[:MAX_ACCEPTED]
    return () if rule.propose_against is None else (rule.propose_against,)


def _values(tags: Iterable[Tag]) -> frozenset[str]:
    """The folded texts that a call was given, which no key may tell; what a schema supplies is known to all."""
    leaves = (tag.leaf for tag in tags if tag.provenance.kind != "schema")
    texts = [leaf.value for leaf in leaves if type(leaf.value) is str and len(leaf.value) <= _MAX_VALUE]
    return frozenset(form for text in texts for form in forms(text))


def nearest(
    leaf: Leaf, fields: Iterable[Field], rule: ArgumentRule, values: AbstractSet[str] = frozenset()
) -> tuple[str, ...]:
    """The fields that come closest to a source of a leaf, best first, at most `MAX_NEAREST`.

    Where the policy names the sources, every such field is near; else one must agree in name or in look.

    Args:
        values: folded texts that no step of a path may equal.

    Example:
        >>> from citespan.core.policy import PLAIN
        >>> name = "list_files.files.*"
        >>> files = Field(name, name, name, "list_files", None, 0, frozenset({str}), frozenset({"path"}), False)
        >>> nearest(Leaf(("path",), "prod.env", "value", ("path",)), [files], PLAIN)
        ('list_files.files.*',)
    """
    value, kind, long = leaf.value, kind_of(leaf.value), is_long(leaf.value)
    names = tuple([step for step in leaf.exported if type(step) is str and step != "*"])
    wanted = look(value) or (look_of(names[-1]) if kind is str else None)
    sources = rule.sources
    ranked: list[tuple[tuple[int, bool, int, bool, int], Field]] = []
    for field in fields:
        name, meant, _, _, server, ordinal, kinds, looks, only_long = field
        level, fits = agreement(names, meant), wanted in looks
        if not level and wanted == "id" and of_another(names, meant):
            fits = False  # the model has seen it, so it would be cited: the id of a customer for that of an order
        if sources is not None:
            near = any(field_matches(pattern, name, server) for pattern in sources)
        else:
            near = (level > 0 or fits) and (long or not only_long) and (kind in kinds or level >= SAME_NAME)
        if near:
            ranked.append(((level, fits, common(names, meant), kind in kinds, ordinal), field))
    ranked.sort(key=_rank, reverse=True)
    return tuple(islice(dict.fromkeys([_without(field, values) for _, field in ranked]), MAX_NEAREST))


def _rank(entry: tuple[tuple[int, bool, int, bool, int], Field]) -> tuple[int, bool, int, bool, int]:
    return entry[0]


def _without(field: Field, values: AbstractSet[str]) -> str:
    """The field as it is shown, with every step that equals a value as `*`."""
    if not values:
        return field.shown
    head = len(field.tool)
    steps = ["*" if step and not values.isdisjoint(forms(step)) else step for step in field.shown[head:].split(".")]
    return field.shown[:head] + ".".join(steps)


def by_argument(found: Iterable[Offer]) -> dict[Step, Offer]:
    """The offers of each argument as one, the best of each leaf first.

    Example:
        >>> by_argument([Offer("to", "to.*.name", (), ("a.b",)), Offer("to", "to.*.mail", (), ("a.c",))])["to"].nearest
        ('a.b', 'a.c')
    """
    groups: dict[Step, list[Offer]] = {}
    for offer in found:
        groups.setdefault(offer.argument, []).append(offer)
    return {argument: _as_one(group) for argument, group in groups.items()}


def _as_one(group: list[Offer]) -> Offer:
    first = group[0]
    if len(group) == 1:
        return first
    accepts = _in_turn([offer.accepts for offer in group], MAX_ACCEPTED)
    return Offer(first.argument, first.path, accepts, _in_turn([offer.nearest for offer in group], MAX_NEAREST))


def _in_turn(lists: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    mixed = dict.fromkeys(name for row in zip_longest(*lists) for name in row if name is not None)
    return tuple(islice(mixed, most))
