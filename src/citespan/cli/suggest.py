"""`citespan suggest`: recorded runs in, a policy for a person to review out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from citespan.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    import io

STANDARD_INPUT: Final = "-"
_START: Final = 4096
_TRACE: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resource_?[sS]pans"')


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
) -> None:
    """Learn a policy from recorded runs, each loosening with its reason.

    Exit code 0: written. 64: usage. 65: a line cannot be used (file, line and reason are on standard error).
    """
    from citespan.cli.progress import Bar
    from citespan.learn import Learner, render
    from citespan.policy_file import loads
    from citespan.traces.reader import read_spans
    from citespan.trajectories import read_trajectories

    if recordings.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once: give - only once")
    learner = Learner()
    with Bar("suggest", recordings) as bar:
        for source in recordings:
            if is_trace(source):
                for span in read_spans(source, progress=bar.advance):
                    learner.add_span(span)
            else:
                for trajectory in read_trajectories(source, progress=bar.advance):
                    learner.add(trajectory)
    text = render(learner.draft(profile))
    loads(text, output or "<suggested>")  # what is written can be used
    if output is None:
        typer.echo(text, nl=False)
    else:
        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
    raise typer.Exit(EXIT_OK)


def is_trace(source: str) -> bool:
    """Whether a file starts as a trace file does; of standard input nothing is taken away by looking."""
    try:
        if source == STANDARD_INPUT:
            start = cast("io.BufferedReader", sys.stdin.buffer).peek(_START)
        else:
            with Path(source).open("rb") as file:
                start = file.read(_START)
    except OSError:
        return False  # the reader says why
    return _TRACE.match(start) is not None
