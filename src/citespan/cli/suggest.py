"""`citespan suggest`: recorded runs in, a policy for a person to review out."""

from __future__ import annotations

import re
import secrets
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from citespan.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    import io

STANDARD_INPUT: Final = "-"
#: distinct tasks below which a policy says little of an agent (docs/enforce-in-a-day.md: some tens)
ENOUGH_TASKS: Final = 20
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
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Write over the file that -o names, if it is there.")
    ] = False,
) -> None:
    """Learn a policy from recorded runs, each loosening with its reason.

    Exit code 0: written. 64: usage, or the file to write is there already. 65: a line cannot be used (file, line and
    reason are on standard error).
    """
    from citespan.cli.progress import Bar
    from citespan.learn import Learner, render
    from citespan.policy_file import loads
    from citespan.traces.reader import read_spans
    from citespan.trajectories import read_trajectories

    if recordings.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once: give - only once")
    if output is not None and not force:
        _leave_alone(output)
    learner = Learner()
    with Bar("suggest", recordings) as bar:
        for source in recordings:
            if is_trace(source):
                for span in read_spans(source, progress=bar.advance):
                    learner.add_span(span)
            else:
                for trajectory in read_trajectories(source, progress=bar.advance):
                    learner.add(trajectory)
    draft = learner.draft(profile)
    text = render(draft)
    loads(text, output or "<suggested>")  # what is written can be used
    if output is None:
        typer.echo(text, nl=False)
    else:
        if not force:
            _leave_alone(output)  # reading takes its time
        try:
            _write(Path(output), text)
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
        few = "" if draft.tasks >= ENOUGH_TASKS else "; too few to enforce by"
        learned = f"{_number(draft.runs, 'run')} of {_number(draft.tasks, 'task')}"
        typer.echo(f"{output}: learned from {learned}{few}", err=True)
    raise typer.Exit(EXIT_OK)


def _leave_alone(output: str) -> None:
    """A policy that somebody may have reviewed is not lost to a second run.

    Raises:
        UsageError: the file is there.
    """
    if Path(output).is_file():
        raise UsageError(f"{output} is there already; name another file, or add --force")


def _write(output: Path, text: str) -> None:
    """Write a file whole or not at all. A link stays one, and what is no regular file is written to as it is."""
    path = output.resolve()
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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
