"""`citespan suggest`: recorded runs in, a policy for a person to review out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from citespan.errors import EXIT_OK, TraceFileError, UsageError

if TYPE_CHECKING:
    from citespan.files import Recording
    from citespan.learn import Learner

#: distinct tasks below which a policy says little of an agent (docs/enforce-in-a-day.md: some tens)
ENOUGH_TASKS: Final = 20


def command(
    recordings: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Trajectory files, or traces written in tag mode; - reads standard input."
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write it; standard output by default."),
    ] = None,
    profile: Annotated[
        Literal["strict", "balanced", "loose"],
        typer.Option("--profile", help="How many distinct tasks must back a loosening."),
    ] = "balanced",
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Write over the file that -o names, if it is there.")
    ] = False,
) -> None:
    """Learn a policy from recorded runs, each loosening with its reason.

    Exit code 0: written. 64: usage, or the file to write is there already. 65: a line cannot be used (file, line and
    reason are on standard error).

    Examples:

        citespan suggest runs.jsonl -o citespan.toml
        citespan suggest trace.jsonl --profile strict
    """
    from citespan.calls.words import number
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.files import opened
    from citespan.files.whole import write_whole
    from citespan.learn import Learner, render
    from citespan.policy_file import loads

    read_once(recordings)
    if output is not None and not force:
        _leave_alone(output)
    learner = Learner()
    with Bar("suggest", recordings) as bar:
        for source in recordings:
            try:
                with opened(source, bar.advance) as recording:
                    _learn(learner, recording)
            except OSError as error:
                raise TraceFileError(f"{source}: cannot be read: {error.strerror or type(error).__name__}") from error
    draft = learner.draft(profile)
    text = render(draft)
    loads(text, output or "<suggested>")  # what is written can be used
    if output is None:
        typer.echo(text, nl=False)
    else:
        if not force:
            _leave_alone(output)  # reading takes its time
        write_whole(output, text)
        few = "" if draft.tasks >= ENOUGH_TASKS else "; too few to enforce by"
        learned = f"{number(draft.runs, 'run')} of {number(draft.tasks, 'task')}"
        typer.echo(f"{output}: learned from {learned}{few}", err=True)
    raise typer.Exit(EXIT_OK)


def _learn(learner: Learner, recording: Recording) -> None:
    """Take in what a file holds: a trace in one of its forms, else trajectories.

    Raises:
        TraceFileError: it is neither.
    """
    from citespan.calls import call_of
    from citespan.files import kind_of
    from citespan.traces.reader import read_spans
    from citespan.trajectories import read_trajectories

    if kind_of(recording) == "trace":
        for call in filter(None, map(call_of, read_spans(recording))):
            learner.add_call(call)
    else:
        for trajectory in read_trajectories(recording):
            learner.add(trajectory)


def _leave_alone(output: str) -> None:
    """A policy that somebody may have reviewed is not lost to a second run.

    Raises:
        UsageError: the file is there.
    """
    try:
        there = Path(output).is_file()
    except OSError:  # writing says why
        return
    if there:
        raise UsageError(f"{output} is there already; name another file, or add --force")
