"""Where a guard is required, the processes that a guarded one starts must not lose it.

An audit hook sees them before they start. It cannot be taken off again, and what it raises stops the start.

| a process that is started | what happens |
|---|---|
| a Python with `-S`, or behind `env -i`, which would leave the guard out | refused |
| by `subprocess`, in an environment without `CITESPAN_RUN` | gets the variable; `Settings.apart` |
| by `multiprocessing`, `os.execv` or `os.system`, after the program cleared `os.environ` | gets the variable |
| by `os.execve`, `os.spawnve`, `os.posix_spawn`, a Python in such an environment | refused: nothing can be added |
| in the place of this one, as by `opentelemetry-instrument` | stops if it is a Python without citespan |

What a shell starts is not seen. This keeps a program from losing the guard by accident; it is no sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

import wrapt

from citespan.errors import NotGuarded
from citespan.launch import shim_path
from citespan.launch.commands import interpreter, without_site
from citespan.launch.settings import VARIABLE, decode


def watch() -> None:
    """Look after the processes that this one starts from now on."""
    value = os.environ[VARIABLE]
    apart = decode(value)._replace(apart=True).encode()

    def restore() -> None:
        if not os.environ.get(VARIABLE):
            os.environ[VARIABLE] = value

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        check = _CHECKS.get(event)
        if check is not None:
            shim_path.leave()  # an `os.exec*` that failed has left it there
            # before it is put back: `os.exec*` and `os.posix_spawn` have read the environment by now
            try:
                check(apart, *arguments)
            finally:
                if event not in _HAVE_READ:
                    restore()

    def starts_a_worker(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        restore()
        return wrapped(*args, **kwargs)

    def worker(module: Any) -> None:
        wrapt.wrap_function_wrapper(module, "spawnv_passfds", starts_a_worker)

    sys.addaudithook(hook)
    # it starts its workers by a function that no audit hook sees
    wrapt.register_post_import_hook(worker, "multiprocessing.util")


def _popen(apart: str, executable: Any, arguments: Any, folder: Any, environment: Any) -> None:
    _refuse_losing(executable, arguments)
    if environment is None or _is_own(environment) or _carries(environment):
        return
    if isinstance(environment, MutableMapping):
        environment[VARIABLE] = apart
    else:
        _refuse_python(executable, arguments)


def _exec(apart: str, path: Any, arguments: Any, environment: Any) -> None:
    if environment is None:
        shim_path.put(os.environ)
    _spawn(apart, path, arguments, environment)


def _spawn(apart: str, path: Any, arguments: Any, environment: Any) -> None:
    _refuse_losing(path, arguments)
    if environment is not None and not _carries(environment):
        _refuse_python(path, arguments)


def _posix_spawn(apart: str, path: Any, arguments: Any, environment: Any) -> None:
    _spawn(apart, path, arguments, os.environ if environment is None else environment)


def _spawn_on_windows(apart: str, mode: Any, path: Any, arguments: Any, environment: Any) -> None:
    _spawn(apart, path, arguments, environment)


def _system(apart: str, command: Any) -> None:
    """A shell gets the environment of this process."""


_CHECKS: Final[Mapping[str, Callable[..., None]]] = {
    "subprocess.Popen": _popen,
    "os.exec": _exec,
    "os.posix_spawn": _posix_spawn,
    "os.spawn": _spawn_on_windows,
    "os.system": _system,
}
#: the process's own environment must not change under them
_HAVE_READ: Final = frozenset({"os.posix_spawn"})


def _is_own(environment: Any) -> bool:
    return environment is os.environ or environment is getattr(os, "environb", None)


def _carries(environment: Any) -> bool:
    return any(value and os.fsencode(name) == VARIABLE.encode() for name, value in environment.items())


def _refuse_losing(path: Any, arguments: Any) -> None:
    command = _command(path, arguments)
    if without_site(command):
        raise NotGuarded("a Python with -S would start unguarded, and a guard is required: leave -S out")
    found = interpreter(command)
    if found is not None and found.cleared:
        raise NotGuarded("a Python behind `env -i` would start unguarded, and a guard is required: leave -i out")


def _refuse_python(path: Any, arguments: Any) -> None:
    if interpreter(_command(path, arguments)) is not None:
        raise NotGuarded(f"a Python would start without {VARIABLE}, and so unguarded: leave that in its environment")


def _command(path: Any, arguments: Any) -> Sequence[str]:
    given = [arguments] if isinstance(arguments, str | bytes | os.PathLike) else list(arguments)
    # `os.execve` takes an open file, too: then the name that the program is given says what it is
    first = path if isinstance(path, str | bytes | os.PathLike) else given[0]
    return [os.fsdecode(first), *map(os.fsdecode, given[1:])]
