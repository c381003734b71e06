"""What is different about one call: two entries in, a list of changes out.

Only what both files say is compared: a source that one of them does not name is no change.
"""

from __future__ import annotations

from collections.abc import Iterator

from citespan.calls.model import rank
from citespan.core.kinds import Kind
from citespan.diff.model import VERDICTS, ArgumentFacts, Change, Entry, LeafFacts, Trend, What
from citespan.semconv import UNDECLARED


def changes(a: Entry, b: Entry) -> tuple[Change, ...]:
    """The call's verdict first, then its arguments by name.

    Example:
        `[change.what for change in changes(before, after)]` is `["status", "kind"]` for a call that is now blocked
        since one of its arguments lost its source.
    """
    found: list[Change] = []
    if a.status != b.status:
        found.append(
            Change("", "status", a.status, b.status, _trend(VERDICTS.index(a.status), VERDICTS.index(b.status)))
        )
    partial = a.partial | b.partial
    ours, theirs = ({facts.name: facts for facts in entry.arguments} for entry in (a, b))
    for name in sorted(ours.keys() | theirs.keys()):
        if name in ours and name in theirs:
            found += _argument(ours[name], theirs[name], a, b, with_leaves="leaves" not in partial)
        elif "arguments" not in partial:
            found.append(_come(name, theirs[name], b) if name in theirs else _gone(name, ours[name], a))
    return tuple(found)


def _argument(
    a: ArgumentFacts, b: ArgumentFacts, before: Entry, after: Entry, *, with_leaves: bool
) -> Iterator[Change]:
    by_leaf = list(_leaves(a.leaves, b.leaves, before, after)) if with_leaves and a.leaves and b.leaves else []
    if a.kind != b.kind:
        if not any(change.what == "kind" for change in by_leaf):
            yield _kind(a.name, a.kind, b.kind, _shown(a.source, a.projection), _shown(b.source, b.projection))
    elif not by_leaf and a.source and b.source:
        yield from _citation(a, b)
    yield from by_leaf
    if a.weak != b.weak:
        yield Change(a.name, "weak", _strength(a.weak), _strength(b.weak), _trend(a.weak, b.weak))


def _citation(a: ArgumentFacts, b: ArgumentFacts) -> Iterator[Change]:
    if a.source != b.source:
        where: What = "source_field" if a.source_tool == b.source_tool else "source_tool"
        yield Change(a.name, where, a.source, b.source, "same")
    if a.projection != b.projection:
        yield Change(a.name, "projection", a.projection, b.projection, "same")


def _leaves(a: tuple[LeafFacts, ...], b: tuple[LeafFacts, ...], before: Entry, after: Entry) -> Iterator[Change]:
    ours, theirs = ({leaf.path: leaf for leaf in leaves} for leaves in (a, b))
    for path in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(path), theirs.get(path)
        if one is None:
            yield Change(path, "added", "", theirs[path].kind, "worse" if is_uncited(path, after) else "same")
        elif other is None:
            yield Change(path, "removed", one.kind, "", "better" if is_uncited(path, before) else "same")
        elif one.kind != other.kind:
            yield _kind(path, one.kind, other.kind, _all(one), _all(other))
        elif one.sources and other.sources:
            if one.sources != other.sources:
                where: What = "source_field" if _tools(one) == _tools(other) else "source_tool"
                yield Change(path, where, ", ".join(one.sources), ", ".join(other.sources), "same")
            if one.projections != other.projections:
                yield Change(path, "projection", ", ".join(one.projections), ", ".join(other.projections), "same")


def _tools(leaf: LeafFacts) -> set[str]:
    return {source.partition(".")[0] for source in leaf.sources}


def _kind(path: str, before: Kind, after: Kind, before_source: str, after_source: str) -> Change:
    return Change(path, "kind", before, after, _trend(rank(before), rank(after)), before_source, after_source)


def _come(name: str, facts: ArgumentFacts, entry: Entry) -> Change:
    trend: Trend = "worse" if is_uncited(name, entry) else "same"
    return Change(name, "added", "", facts.kind, trend, "", _shown(facts.source, facts.projection))


def _gone(name: str, facts: ArgumentFacts, entry: Entry) -> Change:
    trend: Trend = "better" if is_uncited(name, entry) else "same"
    return Change(name, "removed", facts.kind, "", trend, _shown(facts.source, facts.projection))


def is_uncited(name: str, entry: Entry) -> bool:
    """Whether a leaf of an argument took from the budget; what no schema declares is kept only where it did."""
    return name == UNDECLARED or any(path == name or path.startswith(name + ".") for path in entry.uncited)


def _trend(before: int, after: int) -> Trend:
    return "same" if before == after else "worse" if after > before else "better"


def _strength(weak: bool) -> str:
    return "weak" if weak else "strong"


def _shown(source: str, projection: str) -> str:
    return f"{source} ({projection})" if source and projection not in {"", "exact"} else source


def _all(leaf: LeafFacts) -> str:
    named = [projection for projection in leaf.projections if projection != "exact"]
    return ", ".join(leaf.sources) + (f" ({', '.join(named)})" if named and leaf.sources else "")
