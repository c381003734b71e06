"""Runs of `tests/diff/agent.py`, each told by a trace, an evidence file and a trajectory file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = Path(__file__).with_name("agent.py")


def recorded(folder: Path, mark: str) -> Path:
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_"))}
    environment |= {"CITESPAN_DIGEST_KEY": "a key for tests", "OTEL_TRACES_EXPORTER": "none"}
    subprocess.run([sys.executable, AGENT, folder, mark], check=True, env=environment, timeout=60)
    return folder


@pytest.fixture(scope="session")
def cited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in which every file was shown before it was asked for."""
    return recorded(tmp_path_factory.mktemp("runs") / "cited", "cited")


@pytest.fixture(scope="session")
def guessed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in which one was not."""
    return recorded(tmp_path_factory.mktemp("runs") / "guessed", "guess")
