"""`citespan show`: the last blocked call of a trace first, each argument with its source, and what was missing."""

from __future__ import annotations

import difflib
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from citespan.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS, Incomplete, UsageError
from citespan.files import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from citespan.calls import Call
    from citespan.calls.model import Verdict
    from citespan.cli.progress import Bar
    from citespan.show.model import Screen, Wanted
    from citespan.show.page import Asked
    from citespan.show.text import Line

#: names that are suggested where a filter finds nothing
_MOST_NAMES: Final = 8
_HEX: Final = frozenset("0123456789abcdef")


class Sought(StrEnum):
    """The verdicts that can be asked for."""

    BLOCKED = "blocked"
    ERROR = "error"
    UNGUARDED = "unguarded"
    FLAGGED = "flagged"
    OK = "ok"
    NONE = "none"


def command(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACE", help="Trace, evidence or trajectory files; - reads standard input."),
    ],
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Show every such call, the newest first, up to --limit.")
    ] = False,
    run: Annotated[
        str, typer.Option("--run", metavar="NAME", help="Only calls of this conversation (its id) or agent (its name).")
    ] = "",
    trace: Annotated[
        str, typer.Option("--trace", metavar="ID", help="Only calls of this trace; the start of its id will do.")
    ] = "",
    tool: Annotated[
        str, typer.Option("--tool", metavar="GLOB", help="Only calls of tools with such a name: git_*, server/tool.")
    ] = "",
    status: Annotated[
        list[Sought] | None,
        typer.Option("--status", help="Look for this verdict only; may be given again. The first four by default."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Show that many at most, the newest first; 100 with --all."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="A policy: names the fields that it accepts where a trace does not, and judges recorded runs.",
        ),
    ] = None,
    list_runs: Annotated[
        bool, typer.Option("--runs", metavar="", help="List the runs instead, a line each, the earliest first.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="Print one JSON object, see docs/show.md.")
    ] = False,
) -> None:
    """Show the last blocked call: which argument had no source, and what would have given it one.

    Where no call is blocked: the last one in which the guard failed (error), else the last one that nobody judged
    (unguarded), else the last one over its budget that ran (flagged). Lines that need no look are not parsed:
    `citespan audit` checks each of them.

    Exit code 0: no such call. 1: one is shown that is blocked, error, unguarded or flagged. 2: there is no tool call.
    64: usage, or no call passes the filters. 65: a file cannot be used (file, line and reason are on standard error).
    78: the named policy is not there.

    Examples:

        citespan show trace.jsonl
        citespan show trace.jsonl --all --tool 'git_*'
        citespan show spans.jsonl --runs
        citespan show trace.jsonl --json
    """
    from citespan.calls.model import TROUBLE
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.show.model import MOST_CALLS, Wanted

    read_once(traces)
    if not set(trace.lower()) <= _HEX:
        raise UsageError(f"--trace: {trace!r} is no start of a trace id: hex digits are needed")
    most = limit or (MOST_CALLS if everything else None)
    statuses: tuple[Verdict, ...] = tuple(dict.fromkeys(each.value for each in status)) if status else TROUBLE
    wanted = Wanted(statuses, trace.lower(), run, tool, most)
    asked = _asked(traces, wanted, policy)
    if list_runs:
        raise typer.Exit(_list(asked, as_json=as_json))
    with Bar("show", traces) as bar:
        screen = _screen(asked, bar)
    if screen.total and not screen.calls:
        raise UsageError(_no_match(asked))
    if as_json:
        from citespan.show.document import as_json as document

        sys.stdout.buffer.write(document(screen, asked))
    else:
        from citespan.show.page import screen_lines

        _print(screen_lines(screen, asked))
    if not screen.total:
        raise typer.Exit(EXIT_INCOMPLETE)
    raise typer.Exit(EXIT_VIOLATIONS if any(shown.call.troubled for shown in screen.shown) else EXIT_OK)


def _list(asked: Asked, *, as_json: bool) -> int:
    """Print the runs; returns the exit code."""
    from citespan.calls.model import TROUBLE
    from citespan.cli.progress import Bar
    from citespan.show.gather import matcher
    from citespan.show.runs import run_lines, runs

    if as_json:
        raise UsageError("--runs is for people; citespan show --json --all has the calls")
    matches = matcher(asked.wanted)
    with Bar("show", asked.sources) as bar:
        found, left_out = runs(call for call in _calls(asked, bar) if matches(call))
    if not found:
        raise Incomplete("no tool call in the files, or none that passes the filters")
    _print(run_lines(found, left_out))
    return EXIT_VIOLATIONS if any(run.statuses.keys() & set(TROUBLE) for run in found) else EXIT_OK


def _asked(traces: list[str], wanted: Wanted, policy: str | None) -> Asked:
    from citespan.show.page import Asked

    if policy is None:
        return Asked(traces, wanted)
    from citespan.core.policy import Policy
    from citespan.core.resolve import digest
    from citespan.policy_file import find
    from citespan.show.policy import accepted_by

    found = find(policy) or Policy()
    return Asked(traces, wanted, policy, digest(found), accepted_by(found))


def _screen(asked: Asked, bar: Bar) -> Screen:
    """From the bytes of the files where that will do, else from each call."""
    from citespan.show.fast import fast_screen
    from citespan.show.gather import gather

    if STANDARD_INPUT not in asked.sources:
        screen = fast_screen(asked.sources, asked.wanted, bar.advance)
        if screen is not None:
            return screen
    return gather(_calls(asked, bar), asked.wanted)


def _calls(asked: Asked, bar: Bar | None = None) -> Iterator[Call]:
    from citespan.calls.read import read_calls
    from citespan.core.policy import Policy
    from citespan.policy_file import find
    from citespan.replay import Policies

    policies = Policies(find(asked.policy), Policy()) if asked.policy else None
    for source in asked.sources:
        yield from read_calls(source, None if bar is None else bar.advance, policies=policies)


def _no_match(asked: Asked) -> str:
    """That no call passes the filters, and what there is."""
    from citespan.files.texts import plain
    from citespan.show.gather import names_of

    wanted = asked.wanted
    given = {"tool": wanted.tool, "run": wanted.run, "trace": wanted.trace}
    said = " and ".join(f"--{sort} {plain(value)}" for sort, value in given.items() if value)
    lines = [f"no call passes {said}"]
    names = names_of(_calls(asked)) if STANDARD_INPUT not in asked.sources else {}
    for sort, value in given.items():
        there = names.get(sort, ())
        if not value or not there:
            continue
        close = difflib.get_close_matches(value, there, _MOST_NAMES)
        shown = ", ".join(plain(name) for name in (close or there)[:_MOST_NAMES])
        more = "" if close or len(there) <= _MOST_NAMES else ", ..."
        lines.append(f"did you mean {shown}?" if close else f"--{sort}: there is {shown}{more}")
    return "; ".join(lines)


def _print(lines: Iterable[Line]) -> None:
    """With colours on a terminal that has them, else as plain text. Standard output may be of any encoding."""
    from citespan.show.text import STYLES, as_text

    if not sys.stdout.isatty():
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.buffer.write(as_text(lines).encode(encoding, "backslashreplace"))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        console.print(Text.assemble(*((part.text, STYLES.get(part.style, "")) for part in line)), soft_wrap=True)
