"""How the command names itself in what it prints to be typed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from citespan.cli.called import program, python

OWN = Path(sys.executable).parent


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_by_its_name_where_the_path_leads_to_it(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the script itself, or through a link to it."""
    script = executable(elsewhere / "environment" / "bin" / "citespan")
    (elsewhere / "citespan").symlink_to(script)
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    assert program() == "citespan"


def test_by_its_name_where_the_module_was_called_but_the_path_leads_to_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With an environment active, `python -m citespan` is the same command."""
    monkeypatch.setenv("PATH", str(OWN))
    monkeypatch.setattr(sys, "argv", ["/somewhere/citespan/__main__.py", "demo"])
    assert program() == "citespan"


@pytest.mark.parametrize("called", [".venv/bin/citespan", "/a folder/bin/citespan"])
@pytest.mark.parametrize("another", [False, True], ids=["none", "another"])
def test_as_it_was_called_where_the_path_does_not_lead_to_it(
    called: str, another: bool, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is none, or the one of another environment."""
    if another:
        executable(elsewhere / "citespan")
    monkeypatch.setattr(sys, "argv", [called, "demo"])
    assert shlex.split(program()) == [called]


def test_as_a_module_where_no_script_was_called(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the interpreter that has it."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/citespan/cli/__main__.py", "demo"])
    assert shlex.split(program()) == [sys.executable, "-m", "citespan"]


def test_the_interpreter_is_python_only_where_that_is_this_one(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to the same file from elsewhere has other packages."""
    assert shlex.split(python()) == [sys.executable]
    (elsewhere / "python").symlink_to(sys.executable)
    assert shlex.split(python()) == [sys.executable]
    monkeypatch.setenv("PATH", os.pathsep.join((str(OWN), str(elsewhere))))
    assert python() == "python"
