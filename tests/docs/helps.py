"""What `--help` says, of every command that does something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from citespan.cli import app

ROOT_COMMAND: Any = typer.main.get_command(app)


def helps(command: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The commands of a group by name, those of groups in it too."""
    for key, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {key}".strip())
    if not hasattr(command, "commands"):
        yield name, command.help or ""


#: the name of a command -> its help
HELPS = dict(helps(ROOT_COMMAND))
