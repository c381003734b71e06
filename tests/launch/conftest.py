"""A folder of its own for each test, and commands that are run in it for real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

AGENTS: Final = Path(__file__).parent / "agents"
PYTHON: Final = sys.executable
REFUSED: Final = "delete_note was not run."


class World:
    """One test's folder, its environment, and what ran in it.

    Each agent deletes a note that no result named: by a request to an MCP server, or itself.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.note = folder / "hidden.env"
        self.note.write_text("KEY=1")
        self.requests = folder / "requests.jsonl"
        self.policy = folder / "citespan.toml"
        self.evidence = folder / "state" / "citespan" / "evidence.jsonl"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_", "PYTHON"))}
        self.environment = {
            **kept,
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": str(folder / "state"),
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
        }

    @property
    def body_ran(self) -> bool:
        """Whether the body of a tool ran: the server got its request, or the note is gone."""
        requests = self.requests.read_text() if self.requests.exists() else ""
        return "tools/call" in requests or not self.note.exists()

    def agent(self, name: str = "mcp_agent.py", *arguments: str) -> list[str]:
        """The words that start an agent, after those that start a Python."""
        return [str(AGENTS / name), str(self.folder), *arguments]

    def play(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )

    def run(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """`citespan run` with these words."""
        return self.play(PYTHON, "-m", "citespan", "run", *words, **environment)

    def enforcing(self) -> str:
        """A policy file that enforces the defaults."""
        self.policy.write_text("version = 1\n")
        return str(self.policy)


def unexpected(said: str) -> list[str]:
    """The lines on standard error other than the one that counts refusals at the end."""
    return [line for line in said.splitlines() if not (line.startswith("citespan: ") and "; see " in line)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
