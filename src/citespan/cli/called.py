"""How to call this command again: a line that is printed to be typed must work where it is typed."""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Final

NAME: Final = "citespan"


def program() -> str:
    """This command, quoted for a shell: its name where the PATH leads to this very one, else as it was called.

    Example:
        `.venv/bin/citespan` after `make demo`, where no environment is active.
    """
    called, found = sys.argv[0], shutil.which(NAME)
    ours = (Path(called), Path(sysconfig.get_path("scripts"), NAME))
    if found is not None and _plain(Path(found)) in map(_plain, ours):
        return NAME
    return shlex.quote(called) if Path(called).stem == NAME else f"{python()} -m {NAME}"


def python() -> str:
    """The interpreter that runs this, quoted for a shell: `python` where the PATH leads to it."""
    ours, found = Path(sys.executable), shutil.which("python")
    # one of another environment may be a link to the same file, but has other packages
    if found is not None and Path(found).parent == ours.parent and Path(found).resolve() == ours.resolve():
        return "python"
    return shlex.quote(sys.executable)


def _plain(path: Path) -> Path:
    return path.resolve().with_suffix("")  # .exe
