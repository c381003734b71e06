"""The folder on the path of a command that stops a Python without citespan; see `shim/sitecustomize.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

FOLDER: Final = str(Path(__file__).with_name("shim"))
_PATH: Final = "PYTHONPATH"


def put(environment: MutableMapping[str, str]) -> None:
    """Put the folder on the path of processes with this environment. Twice is once."""
    environment[_PATH] = os.pathsep.join([FOLDER, *_others(environment)])


def leave() -> None:
    """Take it off the path of this process, which is guarded, and of those that it starts.

    A process that it starts may be none of the agent's: a server in an environment of its own, say.
    """
    sys.path[:] = [place for place in sys.path if place != FOLDER]
    if FOLDER in os.environ.get(_PATH, "").split(os.pathsep):
        others = _others(os.environ)
        if others:
            os.environ[_PATH] = os.pathsep.join(others)
        else:
            del os.environ[_PATH]


def _others(environment: MutableMapping[str, str]) -> list[str]:
    there = environment.get(_PATH, "")
    return [place for place in there.split(os.pathsep) if place != FOLDER] if there else []
