"""Where a guard is required, the processes that a guarded one starts must not lose it.

An audit hook sees them before they start. It cannot be taken off again, and what it raises stops the start.

| a process that is started | what happens |
|---|---|
| a Python with `-S`, which would leave the guard out | refused |
| by `subprocess`, in an environment without `CITESPAN_RUN` | gets the variable; `Settings.apart` |
| by `os.exec*`, `os.spawn*`, `os.posix_spawn`, a Python in such an environment | refused: nothing can be added |
| in the place of this one, as by `opentelemetry-instrument` | stops if it is a Python without citespan |

What a shell starts is not seen. This keeps a program from losing the guard by accident; it is no sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from citespan.errors import NotGuarded
from citespan.launch import shim_path
from citespan.launch.commands import interpreter, without_site
from citespan.launch.settings import VARIABLE, decode


def watch() -> None:
    """Look after the processes that this one starts from now on."""
    value = os.environ[VARIABLE]
    apart = decode(value)._replace(apart=True).encode()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        check = _CHECKS.get(event)
        if check is not None:
            os.environ.setdefault(VARIABLE, value)
            check(apart, *arguments)

    sys.addaudithook(hook)


def _popen(apart: str, executable: Any, arguments: Any, folder: Any, environment: Any) -> None:
    _refuse_without_site(executable, arguments)
    if environment is None or _carries(environment):
        return
    if not isinstance(environment, MutableMapping):
        raise NotGuarded(f"a process would start without {VARIABLE}, and so unguarded: hand it os.environ")
    environment[VARIABLE] = apart


def _exec(apart: str, path: Any, arguments: Any, environment: Any) -> None:
    shim_path.put(os.environ)
    _spawn(apart, path, arguments, environment)


def _spawn(apart: str, path: Any, arguments: Any, environment: Any) -> None:
    _refuse_without_site(path, arguments)
    if environment is not None and not _carries(environment) and interpreter([os.fsdecode(path)]) is not None:
        raise NotGuarded(f"a Python would start without {VARIABLE}, and so unguarded: hand it os.environ")


def _spawn_on_windows(apart: str, mode: Any, path: Any, arguments: Any, environment: Any) -> None:
    _spawn(apart, path, arguments, environment)


_CHECKS: Final[Mapping[str, Callable[..., None]]] = {
    "subprocess.Popen": _popen,
    "os.exec": _exec,
    "os.posix_spawn": _spawn,
    "os.spawn": _spawn_on_windows,
}


def _carries(environment: Any) -> bool:
    return VARIABLE in environment or VARIABLE.encode() in environment


def _refuse_without_site(path: Any, arguments: Any) -> None:
    if without_site(_command(path, arguments)):
        raise NotGuarded("a Python with -S would start unguarded, and a guard is required: leave -S out")


def _command(path: Any, arguments: Any) -> Sequence[str]:
    given = [arguments] if isinstance(arguments, str | bytes | os.PathLike) else list(arguments)
    first = path if path is not None else given[0]
    return [os.fsdecode(first), *map(os.fsdecode, given[1:])]
