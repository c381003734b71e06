"""The decision about one tool call, and the table that makes it (design sections 3 and 4)."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.freetext import TokenKind
from citespan.core.kinds import KINDS, REASONS, Kind, Provenance, Status
from citespan.core.leaves import Leaf, dotted

Mode: TypeAlias = Literal["enforce", "tag", "off"]
OnViolation: TypeAlias = Literal["tell", "abort", "ask"]
Finding: TypeAlias = Literal["clean", "over", "hard"]


class Tag(NamedTuple):
    """One judged leaf.

    Args:
        counted: its kind is not accepted and it is not allowed: it takes from the budget.
        allowed: its whole argument is exempt (commentary): tagged, never counted.
        required: the policy names its sources (`from`); not met is denied whatever the budget.
        tokens: of an allowed text, how many uncited tokens of each kind it holds.
    """

    leaf: Leaf
    provenance: Provenance
    counted: bool
    allowed: bool
    required: bool
    tokens: tuple[tuple[TokenKind, int], ...] = ()


class Violation(NamedTuple):
    """Why a call is over its budget, without any argument value.

    Args:
        rule: "assumed_fields", "required_source", "run_budget", "refusals", "guard" or "ledger".
        fields: exported dotted paths.
        text: what a span carries: `assumed_fields=[path]`.
    """

    rule: str
    fields: tuple[str, ...]
    text: str


class Decision(NamedTuple):
    """Allow or deny, with reasons. No argument value but the tags' leaves, which stay in the process.

    Args:
        tool: the tool's name; server: its MCP server, None for a local tool.
        deny: the body must not run.
        status: what the span says; mode: what was asked for.
        tags: every leaf in order.
        violations: empty where nothing is over budget, also in tag mode.
        budget: the most leaves of an unaccepted kind that this call may have.
        policy: digest of the policy that decided.
        abort: the run must stop (on_violation = abort, or too many refusals).
        step: the step key as text, "" where none is known.
        evicted: observations that the ledger had dropped by now.
    """

    tool: str
    server: str | None
    deny: bool
    status: Status
    mode: Mode
    on_violation: OnViolation
    tags: tuple[Tag, ...]
    violations: tuple[Violation, ...]
    budget: int
    policy: str
    mutating: bool
    abort: bool = False
    step: str = ""
    evicted: int = 0

    @property
    def counted(self) -> tuple[Tag, ...]:
        """The leaves that took from the budget."""
        return tuple(tag for tag in self.tags if tag.counted)

    @property
    def assumed_fields(self) -> tuple[str, ...]:
        """Exported dotted paths of the leaves that counted, in order, each once."""
        return tuple(dict.fromkeys(dotted(tag.leaf.exported) for tag in self.tags if tag.counted))

    @property
    def uncited_tokens(self) -> tuple[tuple[str, TokenKind, int], ...]:
        """What allowed texts hold that nothing vouches for: exported path, kind of token, how many."""
        totals: dict[tuple[str, TokenKind], int] = {}
        for tag in [tag for tag in self.tags if tag.tokens]:
            for kind, number in tag.tokens:
                key = (dotted(tag.leaf.exported), kind)
                totals[key] = totals.get(key, 0) + number
        return tuple((path, kind, number) for (path, kind), number in totals.items())


#: (mode, finding) -> (deny, status). A pair that is missing here denies: `verdict` never falls through.
VERDICTS: Final[dict[tuple[Mode, Finding], tuple[bool, Status]]] = {
    ("enforce", "clean"): (False, "ok"),
    ("enforce", "over"): (True, "blocked"),
    ("enforce", "hard"): (True, "blocked"),
    ("tag", "clean"): (False, "ok"),
    ("tag", "over"): (False, "flagged"),
    ("tag", "hard"): (False, "flagged"),
    ("off", "clean"): (False, "ok"),
    ("off", "over"): (False, "ok"),
    ("off", "hard"): (False, "ok"),
}


def verdict(mode: Mode, finding: Finding) -> tuple[bool, Status]:
    """Look a verdict up; a missing entry denies (design section 6: policy logic is a table).

    Example:
        >>> verdict("enforce", "over"), verdict("tag", "over")
        ((True, 'blocked'), (False, 'flagged'))
    """
    return VERDICTS.get((mode, finding), (True, "blocked"))


def worst(tags: tuple[Tag, ...]) -> Tag:
    """The tag that an argument is known by: its worst leaf, the first of equals."""
    return max(tags, key=lambda tag: KINDS.index(tag.provenance.kind))


def by_argument(tags: tuple[Tag, ...]) -> dict[str, tuple[Tag, ...]]:
    """Tags grouped by top-level argument, in order of first appearance."""
    groups: dict[str, list[Tag]] = {}
    for tag in tags:
        groups.setdefault(str(tag.leaf.path[0]), []).append(tag)
    return {name: tuple(group) for name, group in groups.items()}


def count_kinds(tags: tuple[Tag, ...]) -> dict[Kind, int]:
    """How many leaves have each kind; kinds without a leaf are left out."""
    counts: dict[Kind, int] = {}
    for tag in tags:
        kind = tag.provenance.kind
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def explain(decision: Decision) -> str:
    """A refusal in words: where, why, what next. Carries no argument value.

    Example:
        `patch_file.path: in no result, message, input or schema of this run. Call list_files first, ...`
    """
    lines = [violation.text for violation in decision.violations if violation.rule not in {"assumed_fields"}]
    for tag in decision.counted:
        where = f"{decision.tool}.{dotted(tag.leaf.exported)}"
        if tag.tokens:
            lines.append(f"{where}: holds what nothing vouches for: {', '.join(kind for kind, _ in tag.tokens)}.")
        else:
            lines.append(f"{where}: {_why(tag.provenance)}.")
    return "\n".join(lines)


def _why(provenance: Provenance) -> str:
    if provenance.kind == "assumed":
        return REASONS[provenance.why]
    return f"its kind, {provenance.kind}, is not accepted here"


class ProvenanceDenied(PermissionError):
    """A tool call was refused before its body ran.

    The text carries no argument value; `decision` does (in its tags), and pickles with the error.

    Example:
        >>> issubclass(ProvenanceDenied, PermissionError)
        True
    """

    def __init__(self, decision: Decision, hint: str = "") -> None:
        self.decision = decision
        self.hint = hint
        try:
            text = explain(decision)
        except Exception:  # a refusal stays a refusal, even if its reasons cannot be worded
            text = "Its arguments could not be explained."
        super().__init__(f"{decision.tool} was not run.\n{text}" + (f"\n{hint}" if hint else ""))

    def __reduce__(self) -> tuple[type[ProvenanceDenied], tuple[Decision, str]]:
        return type(self), (self.decision, self.hint)
