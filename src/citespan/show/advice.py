"""What would have given an argument a source: the policy's fields, the nearest of the run, what other calls did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan import semconv
from citespan.calls import Argument, Call
from citespan.calls.paths import field as field_of
from citespan.show.model import Context, Elsewhere
from citespan.show.words import apart

GENERAL: Final = "call a tool that returns the value and pass it on as returned, or let the user say it"
NO_CONTEXT: Final = Context()
UNDECLARED: Final = "the tool's schema declares no such argument: check the arguments' names"

Why: TypeAlias = Literal["held", "accepts", "nearest", "elsewhere", "other_run", "undeclared", "general"]


class Hint(NamedTuple):
    """One thing that would have helped.

    Args:
        why: "held": the policy accepts these fields, and the run has them. "accepts": the policy accepts them.
            "nearest": the run has them. "elsewhere": another call cited them. "other_run": a call of another run did.
        text: in words. fields: `tool.path`, server first where the policy names one.
    """

    why: Why
    text: str
    fields: tuple[str, ...] = ()


def missing(
    call: Call, argument: Argument, context: Context = NO_CONTEXT, accepts: Sequence[str] = ()
) -> tuple[Hint, ...]:
    """What would have given an uncited argument a source; never empty.

    Args:
        context: what the rest of the files says about the call. accepts: the policy's `from`, for spans that do not
            say.

    Example:
        >>> missing(Call("patch_file"), Argument("path", "assumed", accepts=("list_files.files.*",)))[0].text
        'call list_files first: the policy accepts list_files.files.*'
    """
    if argument.name == semconv.UNDECLARED:
        return (Hint("undeclared", UNDECLARED),)
    named = argument.accepts or tuple(accepts)
    nearest = argument.nearest
    held = tuple(field for field in named if field in nearest)
    absent = tuple(field for field in named if field not in nearest)
    rest = tuple(field for field in nearest if field not in held)
    hints = []
    if held:
        hints.append(Hint("held", f"pass on a value of {_listed(held)}: the policy accepts it, this run has it", held))
    if absent:
        tools = tuple(dict.fromkeys(_tool(field) for field in absent))
        hints.append(Hint("accepts", f"call {_listed(tools)} first: the policy accepts {_listed(absent)}", absent))
    if rest:
        hints.append(Hint("nearest", f"nearest in this run: {_listed(rest)}", rest))
    elsewhere = context.elsewhere.get(argument.name, ())
    last = {(other.cited.shown, other.projection): other for other in reversed(elsewhere)}
    hints += [_cited(call, other) for other in elsewhere if other is last[other.cited.shown, other.projection]]
    named_by = {field_of(field) for hint in hints for field in hint.fields}
    other = context.other_runs.get(argument.name)
    if other is not None and field_of(other.cited.shown) not in named_by:
        hints.append(_came_from(other))
    return tuple(hints) or (Hint("general", GENERAL),)


def _came_from(other: Elsewhere) -> Hint:
    field = field_of(other.cited.shown)
    how = "" if other.projection == "exact" else f" ({other.projection})"
    return Hint("other_run", f"in another run it came from {field}{how}", (field,))


def _cited(call: Call, other: Elsewhere) -> Hint:
    when = apart(other.start, call.start)
    how = "" if other.projection == "exact" else f" ({other.projection})"
    by = ", ".join(part for part in (when, f"span {other.span_id}" if other.span_id else "") if part)
    text = f"another call cited {other.cited.shown}{how}" + (f": {by}" if by else "")
    return Hint("elsewhere", text, (other.cited.shown,))


def _tool(field: str) -> str:
    """The tool of a field: what stands after its server and before the path."""
    server, slash, rest = field.rpartition("/")
    return f"{server}{slash}{rest.partition('.')[0]}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
