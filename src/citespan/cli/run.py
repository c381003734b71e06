"""`citespan run`: guard an agent that knows nothing of it."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

#: as in `citespan.core.decision.Mode`, which typer cannot read as an option
Mode = Literal["enforce", "tag", "off"]


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="What to run: python agent.py, -m module, uv run ..., pytest, ..."),
    ],
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="FILE", help="The policy; by default the one that CITESPAN_POLICY names."),
    ] = None,
    required: Annotated[
        bool,
        typer.Option("--required", metavar="", help="Do not run unguarded; without a policy enforce the defaults."),
    ] = False,
    mode: Annotated[
        Mode | None,
        typer.Option("--mode", help="In place of the policy's mode; tools with a weaker one of their own keep it."),
    ] = None,
) -> None:
    """Run an unchanged agent with each of its tool calls judged, in its child processes too.

    With a policy that enforces, or with --required, the command does not run unguarded. With neither, calls are tagged
    only, and nothing is refused.

    CITESPAN_TRACE_FILE=FILE writes spans, CITESPAN_EVIDENCE=FILE says where decisions go, CITESPAN_APPROVALS=FILE names
    approvals.

    Exit code: the command's own. 64: usage. 65: the policy has problems. 78: the policy is not there, or the
    guard could not be installed.

    Examples:

        citespan run -- python agent.py
        citespan run --policy citespan.toml -- uvicorn my_agent:app
        citespan run --required -- pytest tests/agent
    """
    from citespan.launch import parent
    from citespan.launch.prepare import UNDECIDED
    from citespan.launch.settings import VARIABLE, asked, decode

    outer = decode(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
    settings = asked(policy, required=required, mode=mode, outer=outer)
    if settings.undecided:
        _say(f"citespan: {UNDECIDED}")
    raise typer.Exit(parent.launch(arguments, settings, _say))


def _say(text: str) -> None:
    typer.echo(text, err=True)
