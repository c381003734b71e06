"""`citespan demo`: a careful and a guessing agent on a real git repository, through a real MCP server."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from citespan.cli.called import program
from citespan.errors import EXIT_OK, EXIT_VIOLATIONS, NotGuarded, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from citespan.demo.rehearsal import Rehearsal

POLICY: Final = "citespan.toml"


def command(
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Put the repository, the policy and the traces here: a new or an empty folder. "
            "Without it they stay in a new temporary folder.",
        ),
    ] = None,
) -> None:
    """Play a good run and a blocked run on a real git repository; it takes a few seconds.

    A scripted agent works through a real MCP server, mcp-server-git. First it looks before it acts, and every
    call is let through. Then it guesses a file and a branch, and both calls are blocked before they reach the
    server. The traces are files of OTLP/JSON lines; with OTEL_EXPORTER_OTLP_ENDPOINT set they are exported too.

    Exit code 0: it went so. 1: it did not. 64: DIR is not empty. 78: git or mcp-server-git is missing.

    Examples:

        citespan demo
        citespan demo --keep demo
    """
    require()
    folder = prepare(keep)
    from rich.console import Console

    console = Console(highlight=False)
    surprises = perform(folder, console)
    for line in suggestions(folder):
        console.print(f"[bold]next   [/] {line}", soft_wrap=True)
    for surprise in surprises:
        typer.echo(f"citespan: not as designed: {surprise}", err=True)
    raise typer.Exit(EXIT_VIOLATIONS if surprises else EXIT_OK)


def suggestions(folder: Path) -> Iterator[str]:
    """Commands to go on with, as they can be typed here."""
    policy, good, bad, page = (
        shlex.quote(str(folder / name)) for name in (POLICY, "good.jsonl", "bad.jsonl", "report.html")
    )
    yield f"{program()} show {bad}"
    yield f"{program()} diff {good} {bad}"
    yield f"{program()} report {bad} -o {page}"
    yield f"{program()} policy explain {policy} git_add files"
    if not os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        yield f"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 {program()} demo  (the same, into a collector)"


def require() -> None:
    """Whether the demo can be played here.

    Raises:
        NotGuarded: a part of it is missing; the text says how to install it.
    """
    if shutil.which("git") is None:
        raise NotGuarded("the demo needs git, which is not on the PATH")
    missing = [name for name in ("mcp", "mcp_server_git") if find_spec(name) is None]
    if missing:
        raise NotGuarded(f"the demo needs {' and '.join(missing)}: pip install 'citespan[demo]'")


def prepare(keep: Path | None) -> Path:
    """The folder to work in, empty, with the demo's policy in it.

    Raises:
        UsageError: the named folder holds something already, or is none.
    """
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix="citespan-demo-"))
    else:
        folder = keep.absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"--keep {keep}: name a new or an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
    policy = resources.files("citespan.demo").joinpath(POLICY).read_text(encoding="utf-8")
    (folder / POLICY).write_text(policy, encoding="utf-8")
    return folder


def perform(folder: Path, console: Console) -> list[str]:
    """Play both runs and print them; returns what went otherwise than designed."""
    from citespan.demo import collector, repository
    from citespan.demo.agent import careful, guessing
    from citespan.demo.rehearsal import rehearse, surprises
    from citespan.instrument import activate, deactivate
    from citespan.policy_file import load

    policy = load(folder / POLICY)
    root = repository.create(folder / "repository")
    exports = collector.Exports()
    activate("mcp")
    try:
        good = rehearse(
            "careful",
            careful,
            root,
            policy=policy,
            trace=folder / "good.jsonl",
            processors=exports.processors(),
        )
        show(console, good, "1. A careful agent: each value is from a tool, an input, or allowed")
        bad = rehearse(
            "guessing",
            guessing,
            root,
            policy=policy,
            trace=folder / "bad.jsonl",
            processors=exports.processors(),
        )
        show(
            console, bad, "2. A guessing agent: a file and a branch that exist, and a made-up hash; nothing named them"
        )
    finally:
        deactivate("mcp")
    refusal = next((answer.text for answer in bad.answers if answer.is_error), "")
    console.print("[bold]What the agent was told instead of a result:[/]")
    for line in refusal.splitlines():
        console.print(f"  {line}", markup=False, style="dim", soft_wrap=True)
    verdict = "unchanged by the guessing run" if bad.before == bad.after else "[red]changed by the guessing run[/]"
    now = f"HEAD {bad.after.head[:10]}, branches: {bad.after.branches}, staged: {bad.after.staged}"
    console.print(f"\n[bold]git    [/] {verdict} ({now})", soft_wrap=True)
    for trace in (good.trace, bad.trace):
        console.print(f"[bold]trace  [/] {trace}", soft_wrap=True)
    if exports.endpoint is not None:
        console.print(f"[bold]export [/] {exports.outcome()}", soft_wrap=True)
    return surprises(good, bad, root)


def show(console: Console, rehearsal: Rehearsal, title: str) -> None:
    """Print the table of one run."""
    from citespan.cli.demo_table import table

    console.print(f"\n[bold]{title}[/]\n")
    console.print(table(rehearsal.decisions))
