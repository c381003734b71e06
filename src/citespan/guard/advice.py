"""What to do next after a refusal, in words for the model and the person; carries no argument value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citespan.core.decision import Decision
from citespan.core.leaves import dotted
from citespan.core.nearest import Offer
from citespan.core.resolve import Resolved

if TYPE_CHECKING:
    from citespan.guard.run import Run

NO_RUN = (
    "No run is open here, so nothing can be cited: open one with `with citespan.run(): ...`, and carry the "
    "OpenTelemetry context into threads (contextvars.copy_context().run, or opentelemetry-instrumentation-threading)."
)
_BROKEN = "citespan itself could not do its work here; no other value will help. Tell whoever operates it."
_MAX_NAMED = 8
_GENERAL = (
    "Call a tool that returns the value and pass it on exactly as returned, or ask the user for it. "
    "Do not guess another value."
)


def advise(run: Run | None, rules: Resolved | None, decision: Decision, offers: tuple[Offer, ...] = ()) -> str:
    """The next step after a refusal: which tool to call first, where the policy names one, and what comes closest.

    Args:
        offers: as `citespan.core.nearest.offers` found them when the call was judged.

    Example:
        `For path: call list_files first (the policy accepts list_files.files.*).`
    """
    if any(violation.rule == "guard" for violation in decision.violations):
        return _BROKEN
    if run is None:
        return NO_RUN
    lines: list[str] = [_looked(run)]
    unnamed = [tag for tag in decision.counted if tag.leaf.role == "key" and len(tag.leaf.path) == 1]
    if unnamed:
        lines.append("It was given an argument that its schema does not declare: check the arguments' names.")
    for tag in decision.counted:
        rule = None if rules is None else rules.argument(tag.leaf)
        where = dotted(tag.leaf.exported)
        if rule is not None and rule.sources:
            lines.append(f"For {where}: {_from(rule.sources, run)}")
        elif rule is not None and rule.propose_against:
            lines.append(f"For {where}: a new value needs run.propose and a reviewer's approval.")
    specific = len(lines) > 1
    for offer in [offer for offer in offers if offer.nearest]:
        # no full stop: a model would copy it with the last name
        lines.append(f"Nearest fields so far for {offer.path}: {', '.join(offer.nearest)}")
    if decision.abort:
        lines.append("The run stops here.")
    elif not specific:
        lines.append(_GENERAL)
    return "\n".join(dict.fromkeys(lines))


def _from(sources: tuple[str, ...], run: Run) -> str:
    """What to do where the policy names the fields: call their tools, or use what these have returned already."""
    called = {name.rpartition("/")[2] for name in run.state.ledger.tools()}
    tools = list(dict.fromkeys(_tool_of(source) for source in sources))
    accepted = ", ".join(sources)
    if any(tool.rpartition("/")[2] in called for tool in tools):
        return f"pass on a value of {accepted} exactly as returned (the policy accepts no other field)."
    return f"call {', '.join(tools)} first (the policy accepts {accepted})."


def _looked(run: Run) -> str:
    """What the ledger holds: how many results, of which tools."""
    counts = run.state.ledger.tools()
    if not counts:
        return "No tool has returned anything in this run yet."
    named = ", ".join(list(counts)[:_MAX_NAMED]) + (", ..." if len(counts) > _MAX_NAMED else "")
    number = sum(counts.values())
    return f"Looked in {number} result{'' if number == 1 else 's'} of {named}."


def _tool_of(field: str) -> str:
    """The tool of a field: what stands after its server and before the path."""
    server, slash, rest = field.rpartition("/")
    return f"{server}{slash}{rest.partition('.')[0]}"
