"""`citespan report`: recorded runs in, one page of HTML out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from citespan.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from citespan.calls import Call

_TITLE: Final = "citespan report"


def command(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACE", help="Trace files, evidence files or recorded runs; - reads standard input."),
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the page; standard output by default."),
    ] = None,
    run: Annotated[
        str, typer.Option("--run", metavar="NAME", help="Only runs of this conversation id, or of this agent.")
    ] = "",
    trace: Annotated[str, typer.Option("--trace", metavar="ID", help="Only traces whose id starts like this.")] = "",
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="The page's title.")] = _TITLE,
) -> None:
    """Draw runs as one HTML page: a timeline of tool calls, an arrow from each argument to its source.

    The page is one file, opens from disk, and fetches nothing. It holds names, kinds, sources and digests, and values
    only where the trace has previews. Of more than 20,000 calls it shows the last ones, and says so.

    Exit code 0: written, whatever the calls' status; `citespan audit` is the command that judges. 64: usage, the file
    cannot be written, or no call is of that run or trace. 65: a file cannot be read (file, line and reason are on
    standard error); nothing is written then.

    Examples:

        citespan report trace.jsonl -o report.html
        citespan report good.jsonl bad.jsonl --title "before and after" -o report.html
        cat trace.jsonl | citespan report - > report.html
    """
    from citespan.calls.read import read_calls
    from citespan.calls.words import number
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.files.whole import write_whole
    from citespan.report import page

    read_once(traces)
    if output is None and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal: add -o report.html, or send it to a file")
    wanted, prefix = run, trace.lower()
    seen: Counter[str] = Counter()
    others = 0

    def chosen(bar: Bar) -> Iterator[Call]:
        nonlocal others
        for source in traces:
            for call in read_calls(source, bar.advance):
                if (wanted and wanted not in {call.run, call.agent}) or not call.trace_id.startswith(prefix):
                    others += 1
                elif call.status != "within":
                    seen[call.status] += 1
                    yield call

    with Bar("report", traces) as bar:
        text = page(chosen(bar), title=title)
    if others and not seen:
        raise UsageError(
            f"none of {others} calls is of {_asked(run, trace)}: `citespan show --all` lists what there is"
        )
    if output is None:
        sys.stdout.buffer.write(text.encode())
    else:
        write_whole(output, text)
        blocked = f", {seen['blocked']} blocked" if seen["blocked"] else ""
        typer.echo(f"{output}: {number(seen.total(), 'call')}{blocked}", err=True)
    raise typer.Exit(EXIT_OK)


def _asked(run: str, trace: str) -> str:
    parts = [f"run {run!r}" if run else "", f"trace {trace!r}" if trace else ""]
    return " and ".join(part for part in parts if part)
