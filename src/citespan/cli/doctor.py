"""`citespan doctor`: what is installed, what would be guarded and how, and what is reachable."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from citespan.errors import EXIT_OK, EXIT_VIOLATIONS


def command(
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE", help="A policy; else the one that CITESPAN_POLICY names.")
    ] = None,
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", help="text: for people. json: one object, for programs.")
    ] = "text",
    try_them: Annotated[
        bool,
        typer.Option(
            "--try", metavar="", help="Import each installed framework and wrap it for a moment (takes seconds)."
        ),
    ] = False,
    network: Annotated[bool, typer.Option(metavar="", help="Try the OTLP endpoint that OTEL_* variables name.")] = True,
) -> int:
    """Show versions, policy, evidence file, endpoint, and what holds for the tool calls of each framework.

    Exit code 0: nothing that was asked for is missing. 1: something is, such as a policy that is named and is not there
    or has mistakes. 64: usage.

    Examples:

        citespan doctor
        citespan doctor --policy citespan.toml --format json
    """
    from citespan.doctor import examine, render

    health = examine(policy, try_them=try_them, network=network)
    if form == "json":
        sys.stdout.buffer.write(render.json(health))
    else:
        sys.stdout.write(render.text(health))
    return EXIT_OK if health.healthy else EXIT_VIOLATIONS
