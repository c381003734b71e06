"""A call's recorded kinds, held against a policy. Kinds stand as recorded: `citespan replay` judges values anew."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from citespan import semconv
from citespan.audit.alone import Flaw
from citespan.audit.texts import some
from citespan.calls import Argument, Call, Cited
from citespan.calls.paths import head, pattern, steps
from citespan.core.judge import accepted
from citespan.core.kinds import Kind
from citespan.core.leaves import Leaf, Path
from citespan.core.places import field_matches
from citespan.core.policy import ArgumentRule, Weak
from citespan.core.resolve import Resolved, Rulebook

_FROM_RESULTS: Final = frozenset({"observed", "derived"})


class _Shown(NamedTuple):
    """One leaf as the span shows it."""

    path: str
    kind: Kind
    cited: Cited | None
    weak: bool


def over(call: Call, book: Rulebook) -> Flaw | None:
    """What a policy says against a call that ran; None where it is within the budget, or shows no kinds.

    Raises:
        PolicyError: two of its rules tie for the tool.
    """
    if call.status in {"blocked", "none", "within"} or not call.arguments:
        return None
    if call.policy == book.digest and call.status != "ok":
        return None  # the recorded verdict says it
    rules = book.tool(call.tool, None)
    if rules.mode == "off":
        return None
    counted, missing = _counted(call, rules)
    if not missing and len(counted) <= rules.max_assumed:
        return None
    hinted = call.mode == "tag" and any(book.policy.servers.values())
    rule = "over-policy-tagged" if rules.mode == "tag" or hinted else "over-policy"
    if missing:
        return Flaw(rule, head(missing[0]), f"not from the fields that the policy names: {some(tuple(missing))}")
    return Flaw(
        rule,
        head(counted[0]),
        f"at least {len(counted)} not accepted and {rules.max_assumed} allowed: {some(tuple(counted))}",
    )


def undecided(tool: str, book: Rulebook) -> bool:
    """Whether rules for tools of a server may be about a tool; its span does not say which server it is of."""
    return any("/" in glob and fnmatchcase(tool, glob.rpartition("/")[2]) for glob in book.policy.tools)


def _counted(call: Call, rules: Resolved) -> tuple[list[str], list[str]]:
    """Paths of the leaves that would take from the budget, and those among them that `from` denies whatever it is."""
    counted: list[str] = []
    missing: list[str] = []
    tokens = {entry.rpartition(":")[0] for entry in call.uncited_tokens}
    sources = _sources(call)
    for argument in call.arguments:
        if argument.name == semconv.UNDECLARED:
            counted.extend(argument.counted)
            continue
        for leaf in _leaves(argument):
            path = steps(leaf.path)
            rule = rules.argument(Leaf(path, None, "value", path))
            if str(path[0]) in rules.allow and rule.sources is None:
                if rules.scan == "count" and leaf.path in tokens:
                    counted.append(leaf.path)
                continue
            kind = _kind(leaf, path, rule, rules, sources)
            if kind not in accepted(rule, rules):
                counted.append(leaf.path)
                if rule.sources is not None:
                    missing.append(leaf.path)
    return counted, missing


def _leaves(argument: Argument) -> Iterator[_Shown]:
    if not argument.leaves:
        yield _Shown(argument.name, argument.kind, argument.cited, argument.weak)
    for leaf in argument.leaves:
        yield _Shown(leaf.path, leaf.kind, leaf.cited, leaf.weak)


def _sources(call: Call) -> dict[str, dict[str, set[str]]]:
    """For each argument the tools that its links name, with the ids of their spans."""
    found: dict[str, dict[str, set[str]]] = {}
    for link in call.links:
        for label in link.arguments:
            found.setdefault(head(label), {}).setdefault(link.tool, set()).add(link.span_id)
    return found


def _kind(
    leaf: _Shown, path: Path, rule: ArgumentRule, rules: Resolved, sources: dict[str, dict[str, set[str]]]
) -> Kind:
    """The recorded kind, or `assumed` where this policy does not let its citation count."""
    cited = leaf.cited
    if leaf.weak and _ignores(rule.weak or rules.weak, leaf.kind, path, cited):
        return "assumed"
    if rule.sources is None or leaf.kind not in _FROM_RESULTS or cited is None or not cited.tool:
        return leaf.kind
    if any(_covers(declared, cited) for declared in rule.sources):
        return leaf.kind
    # the span names the field of the first source only: another call that it cites may be one that the policy names
    others = sources.get(str(path[0]), {})
    named = {pattern.rpartition("/")[2].partition(".")[0] for pattern in rule.sources}
    return leaf.kind if any(others.get(tool, set()) - {cited.span_id} for tool in named) else "assumed"


def _ignores(weak: Weak, kind: Kind, path: Path, cited: Cited | None) -> bool:
    if weak == "ignore":
        return kind != "assumed"
    if weak == "count" or kind != "observed" or cited is None:
        return False
    argument = next((step for step in reversed(path) if isinstance(step, str)), "").casefold()
    source = next((step for step in reversed(steps(cited.field)) if isinstance(step, str)), "").casefold()
    agree = argument == source or argument.endswith(f"_{source}") or source.endswith(f"_{argument}")
    return source not in {"", "*"} and not agree


def _covers(declared: str, cited: Cited) -> bool:
    """Whether a declared field covers a cited one, of whichever server: spans do not name it."""
    return field_matches(declared.rpartition("/")[2], f"{cited.tool}.{pattern(cited.field)}".rstrip("."), None)
