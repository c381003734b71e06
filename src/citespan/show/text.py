"""One call as lines of text. Each part of a line has a style; signs and words say the same without colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from citespan import semconv
from citespan.calls import Argument, Call, Leaf
from citespan.calls.model import Verdict
from citespan.calls.words import violation
from citespan.files.texts import plain
from citespan.show.advice import missing
from citespan.show.model import Context
from citespan.show.words import apart, moment

#: leaves of one argument that are shown, names that one line lists
MOST_LEAVES: Final = 12
#: characters of a name or a path, and of a preview
MOST_CHARACTERS: Final = 160

Accepts: TypeAlias = Callable[[Call, Argument], Sequence[str]]


class Part(NamedTuple):
    """A piece of a line; style: a name of `STYLES`, "" for none."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Part, ...]

#: colours of a terminal by what is said: statuses, kinds of argument rows, and the rest
STYLES: Final[Mapping[str, str]] = {
    "blocked": "bold red", "error": "bold red", "unguarded": "bold yellow", "flagged": "bold yellow",
    "ok": "bold green", "none": "bold", "within": "bold",
    "uncited": "red", "allowed": "yellow", "weak": "yellow", "cited": "green",
    "hint": "cyan", "faint": "dim",
}  # fmt: skip

#: what a row begins with
_SIGNS: Final = {"uncited": "!", "allowed": "-", "weak": "~", "cited": "+"}
_SAYS: Final[Mapping[Verdict, str]] = {
    "blocked": "the tool's body did not run",
    "error": "the guard itself failed, in a mode that does not enforce; the tool's body ran",
    "unguarded": "the tool's body ran, or may have run, without a judgement that could stop it",
    "flagged": "over its budget; the tool's body ran, since the mode only tags",
    "ok": "within its budget",
    "none": "nothing in the file says that anybody judged it",
    "within": "part of a judged call: that call's span has the verdict",
}
_WITHOUT_SOURCE: Final = {
    "schema": "supplied by the tool's schema or the policy",
    "invented": "an approved proposal",
    "assumed": "no source",
}


def nothing_accepted(_call: Call, _argument: Argument) -> Sequence[str]:
    """The fields of a policy that is not there."""
    return ()


def call_lines(call: Call, context: Context, accepts: Accepts = nothing_accepted) -> Iterator[Line]:
    """One call in full: verdict, violations, each argument with its source, and what would have given it one.

    Args:
        context: what its run says. accepts: fields that a policy names for an argument, for spans that do not say.
    """
    where = ", ".join(
        part for part in (moment(call.start), f"span {short(call.span_id)}" if call.span_id else "") if part
    )
    yield Part(call.status.upper(), call.status), Part(f" {short(call.name)}"), Part(f"  {where}", "faint")
    yield (Part(f"  {_SAYS[call.status]}"),)
    for text in call.violations:
        yield (Part(f"  {short(violation(text), 10)}", "uncited"),)
    for token in call.uncited_tokens:
        name, _, shape = token.rpartition(":")
        yield (Part(f"  {short(name)} is exempt, but holds an uncited {short(shape)}", "weak"),)
    if call.error and call.error != semconv.ERROR_DENIED:
        yield (Part(f"  the call raised {short(call.error)}"),)
    yield from _settings(call)
    if call.arguments:
        yield ()
    width = max((len(short(argument.name)) for argument in call.arguments), default=0)
    for argument in call.arguments:
        yield from _argument(call, argument, context, width, accepts)
    if call.truncated:
        yield (Part(f"  the span had no room for: {short(', '.join(call.truncated))}", "faint"),)
    if call.evicted:
        yield (Part(f"  the run's ledger had dropped {call.evicted:,} results to stay in its bounds", "faint"),)


def _settings(call: Call) -> Iterator[Line]:
    said = []
    if call.mode:
        said.append(f"mode {short(call.mode)}")
    if call.budget >= 0:
        said.append(f"budget {call.budget}")
    if call.policy:
        said.append(f"policy {short(call.policy)}")
    if call.step:
        said.append(f"step {short(call.step)}")
    if said:
        yield (Part(f"  {', '.join(said)}", "faint"),)


def _argument(call: Call, argument: Argument, context: Context, width: int, accepts: Accepts) -> Iterator[Line]:
    style = _style(argument)
    yield (
        Part(f"  {_SIGNS[style]} ", style),
        Part(f"{short(argument.name):<{width}}  "),
        Part(f"{argument.kind:<8}", style),
        Part(f"  {_source(call, argument, context)}"),
        *((Part(f"  value {short(argument.preview)}", "faint"),) if argument.preview else ()),
    )
    yield from _leaves(argument)
    if argument.counted:
        hints = missing(call, argument, context, accepts(call, argument))
        for text in dict.fromkeys(hint.text for hint in hints):
            yield Part("      missing: ", "hint"), Part(short(text, 4))


def _style(argument: Argument) -> str:
    if argument.counted:
        return "uncited"
    if argument.kind == "assumed":
        return "allowed"
    return "weak" if argument.weak else "cited"


def _source(call: Call, argument: Argument, context: Context) -> str:
    said = []
    if argument.cited is None:
        said.append(_WITHOUT_SOURCE.get(argument.kind, "the file does not say where from"))
    else:
        said.append(("partly from " if argument.kind == "assumed" else "") + short(argument.cited.shown))
        if argument.projection != "exact":
            said.append(f"by {short(argument.projection)}")
        source = context.sources.get(argument.cited.span_id)
        if source is not None and (when := apart(source.end or source.start, call.start)):
            said.append(when)
        if argument.cited.span_id:
            said.append(f"span {short(argument.cited.span_id)}")
    if argument.weak:
        said.append("weak: proves little")
    if argument.counted and argument.kind != "assumed":
        said.append(f"{argument.kind} is not accepted here")
    if argument.kind == "assumed" and not argument.counted and call.violations:
        said.append("not counted: the policy allows it")
    return ", ".join(said)


def _leaves(argument: Argument) -> Iterator[Line]:
    """The counted leaves of an argument that has several; how many others have a source."""
    counted = [leaf for leaf in argument.leaves if leaf.counted]
    paths = {leaf.path for leaf in counted}
    counted += [Leaf(path, "assumed", counted=True) for path in argument.counted if path not in paths]
    if not argument.leaves and [leaf.path for leaf in counted] in ([], [argument.name]):
        return
    for leaf in counted[:MOST_LEAVES]:
        yield Part("      ! ", "uncited"), Part(f"{short(leaf.path)}  {leaf.kind}")
    if len(counted) > MOST_LEAVES:
        yield (Part(f"      and {len(counted) - MOST_LEAVES:,} more that count"),)
    others = len(argument.leaves) - sum(leaf.counted for leaf in argument.leaves)
    if others:
        yield (Part(f"      {others:,} of {len(argument.leaves):,} leaves do not count", "faint"),)


def as_text(lines: Iterable[Line]) -> str:
    r"""Lines as plain text.

    Example:
        >>> as_text([(Part("BLOCKED", "blocked"), Part(" patch_file"))])
        'BLOCKED patch_file\n'
    """
    return "".join("".join(part.text for part in line).rstrip() + "\n" for line in lines)


def short(text: str, times: int = 1) -> str:
    r"""A name out of a file: no control characters, and not longer than a screen can bear.

    Args:
        times: how many times `MOST_CHARACTERS` there may be.

    Example:
        >>> short("list\x1b[2Jfiles")
        'list\\x1b[2Jfiles'
    """
    most = MOST_CHARACTERS * times
    return plain(text if len(text) <= most else f"{text[: most - 1]}…")
