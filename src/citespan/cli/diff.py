"""`citespan diff`: two recordings of an agent in, what changed about its calls out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from citespan.errors import EXIT_OK, EXIT_VIOLATIONS, Incomplete, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from citespan.cli.progress import Bar
    from citespan.diff import Chosen, Line, Run
    from citespan.replay import Policies

#: of an option that may be given once for both files, or once for each
_ONCE_EACH: Final = 2
_STYLES: Final = {"@": "bold", "=": "dim", "~": "yellow", "+": "green", "-": "red", ">": "cyan", " ": ""}
_TRENDS: Final = {"worse": "bold red", "better": "green", "same": ""}


def command(
    a: Annotated[str, typer.Argument(metavar="A", help="The run to compare with; - reads standard input.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run that is compared; - reads standard input.")],
    only_worse: Annotated[
        bool,
        typer.Option("--only-worse", metavar="", help="Show, and exit with 1 for, only what got worse."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Show unchanged calls too, each on its line.")
    ] = False,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="ID",
            help="Compare only this run: a conversation's id, or a trajectory's. Given twice: the one in A, the one in "
            "B.",
        ),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="ID",
            help="Compare only this trace; the start of its id will do. Given twice: the one in A, the one in B.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="The policy that judges recorded runs, as with citespan replay. Given twice: the one for A, the one "
            "for B.",
        ),
    ] = None,
    form: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="text: for people. json: one object, see docs/diff.md."),
    ] = "text",
) -> None:
    """Compare two recordings of an agent, call by call: kinds, sources and projections of arguments.

    A and B are trace files, evidence files or trajectory files, in any combination. Calls are aligned as sequences, so
    a call that was repeated, left out or made earlier is shown as just that. Values are not compared: no file has them.

    Exit code 0: no kind, verdict or strength of a citation changed (other sources alone are shown, and are no failure).
    1: one did; with --only-worse: one got worse. 2: a file holds no tool call. 64: usage, or too many calls to compare
    at once. 65: a file cannot be used (file, line and reason are on standard error). 78: the named policy is not there.

    Examples:

        citespan diff good.jsonl bad.jsonl
        citespan diff main.jsonl branch.jsonl --only-worse --format json
        citespan diff runs.jsonl runs.jsonl --policy old.toml --policy new.toml
    """
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.diff import Chosen, compare, render_json, render_text
    from citespan.diff.render_text import Shown

    read_once([a, b])
    if only_worse and everything:
        raise UsageError("--all and --only-worse exclude each other")
    runs, traces, policies = _each("--run", run), _each("--trace", trace), _each("--policy", policy)
    with Bar("diff", [a, b]) as bar:
        sides = [
            _read(source, Chosen(runs[side], traces[side]), _policies(policies[side]), bar)
            for side, source in enumerate((a, b))
        ]
    found = compare(*sides)
    shown: Shown = "worse" if only_worse else "all" if everything else "changes"
    if form == "json":
        sys.stdout.buffer.write(render_json(found, a, b, shown))
    else:
        _print(render_text(found, a, b, shown))
    summary = found.summary
    changed = summary.worse or (summary.better and not only_worse)
    raise typer.Exit(EXIT_VIOLATIONS if changed else EXIT_OK)


def _each(option: str, given: list[str] | None) -> tuple[str, str]:
    """What an option says for A and for B."""
    values = given or [""]
    if len(values) > _ONCE_EACH:
        raise UsageError(f"{option} can be given twice at most: once for A and once for B")
    return values[0], values[-1]


def _policies(named: str) -> Policies | None:
    if not named:
        return None
    from citespan.core.policy import Policy
    from citespan.policy_file import find
    from citespan.replay import Policies

    return Policies(find(named), Policy())


def _read(source: str, chosen: Chosen, policies: Policies | None, bar: Bar) -> tuple[Run, ...]:
    from citespan.calls.read import read_calls
    from citespan.diff import collect
    from citespan.files import name_of
    from citespan.files.texts import plain

    runs = collect(read_calls(source, bar.advance, policies=policies), plain(source), chosen)
    if runs:
        return runs
    name = plain(name_of(source))
    if str(chosen):
        raise UsageError(f"{name}: no tool call of {plain(str(chosen))}; citespan show {name} --runs lists them")
    raise Incomplete(f"{name}: no tool call in it, so there is nothing to compare")


def _print(lines: Iterable[Line]) -> None:
    """Plain text into files and pipes, colours on a terminal."""
    from citespan.files.texts import plain

    if not sys.stdout.isatty():
        for line in lines:
            typer.echo(plain(str(line)))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        style = _TRENDS[line.trend] or _STYLES[line.sign]
        console.print(Text(plain(str(line)), style=style), soft_wrap=True)
