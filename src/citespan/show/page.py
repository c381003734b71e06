"""The whole screen as lines of text: each call under its run, what else there is, and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from citespan import semconv
from citespan.calls.model import TROUBLE
from citespan.calls.words import number
from citespan.files.texts import plain
from citespan.show.model import Screen, Shown, Wanted
from citespan.show.text import Accepts, Line, Part, call_lines, nothing_accepted, short
from citespan.show.words import listed

#: digits of a trace id that tell it from the others of a file
_ENOUGH: Final = 8


class Asked(NamedTuple):
    """What the command was asked.

    Args:
        sources: the files. policy: the policy's file, "" for none; digest: of what it says. accepts: what it names.
    """

    sources: Sequence[str]
    wanted: Wanted
    policy: str = ""
    digest: str = ""
    accepts: Accepts = nothing_accepted


def screen_lines(screen: Screen, asked: Asked) -> Iterator[Line]:
    """The screen, line by line."""
    if not screen.shown:
        yield (Part(_nothing(screen, asked)),)
        return
    run = None
    for shown in screen.shown:
        said = _run(shown)
        if said != run:
            yield from ((),) * (run is not None)
            yield (Part(said),)
            run = said
        yield ()
        yield from call_lines(shown.call, shown.context, asked.accepts)
        if asked.digest and shown.call.policy not in {"", asked.digest}:
            yield (
                Part(f"  {plain(asked.policy)} is not the policy that decided: its digest is {asked.digest}", "weak"),
            )
    yield from _rest(screen, asked)


def _nothing(screen: Screen, asked: Asked) -> str:
    """One line for a screen without calls."""
    if not screen.total:
        return f"no tool call in {_files(asked.sources)}"
    statuses = listed(asked.wanted.statuses, "or")
    if screen.calls == 1:
        return f"all clean: the one call is not {statuses}"
    return f"all clean: none of {number(screen.calls, 'call')} is {statuses}"


def _run(shown: Shown) -> str:
    call = shown.call
    names = []
    if call.agent:
        names.append(f"agent {short(call.agent)}")
    if call.run:
        names.append(f"conversation {short(call.run)}")
    if call.trace_id:
        names.append(f"trace {short(call.trace_id)}")
    counts = counted(shown.context.statuses)
    return f"run: {', '.join(names) or 'nothing in the file names it'}" + (f": {counts}" if counts else "")


def counted(statuses: Mapping[str, int]) -> str:
    """How many calls have each verdict, the worst first.

    Example:
        >>> counted({"ok": 3, "blocked": 1})
        '4 calls: 1 blocked, 3 ok'
    """
    order = [*TROUBLE, "ok", "none", "within"]
    words = {"none": "not judged", "within": "inside others"}
    parts = [f"{statuses[status]:,} {words.get(status, status)}" for status in order if statuses.get(status)]
    return f"{number(sum(statuses.values()), 'call')}: {', '.join(parts)}" if parts else ""


def _rest(screen: Screen, asked: Asked) -> Iterator[Line]:
    """What else there is, and the next command."""
    left = dict(screen.matching)
    for shown in screen.shown:
        left[shown.call.status] = left.get(shown.call.status, 0) - 1
    more = [f"{amount:,} more {status}" for status, amount in left.items() if amount > 0]
    if more:
        how = "--all" if asked.wanted.limit is None else f"--limit {sum(screen.matching.values())}"
        yield ()
        yield (Part(f"{', '.join(more)}: citespan show {how}{_options(asked)} {_files(asked.sources)}"),)
    following = list(_next(screen.shown[0], asked)) if asked.wanted.limit is None else []
    if following and not more:
        yield ()
    for command in following:
        yield Part("next: ", "hint"), Part(command)


def _next(shown: Shown, asked: Asked) -> Iterator[str]:
    """Commands that help with a call."""
    call = shown.call
    if call.status == "unguarded":
        yield "citespan doctor"
        return
    uncited = [argument.name for argument in call.arguments if argument.counted]
    named = [name for name in uncited if name != semconv.UNDECLARED]
    if named and asked.policy:
        policy = shlex.quote(plain(asked.policy))
        yield f"citespan policy explain {policy} {_quoted(call.name)} {_quoted(named[0])}"
    if uncited and "-" not in asked.sources:
        chosen = f" --trace {call.trace_id[:_ENOUGH]}" if call.trace_id else ""
        yield f"citespan report {_files(asked.sources)}{chosen} -o report.html"


def _options(asked: Asked) -> str:
    """The filters that were given, each after a blank."""
    wanted = asked.wanted
    statuses = [] if wanted.statuses == TROUBLE else [("status", status) for status in wanted.statuses]
    given = [("run", wanted.run), ("trace", wanted.trace), ("tool", wanted.tool), ("policy", asked.policy), *statuses]
    return "".join(f" --{option} {_quoted(value)}" for option, value in given if value)


def _files(sources: Sequence[str]) -> str:
    return " ".join(_quoted(source) for source in sources)


def _quoted(text: str) -> str:
    return shlex.quote(short(text))
