"""From a recorded call and the decision about it to the same kind of value that spans give.

It says what the span of the call would have said, without ids, times, digests and previews: a recording has none.
"""

from __future__ import annotations

from citespan import semconv
from citespan.calls.model import Argument, Call, Cited, Leaf
from citespan.core.decision import Tag, worst
from citespan.core.kinds import Derived, FromUser, Observed
from citespan.core.leaves import dotted, escape, field_step
from citespan.replay import Judged


def call_of_judged(judged: Judged) -> Call:
    """The call of a trajectory as its replay judged it.

    Its run is the trajectory's id, its start the position in it, and its place the trajectory's.

    Example:
        `[call_of_judged(judged).status for judged in replay(trajectory, rulebook)]`
    """
    decision = judged.decision
    return Call(
        tool=judged.call.name,
        server=judged.call.server or "",
        status=decision.status,
        mode=decision.mode,
        policy=decision.policy,
        budget=decision.budget,
        step=decision.step,
        violations=tuple(violation.text for violation in decision.violations),
        assumed_fields=decision.assumed_fields,
        uncited_tokens=tuple(f"{path}:{kind}" for path, kind, _ in decision.uncited_tokens),
        arguments=_arguments(decision.tags),
        mutating=decision.mutating,
        start=judged.position,
        run=judged.trajectory.id,
        error=_error(judged),
        evicted=decision.evicted,
        place=judged.trajectory.place,
    )


def _error(judged: Judged) -> str:
    if judged.decision.deny:
        return semconv.ERROR_DENIED
    return semconv.ERROR_TOOL if judged.call.failed and not judged.call.refused else ""


def _arguments(tags: tuple[Tag, ...]) -> tuple[Argument, ...]:
    groups: dict[str, list[Tag]] = {}
    for tag in tags:
        groups.setdefault(str(tag.leaf.exported[0]), []).append(tag)
    return tuple(_argument(escape(name), tuple(group)) for name, group in groups.items())


def _argument(name: str, tags: tuple[Tag, ...]) -> Argument:
    leaves = tuple(_leaf(tag) for tag in tags)
    first = next((tag for tag in tags if isinstance(tag.provenance, Observed | Derived | FromUser)), None)
    before = tags[: tags.index(first) + 1] if first is not None else tags
    return Argument(
        name=name,
        kind=worst(tags).provenance.kind,
        cited=None if first is None else _cited(first),
        projection="exact" if first is None else _projection(first),
        weak=any(tag.provenance.weak for tag in before),
        leaves=leaves if len(leaves) > 1 else (),
        counted=tuple(dict.fromkeys(leaf.path for leaf in leaves if leaf.counted)),
    )


def _leaf(tag: Tag) -> Leaf:
    provenance = tag.provenance
    return Leaf(
        path=dotted(tag.leaf.exported),
        kind=provenance.kind,
        # the leaves on a span say of the user's words only where they were said
        cited=Cited("", provenance.origin) if isinstance(provenance, FromUser) else _cited(tag),
        projection=_projection(tag),
        weak=provenance.weak,
        counted=tag.counted,
    )


def _cited(tag: Tag) -> Cited | None:
    provenance = tag.provenance
    if isinstance(provenance, FromUser):
        steps = [field_step(step) for step in provenance.path.split(".") if step]
        return Cited("", ".".join([provenance.origin, *steps]))
    if isinstance(provenance, Observed | Derived) and provenance.sources:
        source = provenance.sources[0]
        return Cited(source.tool, source.shown, source.span.span_id if source.span is not None else "")
    return None


def _projection(tag: Tag) -> str:
    provenance = tag.provenance
    if isinstance(provenance, Observed | Derived):
        return provenance.sources[0].projection if provenance.sources else "exact"
    return provenance.projection if isinstance(provenance, FromUser) else "exact"
