"""`citespan audit`: trace files in, violation list out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer


def command(
    traces: Annotated[
        list[str],
        typer.Argument(
            metavar="TRACE", help="Trace files, in any order, of one run or of many; - reads standard input."
        ),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="A policy to hold the calls against besides: who judged under another one, and what would be over "
            "its budget.",
        ),
    ] = None,
    form: Annotated[
        Literal["text", "json", "sarif", "junit", "github"],
        typer.Option("--format", help="text: for people. The others are for programs; docs/audit.md has their shapes."),
    ] = "text",
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write it; standard output by default."),
    ] = None,
) -> None:
    """List what is wrong with recorded runs: span JSON in, violation list out.

    Provenance: calls that were refused, or ran over their budget, or that nobody judged; citations that lead nowhere,
    to a later call or to a failed one; digests that do not match; tags that contradict themselves. Causality, told
    apart: missing parents, runs that never ended. The files of one conversation belong into one audit.

    Exit code 0: clean (warnings and notes may be listed). 1: a violation. 2: no violation, but the files are
    incomplete: a run never ended, a span is missing, there is no tool call. 64: usage, or -o cannot be written. 65: a
    file cannot be read (file, line and reason are on standard error), or there is no room on the disk for what the
    audit keeps of the spans. 78: the named policy is not there.

    Examples:

        citespan audit trace.jsonl
        citespan audit good.jsonl bad.jsonl --policy citespan.toml
        citespan audit trace.jsonl --format sarif -o audit.sarif
    """
    from citespan.audit import FORMATS, Auditor
    from citespan.cli.progress import Bar
    from citespan.cli.sources import read_once
    from citespan.files.whole import write_whole
    from citespan.policy_file import find
    from citespan.traces.reader import read_spans

    read_once(traces)
    book = None if policy is None else find(policy)
    with Auditor(book) as auditor:
        with Bar("audit", traces) as bar:
            for source in traces:
                for span in read_spans(source, progress=bar.advance):
                    auditor.add(span)
        audit = auditor.finish()
    data = FORMATS[form](audit)
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        write_whole(output, data)
    raise typer.Exit(audit.exit_code)
