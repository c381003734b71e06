"""From a call and what it may cite to a decision (design sections 2 and 3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from citespan.core.classify import Scope, citing, classify
from citespan.core.decision import Decision, Finding, Mode, Tag, Violation, verdict
from citespan.core.freetext import TokenKind, count, scan
from citespan.core.kinds import Invented, Kind, Provenance
from citespan.core.leaves import Leaf, Snapshot, dotted
from citespan.core.opaque import Opaque
from citespan.core.places import Place
from citespan.core.policy import ArgumentRule
from citespan.core.resolve import Resolved
from citespan.core.schema import UNKNOWN, Schema
from citespan.core.siblings import Siblings


class Call(NamedTuple):
    """A tool call as the core sees it.

    Args:
        snapshot: the private copy and its leaves; schema: of the tool's parameters, as frozen in this run.
        read_only: True where the host, the policy, or a trusted hint says so; None where nobody does.
        hinted: whether it is a trusted hint that says so; such tools run in tag mode (design section 3).
        step: the step key as text.
    """

    tool: str
    server: str | None
    snapshot: Snapshot
    schema: Schema
    read_only: bool | None
    hinted: bool
    step: str = ""


class Budget(Protocol):
    """What a decision takes from a run; see `citespan.core.budget.RunBudget`."""

    @property
    def stopped(self) -> bool:
        """Whether the run has had too many refusals: nothing runs any more in enforce mode."""
        ...

    def stop(self) -> None:
        """The run is over."""
        ...

    def take(self, leaves: int) -> bool:
        """Take all or nothing."""
        ...

    def refuse(self) -> bool:
        """Count a refusal; True when the run must stop."""
        ...


_ANY: Final = ArgumentRule()
#: longer numbers in a text are no JSON integer that a result holds
_MAX_DIGITS: Final = 18
_STOPPED: Final = "refusals=over the run's max_refused, or aborted: the run stops"
_FROM_ONLY: Final[frozenset[Kind]] = frozenset({"observed", "derived"})


def accepted(rule: ArgumentRule, rules: Resolved) -> frozenset[Kind]:
    """The kinds that are no violation for a leaf. `from` without `accept` means: only from these fields."""
    if rule.accept is not None:
        return rule.accept
    return rules.accept if rule.sources is None else _FROM_ONLY


def tag(call: Call, scope: Scope, rules: Resolved) -> tuple[Tag, ...]:
    """Judge every leaf of a call."""
    tags: list[Tag] = []
    schema, allow = call.schema, rules.allow
    tool = call.tool if call.server is None else f"{call.server}/{call.tool}"
    plain = not rules.arguments
    siblings = None if plain else _siblings(call, scope, rules, tool)
    for leaf in call.snapshot.leaves:
        rule = rules.argument(leaf)
        accept = rules.accept if plain else accepted(rule, rules)
        weak = rule.weak or rules.weak
        provenance = classify(leaf, _described(leaf, schema), scope, rule, accept, weak, tool, siblings)
        # where the policy names the sources, an exemption of the whole argument does not undo that
        allowed = leaf.path[0] in allow and rule.sources is None
        counted = not allowed and provenance.kind not in accept
        tokens: tuple[tuple[TokenKind, int], ...] = ()
        if allowed and rules.scan != "off" and provenance.kind not in accept:
            tokens = _uncited_tokens(leaf, scope, rules, tool)
            counted = rules.scan == "count" and bool(tokens)
        tags.append(Tag(leaf, provenance, counted, allowed, rule.sources is not None, tokens))
    return tuple(tags)


def _described(leaf: Leaf, place: Schema) -> Schema:
    for step in leaf.path:
        place = place.at(step)
    return place


def _siblings(call: Call, scope: Scope, rules: Resolved, tool: str) -> Siblings:
    """The leaves of a call as operands of each other: each by itself, without what is computed of others."""

    def judge(leaf: Leaf) -> Provenance:
        rule = replace(rules.argument(leaf), derive=())
        accept, weak = accepted(rule, rules), rule.weak or rules.weak
        return classify(leaf, _described(leaf, call.schema), scope, rule, accept, weak, tool)

    def cites(leaf: Leaf) -> list[Place]:
        rule = rules.argument(leaf)
        return citing(leaf, scope, rule, rule.weak or rules.weak)

    vouching = (leaf for leaf in call.snapshot.leaves if leaf.role == "value" and leaf.path[0] not in rules.allow)
    return Siblings(vouching, judge, cites)


def _uncited_tokens(leaf: Leaf, scope: Scope, rules: Resolved, tool: str) -> tuple[tuple[TokenKind, int], ...]:
    """What an exempt leaf holds that nothing vouches for: each token is judged like an argument of its own."""

    def cites(token: str) -> bool:
        values: tuple[str | int, ...] = (token,)
        if token.isdecimal() and len(token) <= _MAX_DIGITS:
            values = (token, int(token))
        return any(
            classify(leaf._replace(value=value), UNKNOWN, scope, _ANY, rules.accept, rules.weak, tool).kind
            in rules.accept
            for value in values
        )

    value = leaf.value
    totals: dict[TokenKind, int] = {}
    for text in value.texts if type(value) is Opaque else (value,):
        if type(text) is str:
            for kind, number in count(scan(text, cites)).items():
                totals[kind] = totals.get(kind, 0) + number
    return tuple(totals.items())


def decide(call: Call, scope: Scope, rules: Resolved, budget: Budget, policy_digest: str) -> Decision:
    """Allow or deny a call, and take what it costs from the run's budget.

    In enforce mode a call within its own budget takes its uncited leaves from the run's, all or nothing; tagged and
    refused calls take nothing. A leaf whose sources the policy names, and that has none of them, denies whatever the
    budget.
    """
    mode: Mode = "tag" if call.hinted and rules.mode == "enforce" else rules.mode
    tags = tag(call, scope, rules)
    counted = [entry for entry in tags if entry.counted]
    violations = _violations(counted, rules)
    finding: Finding = "clean"
    if violations:
        finding = "hard" if violations[0].rule == "required_source" else "over"
    elif mode == "enforce" and budget.stopped:
        finding, violations = "over", (Violation("refusals", (), _STOPPED),)
    elif mode == "enforce":
        short = _charge(len(counted), budget)
        if short is not None:
            finding, violations = "over", (_assumed(counted), short) if counted else (short,)
    deny, status = verdict(mode, finding)
    abort = deny and (rules.on_violation == "abort" or budget.stopped)
    if abort:
        budget.stop()
    if deny and budget.refuse():
        abort = True
        if all(violation.rule != "refusals" for violation in violations):
            violations = (*violations, Violation("refusals", (), _STOPPED))
    return Decision(
        call.tool,
        call.server,
        deny,
        status,
        mode,
        rules.on_violation,
        tags,
        violations,
        rules.max_assumed,
        policy_digest,
        call.read_only is not True,
        abort,
        call.step,
        scope.view.ledger.evicted,
    )


def _violations(counted: list[Tag], rules: Resolved) -> tuple[Violation, ...]:
    if not counted:
        return ()
    missing = _paths([entry for entry in counted if entry.required])
    found: list[Violation] = []
    if missing:
        found.append(Violation("required_source", missing, f"required_source=[{', '.join(missing)}]"))
    if len(counted) > rules.max_assumed or missing:
        found.append(_assumed(counted))
    return tuple(found)


def _assumed(counted: list[Tag]) -> Violation:
    paths = _paths(counted)
    return Violation("assumed_fields", paths, f"assumed_fields=[{', '.join(paths)}]")


def _paths(tags: list[Tag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(dotted(entry.leaf.exported) for entry in tags))


def _charge(leaves: int, budget: Budget) -> Violation | None:
    if leaves and not budget.take(leaves):
        return Violation("run_budget", (), f"run_budget={leaves} more than the run's max_assumed leaves free")
    return None


def invented(tags: tuple[Tag, ...]) -> tuple[str, ...]:
    """Digests of the approvals that a decision rests on; the guard uses them up before the body runs."""
    return tuple(entry.provenance.digest for entry in tags if type(entry.provenance) is Invented and not entry.counted)
