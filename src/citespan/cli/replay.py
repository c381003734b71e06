"""`citespan replay`: recorded runs in, what the guard would have decided about each call out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from citespan.errors import EXIT_BAD_INPUT, EXIT_OK, EXIT_VIOLATIONS, CitespanError, TraceFileError


def command(
    trajectories: Annotated[
        list[str],
        typer.Argument(metavar="TRAJECTORY", help="Trajectory files (JSON lines); - reads standard input."),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="The policy that judges every run. Without it a run's own policy does, else the one that "
            "CITESPAN_POLICY names, else the defaults: no uncited argument.",
        ),
    ] = None,
    form: Annotated[
        Literal["text", "jsonl"],
        typer.Option("--format", help="text: a summary. jsonl: one object per call."),
    ] = "text",
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", metavar="", help="Report a line that cannot be used, and judge the rest."),
    ] = False,
) -> None:
    """Judge recorded tool calls as if they were live.

    Each recorded result lands in the run's ledger, also that of a call which is blocked here. Read-only hints are
    trusted as recorded.

    Exit code 0: no call is blocked. 1: one is. 64: usage. 65: a line cannot be used (file, line and reason are on
    standard error; with --keep-going the rest is judged first). 78: the named policy is not there.

    Examples:

        citespan replay runs.jsonl --policy citespan.toml
        zcat runs.jsonl.gz | citespan replay --format jsonl -
    """
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.core.policy import Policy
    from citespan.policy_file import find
    from citespan.replay import Policies, Tally, call_line, render, replay
    from citespan.trajectories import read_trajectories

    read_once(trajectories)
    named = None if policy is None else find(policy)
    policies = Policies(named, Policy() if named is not None else find() or Policy())
    lines = form == "jsonl"
    tallies: list[Tally] = []
    with Bar("replay", trajectories, shown=not (lines and sys.stdout.isatty())) as bar:
        for source in trajectories:
            tally = Tally(source)
            tallies.append(tally)

            def bad(error: CitespanError, tally: Tally = tally) -> None:
                tally.bad += 1
                bar.say(f"citespan: {error}")

            for trajectory in read_trajectories(source, progress=bar.advance, bad=bad if keep_going else None):
                try:
                    rulebook = policies.of(trajectory)
                except TraceFileError as error:
                    if not keep_going:
                        raise
                    bad(error)
                    continue
                tally.begin()
                for judged in replay(trajectory, rulebook):
                    tally.add(judged)
                    if lines:
                        sys.stdout.buffer.write(call_line(judged))
    if not lines:
        typer.echo(render(tallies), nl=False)
    if any(tally.bad for tally in tallies):
        raise typer.Exit(EXIT_BAD_INPUT)
    raise typer.Exit(EXIT_VIOLATIONS if any(tally.blocked for tally in tallies) else EXIT_OK)
