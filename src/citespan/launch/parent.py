"""The parent of `citespan run`: it checks what can be checked before the program starts, and starts it.

| the command | how it is checked | how it is run |
|---|---|---|
| a Python, or a script of one | the same Python, with the same options, is asked first | takes this process's place |
| anything else | a Python without citespan stops (`shim/`); each guarded one tells | as a child, which is waited for |
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from citespan.errors import EXIT_NOT_GUARDED, NotGuarded, UsageError
from citespan.launch import shim_path
from citespan.launch.commands import Interpreter, interpreter
from citespan.launch.settings import VARIABLE, Settings
from citespan.launch.variables import EVIDENCE, POLICY, TRACE_FILE

#: seconds that a Python has to say whether it is guarded
PATIENCE: Final = 60.0
_FORWARDED: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)  # fmt: skip
#: ends without any clean-up, so that `-i` cannot change the exit code
_QUESTION: Final = (
    "import os, sys; boot = sys.modules.get('citespan.launch.boot'); "
    f"os._exit(0 if boot is not None and boot.started() else {EXIT_NOT_GUARDED})"
)
_NO_SITE: Final = "it runs without the `site` module (-S), or has no citespan: install citespan there"
_CLEARED: Final = "`env -i` takes the guard's variable away from it: leave -i out"
_NOBODY: Final = (
    "no guarded Python ran under this command: it started none, or one without citespan or with -S. Put `citespan run` "
    "behind what chooses the Python, as in `uv run citespan run ... -- python agent.py`"
)

Say = Callable[[str], None]


def launch(command: Sequence[str], settings: Settings, say: Say) -> int:
    """Run a command whose Pythons are guarded, and return its exit code: 128 + n where signal n ended it.

    A command that starts a Python directly takes the place of this process, where the platform can do that.

    Args:
        command: not empty; `-m module`, `-c text` and a script's path are for this very Python. say: tells a person.

    Raises:
        UsageError: there is no such command. NotGuarded: it would not be guarded, or was not, and that is required.
    """
    command = _completed(command)
    environment = _environment(settings)
    found = interpreter(command)
    if found is None:
        return _run_indirect(command, settings, environment, say)
    environment[VARIABLE] = settings.encode()
    reason = _ask(found, environment)
    if reason is not None:
        _not_guarded(f"{found.python}: {reason}", settings, say)
    if os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execvpe(command[0], command, environment)
    return _run(command, environment)


def _completed(command: Sequence[str]) -> list[str]:
    name = command[0]
    if name in {"-m", "-c"} or (name.endswith(".py") and shutil.which(name) is None and Path(name).is_file()):
        return [sys.executable, *command]
    if shutil.which(name) is None:
        raise UsageError(f"there is no command {name!r}; write: citespan run [options] -- python agent.py")
    return list(command)


def _environment(settings: Settings) -> dict[str, str]:
    """The command's environment: where it names files, it does so for processes in other folders too."""
    environment = dict(os.environ)
    if settings.policy is not None:
        environment[POLICY] = settings.policy  # for `citespan.configure` in the program
    for name in (TRACE_FILE, EVIDENCE):
        if environment.get(name, "").strip():
            environment[name] = os.path.abspath(environment[name].strip())
    return environment


def _ask(found: Interpreter, environment: MutableMapping[str, str]) -> str | None:
    """Why a Python is not guarded when it starts; None where it is."""
    if found.cleared:
        return _CLEARED
    question = [*found.before, found.python, *found.flags, "-c", _QUESTION]
    try:
        answer = subprocess.run(
            question, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it did not say within {PATIENCE:.0f} s whether it is guarded"
    except OSError as error:
        return f"it cannot be started: {error.strerror}"
    if answer.returncode == 0:
        return None
    return answer.stderr.decode(errors="replace").strip() or _NO_SITE


def _not_guarded(reason: str, settings: Settings, say: Say) -> None:
    if settings.required:
        raise NotGuarded(f"the command was not started, because it would not be guarded. {reason}")
    say(f"citespan: the command is NOT guarded. {reason}")


def _run_indirect(command: Sequence[str], settings: Settings, environment: MutableMapping[str, str], say: Say) -> int:
    with tempfile.TemporaryDirectory(prefix="citespan-", ignore_cleanup_errors=True) as folder:
        guarded = Path(folder, "guarded")
        guarded.touch()
        environment[VARIABLE] = settings._replace(handshake=str(guarded)).encode()
        if settings.required:
            shim_path.put(environment)
        code = _run(command, environment)
        if guarded.stat().st_size == 0:
            if settings.required:
                raise NotGuarded(f"{_NOBODY}. The command ended with {code}")
            say(f"citespan: {_NOBODY}")
        return code


def _run(command: Sequence[str], environment: MutableMapping[str, str]) -> int:
    started: list[subprocess.Popen[bytes]] = []
    with _forwarding(started):
        # it gets what this process was given, as where it takes its place
        child = subprocess.Popen(command, env=environment, close_fds=False)
        started.append(child)
        code = child.wait()
    return 128 - code if code < 0 else code


@contextmanager
def _forwarding(started: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Hand signals on to the child. What is typed at a terminal reaches the child anyway, and once is enough."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        if started and not (number in {signal.SIGINT, getattr(signal, "SIGQUIT", None)} and _at_terminal()):
            started[0].send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _at_terminal() -> bool:
    """Whether this process, and so its child, is what a terminal sends its signals to."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | getattr(os, "O_NOCTTY", 0))
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
