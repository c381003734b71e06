"""An environment of its own for each package: they ask for versions that exclude each other, and for a great deal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.accuracy.build.common import NOT_INSTALLED, BuildError
from benchmarks.accuracy.build.sources import Source

ROOT: Final = Path(__file__).resolve().parents[3]
#: written when everything is installed, with what was: an environment without it, or with another text, is made anew
READY: Final = "citespan-ready.txt"
LAST_LINES: Final = 15
#: so that a file is the same whenever and wherever it is made: the order of sets, and local time. (What is left: since
#: Python 3.12 `sum` rounds less, which shows in the last digit of one number of BFCL.)
FIXED: Final = {"PYTHONHASHSEED": "0", "TZ": "UTC", "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
#: what would lead a package to other code or data than its own
TAKEN_AWAY: Final = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "BFCL_PROJECT_ROOT", "TAU2_DATA_DIR")

Command = list[str]


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where environments are kept: `$XDG_CACHE_HOME/citespan-benchmarks`, else in `~/.cache`."""
    named = environment.get("XDG_CACHE_HOME")
    return (Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache") / "citespan-benchmarks"


def make(source: Source, cache: Path, say: Callable[[str], None]) -> Path:
    """The interpreter of the environment that has the package; made with uv, or with venv and pip where uv is absent.

    Args:
        say: is told what takes a while.

    Raises:
        BuildError: the environment cannot be made, or the package not be installed.
    """
    folder = cache / f"{source.package}-{source.version}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = "\n".join(" ".join(step) for step in requirements(source)) + "\n"
    ready = folder / READY
    if python.exists() and ready.is_file() and ready.read_text(encoding="utf-8") == wanted:
        return python
    say(f"{source.name}: installing {source.package}=={source.version} in {folder}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        ready.unlink(missing_ok=True)
        for command in commands(source, folder, python, shutil.which("uv")):
            _run(source, command)
        ready.write_text(wanted, encoding="utf-8")
    except OSError as error:
        raise BuildError(f"{source.name}: no environment in {folder}: {error}", NOT_INSTALLED) from error
    return python


def requirements(source: Source) -> list[Command]:
    """The arguments of each `pip install`."""
    package = f"{source.package}=={source.version}"
    if source.needs is None:
        return [[package]]
    return [["--no-deps", package], list(source.needs)]


def commands(source: Source, folder: Path, python: Path, uv: str | None) -> list[Command]:
    """What makes the environment and installs into it.

    Args:
        uv: the program, None where it is absent.
    """
    if uv is not None:
        made = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)]
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        made = [sys.executable, "-m", "venv", "--clear", str(folder)]
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [made, *([*install, *step] for step in requirements(source))]


def build(source: Source, python: Path, folder: Path) -> int:
    """Run the builder in its environment; it writes into `folder`, tells on standard error, and gives an exit code."""
    command = [str(python), "-W", "ignore", "-m", f"benchmarks.accuracy.build.{source.name}", str(folder.resolve())]
    return subprocess.run(command, cwd=ROOT, env=_kept() | FIXED, check=False).returncode


def _kept() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in TAKEN_AWAY}


def _run(source: Source, command: Command) -> None:
    done = subprocess.run(command, env=_kept(), capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-LAST_LINES:])
        what = f"{source.name}: `{' '.join(command)}` failed with {done.returncode}"
        raise BuildError(f"{what}; is the package index reachable?\n{last}", NOT_INSTALLED)
