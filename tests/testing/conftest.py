"""A project with an agent, and pytest runs of its tests: in this process, or in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.guard.fixtures import own_registry

from citespan.testing import phases, reports

#: loaded before pytest runs inside pytest, which forgets what is imported meanwhile
__all__ = ["own_registry", "phases", "reports"]

AGENT = '''\
import contextlib
import citespan


@citespan.tool(read_only=True)
def list_files(root: str) -> dict:
    return {"files": ["src/app.py", "README.md"]}


@citespan.tool
def patch_file(path: str, comment: str = "") -> str:
    return "patched"


def careful():
    """Patches what it listed."""
    patch_file(list_files(".")["files"][0], comment="fix the typo")


def guessing():
    """Patches what it made up, and tells nobody that it was refused."""
    list_files(".")
    with contextlib.suppress(PermissionError):
        patch_file("prod.env", comment="fix the typo")
'''
POLICY = """\
version = 1

[tools."list_*"]
mode = "tag"

[tools.patch_file.arguments.path]
from = ["list_files.files.*"]
"""
INI = """\
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider -p no:schemathesis -p no:hypothesispytest
anyio_mode = auto
filterwarnings = error
"""
HEAD = """\
import contextlib
import pytest
import citespan
from agent import careful, guessing, list_files, patch_file

"""


class Ended(NamedTuple):
    """A pytest run: its exit code, and what it printed."""

    code: int
    text: str


class Project:
    """A folder with an agent, its policy, and tests."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.folder = pytester.path
        pytester.makepyfile(agent=AGENT)
        (self.folder / "citespan.toml").write_text(POLICY)
        (self.folder / "pytest.ini").write_text(INI)

    def tests(self, text: str, name: str = "test_agent.py") -> None:
        """Write a test module; its imports are there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run them in this process."""
        return self._pytester.runpytest_inprocess(*arguments)

    def spawn(self, *arguments: str, **environment: str) -> Ended:
        """Run them in a process of their own."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            check=False,
            cwd=self.folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=100,
        )
        return Ended(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    # there pytest repeats whole failures in its short summary, and what is counted would be there twice
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)


def text_of(result: pytest.RunResult) -> str:
    """What a run printed."""
    return "\n".join(result.outlines)


def files(folder: Path, suffix: str) -> list[str]:
    return sorted(path.name for path in folder.glob(f"*{suffix}"))
